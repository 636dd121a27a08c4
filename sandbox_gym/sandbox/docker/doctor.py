"""What works of a Docker Engine here, and who enforces the caps of its containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio

from sandbox_gym.errors import ProviderDown
from sandbox_gym.sandbox.api import Capability
from sandbox_gym.sandbox.caps import Cap, CapRow
from sandbox_gym.sandbox.containers.caps import container_caps
from sandbox_gym.sandbox.containers.container import ContainerSpec
from sandbox_gym.sandbox.docker.containers import DockerContainers
from sandbox_gym.sandbox.docker.engine import BUILD_IMAGES, Engine, remedy


class DockerDoctor:
    """See `api.Doctor`."""

    def __init__(self, engine: Engine, containers: DockerContainers, reference: str) -> None:
        """`reference`: the image that is tried."""
        self._engine, self._containers, self._reference = engine, containers, reference

    async def check(self) -> None:
        """An Engine that is down now may be up for the first verify."""

    async def probe(self) -> Sequence[Capability]:
        """Ask the Engine, then start a container."""
        try:
            version = await self._engine.raw_call(lambda client: str(client.version()["Version"]))
        except self._engine.errors as error:
            return [Capability("docker engine", False, str(error)[:200], remedy(error))]
        rows = [Capability("docker engine", True, version)]
        try:
            machine = await self._containers.start(ContainerSpec(self._reference))
        except ProviderDown as error:
            return [*rows, Capability("container", False, str(error)[:300], BUILD_IMAGES)]
        with anyio.CancelScope(shield=True):
            await machine.destroy()
        caps = "network none, read-only root, user per run, seccomp, memory, pids and cpu caps"
        return [*rows, Capability("container", True, caps)]

    async def caps(self) -> Sequence[CapRow]:
        return docker_caps(await self._engine.ask(lambda client: client.info()))

    def costs(self) -> Mapping[str, int]:
        return {}


_ABILITIES = {
    Cap.CPU_SHARE: "CpuCfsQuota", Cap.MEMORY: "MemoryLimit", Cap.SWAP: "SwapLimit", Cap.PROCESSES: "PidsLimit",
}  # fmt: skip


def docker_caps(info: Mapping[str, object]) -> Sequence[CapRow]:
    """One row per cap. `info`: the Engine's, of which only booleans and the cgroup version are read."""
    group = f"the container's cgroup v{info.get('CgroupVersion') or '?'}"
    controlled = {cap for cap, ability in _ABILITIES.items() if info.get(ability) is True}
    return container_caps(group, controlled, "the Engine's kernel can't")
