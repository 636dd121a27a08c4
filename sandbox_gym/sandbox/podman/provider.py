"""The podman provider: sandboxes as containers of Podman. Which role is made of what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from sandbox_gym.config import Settings
from sandbox_gym.contract import SnapshotRef
from sandbox_gym.errors import ProviderDown
from sandbox_gym.sandbox.api import Capabilities, Doctor, SandboxSpec, SessionFolder
from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import OrphanSource
from sandbox_gym.sandbox.egress.inner_listener import NoWayOut
from sandbox_gym.sandbox.egress.proxy import EgressProxy, open_egress_proxy
from sandbox_gym.sandbox.podman.command import NotFound, Podman
from sandbox_gym.sandbox.podman.containers import ContainerOptions, Containers, ContainerSpec
from sandbox_gym.sandbox.podman.doctor import PodmanDoctor
from sandbox_gym.sandbox.podman.machine import PodmanMachine
from sandbox_gym.sandbox.podman.orphans import PodmanOrphans
from sandbox_gym.sandbox.podman.snapshots import PodmanSnapshots
from sandbox_gym.sandbox.sandbox import Sandbox, SessionParts
from sandbox_gym.sandbox.snapshots import SavedState
from sandbox_gym.sandbox.users import Users

CAPABILITIES: Final = Capabilities(own_toolchains=True)


def capabilities(settings: Settings) -> Capabilities:
    return CAPABILITIES


def from_settings(settings: Settings, sessions: SessionFolder | None = None) -> PodmanProvider:
    """Raises ConfigurationError."""
    return PodmanProvider(
        image_prefix=settings.podman.image_prefix,
        options=ContainerOptions(
            runtime=settings.podman.runtime,
            memory_bytes=settings.limits().memory_bytes,
            lifetime_s=settings.box.lifetime_s,
        ),
        state_dir=settings.state_dir,
        users=Users(settings.uid.base, settings.uid.count),
        sessions=sessions,
    )


class PodmanProvider:
    """See `api.Provider`."""

    name = "podman"
    capabilities = CAPABILITIES

    def __init__(
        self,
        *,
        image_prefix: str = "localhost/sandbox-gym/",
        options: ContainerOptions | None = None,
        state_dir: Path | None = None,
        users: Users | None = None,
        sessions: SessionFolder | None = None,
    ) -> None:
        """`users`: of which containers have their own. Raises ConfigurationError where Podman is missing."""
        options = options or ContainerOptions()
        self.podman, self._prefix = Podman(options.runtime), image_prefix
        self._containers = Containers(self.podman, options, users or Users())
        self.doctor: Doctor = PodmanDoctor(self.podman, self._containers, self._own_image("python"))
        self.orphan_sources: Mapping[str, OrphanSource] = {self.name: PodmanOrphans(self.podman, Owners(state_dir))}
        repository = f"{image_prefix}snapshot"
        self._snapshots = (
            PodmanSnapshots(self.podman, repository, sessions.folder / "globals") if sessions is not None else None
        )

    @property
    def snapshots(self) -> PodmanSnapshots | None:
        return self._snapshots

    def _own_image(self, name: str) -> str:
        return f"{self._prefix}{name}:latest"

    async def create(self, spec: SandboxSpec) -> Sandbox:
        if isinstance(spec.source, SnapshotRef):
            return await self._create_from_snapshot(spec, spec.source)
        # a builder's name without a registry or tag is one of our own images
        ours = spec.role != "builder" or ("/" not in spec.source and ":" not in spec.source)
        reference = self._own_image(spec.source) if ours else spec.source
        machine = await self._containers.start(
            ContainerSpec(reference, keeps_files=spec.role != "run", network=spec.network.machine)
        )
        return Sandbox(machine, machine.channel) if spec.role == "run" else await self._for_session(machine, spec)

    async def _create_from_snapshot(self, spec: SandboxSpec, source: SnapshotRef) -> Sandbox:
        if self._snapshots is None:
            raise ProviderDown("this process holds no sessions of podman; name a state folder for them")
        kept = await self._snapshots.read(source.snapshot_id)
        machine = await self._containers.start(
            ContainerSpec(kept.reference, keeps_files=True, network=spec.network.machine, uid=kept.uid)
        )
        if spec.role == "run":
            return Sandbox(machine, machine.channel, reusable=False)
        return await self._for_session(machine, spec, kept.state)

    async def _for_session(
        self, machine: PodmanMachine, spec: SandboxSpec, begins_from: SavedState | None = None
    ) -> Sandbox:
        egress = None
        try:
            if self._snapshots is None:
                raise ProviderDown("this process holds no sessions of podman; name a state folder for them")
            if spec.network.allow is not None:
                egress = await self._egress(machine, spec.network.allow)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await machine.destroy()
            raise
        parts = SessionParts(machine.channel, partial(self._snapshots.save, machine), begins_from)
        return Sandbox(machine, machine.channel, session=parts, egress=egress, reusable=False)

    @staticmethod
    async def _egress(machine: PodmanMachine, allow: Sequence[str]) -> EgressProxy:
        """Raises ProviderDown."""
        if machine.isolation == "gvisor":
            raise NoWayOut("gVisor has a loopback of its own, where no proxy of ours can listen; use another runtime")
        return await open_egress_proxy(await machine.pid(), allow, machine.box_id, below=False)

    async def prepare(self) -> None:
        """No container is started before it is needed."""

    async def has_image(self, name: str, python: str = "") -> bool:
        """An image brings its Pythons, and a build says so where it does not."""
        reference = self._own_image(name)
        try:
            await self.podman.call("image", "inspect", "--format={{.Id}}", reference)
        except NotFound:
            return False
        return True

    async def aclose(self) -> None:
        await self._containers.removals.retry()
