"""What is asked of Podman about one container."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, cast

import anyio.to_thread

from sandbox_gym.errors import ProviderDown
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.strain import Strain
from sandbox_gym.sandbox.containers.container import Sizes
from sandbox_gym.sandbox.containers.machine import ContainerFacts, ContainerMachine, Removals
from sandbox_gym.sandbox.podman.command import Podman

CGROUPS: Final = Path("/sys/fs/cgroup")
COUNTERS: Final = {"cpu": ("cpu.stat", "cpu.stat"), "memory": ("memory.oom_control", "memory.events")}
"""The files of cgroup v1 and v2 that count what happened, by their controller."""


def size_options(sizes: Sizes) -> tuple[str, ...]:
    """For `podman run` and `podman update`."""
    return (
        f"--memory={sizes.memory_bytes}b",
        f"--memory-swap={sizes.memory_bytes}b",
        f"--cpu-period={sizes.cpu_period_us}",
        f"--cpu-quota={sizes.cpu_quota_us}",
    )


class PodmanMachine(ContainerMachine):
    """A container of Podman's."""

    def __init__(self, podman: Podman, removals: Removals[str], channel: GuestChannel, facts: ContainerFacts) -> None:
        super().__init__(channel, facts)
        self._podman, self._removals = podman, removals

    async def resize(self, sizes: Sizes) -> None:
        await self._podman.call("update", *size_options(sizes), self.box_id)

    async def state(self) -> Mapping[str, object]:
        try:
            found = json.loads(await self._podman.call("inspect", "--format={{json .State}}", self.box_id))
        except ValueError as error:
            raise ProviderDown(f"podman inspect gave no JSON: {error}") from error
        return cast("dict[str, object]", found)

    async def oom_kills(self, state: Mapping[str, object]) -> int:
        """While it runs only its cgroup counts them."""
        if state.get("Running") is not True:
            return await super().oom_kills(state)
        return await anyio.to_thread.run_sync(counted, str(state.get("CgroupPath")), "memory", "oom_kill")

    async def strain(self) -> Strain:
        try:
            group = str((await self.state()).get("CgroupPath"))
        except ProviderDown:
            return Strain()
        return Strain(await anyio.to_thread.run_sync(counted, group, "cpu", "nr_throttled"))

    async def remove(self) -> None:
        await self._removals.remove(self.box_id)


def counted(group: str, controller: Literal["cpu", "memory"], name: str, root: Path = CGROUPS) -> int:
    """What a cgroup has counted by that name; 0 where it can't be read. Blocking."""
    v1, v2 = COUNTERS[controller]
    for file in (root / controller / group.lstrip("/") / v1, root / group.lstrip("/") / v2):
        try:
            lines = file.read_text().split("\n")
        except OSError:
            continue
        return sum(int(line.split()[1]) for line in lines if line.startswith(f"{name} "))
    return 0
