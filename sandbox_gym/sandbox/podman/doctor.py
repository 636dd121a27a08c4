"""What works of Podman here, and who enforces the caps of its containers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from typing import Final

import anyio

from sandbox_gym.errors import ProviderDown
from sandbox_gym.sandbox.api import Capability
from sandbox_gym.sandbox.caps import Cap, CapRow
from sandbox_gym.sandbox.containers.caps import container_caps
from sandbox_gym.sandbox.containers.container import ContainerSpec
from sandbox_gym.sandbox.podman.command import Podman
from sandbox_gym.sandbox.podman.containers import PodmanContainers

SWAP: Final = "memory and swap"
SWAP_OF_V1: Final = "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"
"""Not there where the kernel does not count swap; version 2 always does."""

_ABILITIES: Final = {Cap.CPU_SHARE: "cpu", Cap.MEMORY: "memory", Cap.SWAP: SWAP, Cap.PROCESSES: "pids"}


class PodmanDoctor:
    """See `api.Doctor`."""

    def __init__(self, podman: Podman, containers: PodmanContainers, reference: str) -> None:
        """`reference`: the image that is tried."""
        self._podman, self._containers, self._reference = podman, containers, reference

    async def check(self) -> None:
        """Podman has no daemon that could be down."""

    async def probe(self) -> Sequence[Capability]:
        """Ask Podman, then start a container."""
        try:
            version = json.loads(await self._podman.call("version", "--format=json"))["Client"]["Version"]
        except ProviderDown as error:
            return [Capability("podman", False, str(error)[:200], "apt-get install podman crun")]
        rows = [Capability("podman", True, str(version))]
        try:
            machine = await self._containers.start(ContainerSpec(self._reference))
        except ProviderDown as error:
            remedy = "load the images, or name another runtime: SANDBOX_GYM_PODMAN_RUNTIME"
            return [*rows, Capability("container", False, str(error)[:300], remedy)]
        with anyio.CancelScope(shield=True):
            await machine.destroy()
        caps = "network none, read-only root, user per run, seccomp, memory, pids and cpu caps"
        return [*rows, Capability("container", True, caps)]

    async def caps(self) -> Sequence[CapRow]:
        host = json.loads(await self._podman.call("info", "--format=json"))["host"]
        found = set(host.get("cgroupControllers") or ())
        version = str(host.get("cgroupVersion") or "?")
        if "memory" in found and (version != "v1" or await anyio.Path(SWAP_OF_V1).exists()):
            found.add(SWAP)
        return podman_caps(version, found)

    def costs(self) -> Mapping[str, int]:
        return {}


def podman_caps(version: str, abilities: Set[str]) -> Sequence[CapRow]:
    """One row per cap, `abilities`: the cgroup controllers that there are, and SWAP."""
    controlled = {cap for cap, ability in _ABILITIES.items() if ability in abilities}
    return container_caps(f"the container's cgroup {version}", controlled, "no such cgroup controller here")
