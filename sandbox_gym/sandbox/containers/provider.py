"""Which role of a sandbox is made of what container. See `api.Provider`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Generic, TypeVar

import anyio

from sandbox_gym.config import Settings
from sandbox_gym.contract import SnapshotRef
from sandbox_gym.errors import ProviderDown
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.containers.container import ContainerOptions, ContainerSpec
from sandbox_gym.sandbox.containers.machine import ContainerMachine
from sandbox_gym.sandbox.containers.snapshots import ImageSnapshots
from sandbox_gym.sandbox.containers.start import Containers
from sandbox_gym.sandbox.egress.inner_listener import NoWayOut
from sandbox_gym.sandbox.egress.proxy import EgressProxy, open_egress_proxy
from sandbox_gym.sandbox.sandbox import Sandbox, SessionParts, Standstill
from sandbox_gym.sandbox.snapshots import RootedSnapshot, SavedState

M = TypeVar("M", bound=ContainerMachine)


def options_of(settings: Settings, runtime: str) -> ContainerOptions:
    """Of a provider's containers."""
    return ContainerOptions(
        runtime=runtime, memory_bytes=settings.limits().memory_bytes, lifetime_s=settings.box.lifetime_s
    )


class ContainerProvider(ABC, Generic[M]):
    """A provider's containers, by what they begin from."""

    name: str

    def __init__(self, containers: Containers[M], image_prefix: str, snapshots: ImageSnapshots[M] | None) -> None:
        """`snapshots`: None where this process holds no sessions."""
        self.containers, self._prefix, self._snapshots = containers, image_prefix, snapshots

    @property
    def snapshots(self) -> ImageSnapshots[M] | None:
        return self._snapshots

    def own_image(self, name: str) -> str:
        """One of our own images."""
        return f"{self._prefix}{name}:latest"

    @abstractmethod
    async def from_image(self, spec: SandboxSpec, source: str) -> M:
        """A container of an image. Raises ProviderDown, and what an image's user is to blame for."""

    async def may_listen_in(self, machine: M) -> None:
        """Raises NoWayOut where no proxy of ours can be put into the container's network."""

    def standstill(self, machine: M) -> Standstill | None:
        """None where containers of this engine can't be frozen."""
        return None

    async def create(self, spec: SandboxSpec) -> Sandbox:
        kept = None
        if isinstance(spec.source, SnapshotRef):
            kept = await self._held().read(spec.source.snapshot_id)
            if kept.state.snapshot.rooted and spec.role in ("run", "builder"):
                raise RootedSnapshot(spec.source.snapshot_id)
            machine = await self.containers.start(
                ContainerSpec(kept.reference, True, spec.network.machine, kept.uid, kept.guest_volume)
            )
        else:
            machine = await self.from_image(spec, spec.source)
        if spec.role == "run":
            return Sandbox(machine, machine.channel, reusable=kept is None)
        return await self._for_session(machine, spec, kept.state if kept is not None else None)

    def _held(self) -> ImageSnapshots[M]:
        if self._snapshots is None:
            raise ProviderDown(f"this process holds no sessions of {self.name}; name a state folder for them")
        return self._snapshots

    async def _for_session(self, machine: M, spec: SandboxSpec, begins_from: SavedState | None) -> Sandbox:
        egress = None
        try:
            snapshots = self._held()
            if spec.network.allow is not None:
                egress = await self._egress(machine, spec.network.allow)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await machine.destroy()
            raise
        parts = SessionParts(
            machine.channel,
            partial(snapshots.save, machine),
            begins_from,
            root_link=partial(self.containers.root_guest, machine),
            standstill=self.standstill(machine),
        )
        return Sandbox(machine, machine.channel, session=parts, egress=egress, reusable=False)

    async def _egress(self, machine: M, allow: Sequence[str]) -> EgressProxy:
        """Raises ProviderDown."""
        if machine.isolation == "gvisor":
            raise NoWayOut("gVisor has a loopback of its own, where no proxy of ours can listen; use another runtime")
        await self.may_listen_in(machine)
        return await open_egress_proxy(await machine.pid(), allow, machine.box_id, below=False)

    async def prepare(self) -> None:
        """No container is started before it is needed."""
