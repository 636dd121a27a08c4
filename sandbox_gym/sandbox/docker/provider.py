"""The docker provider: sandboxes as containers of a Docker Engine. Which role is made of what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from sandbox_gym.config import Settings
from sandbox_gym.contract import SnapshotRef
from sandbox_gym.errors import ProviderDown
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.api import Capabilities, Doctor, SandboxSpec, SessionFolder
from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import OrphanSource
from sandbox_gym.sandbox.docker.additions import with_additions
from sandbox_gym.sandbox.docker.adoption import GuestVolume, adopt, made_of
from sandbox_gym.sandbox.docker.containers import ContainerOptions, Containers, ContainerSpec
from sandbox_gym.sandbox.docker.doctor import DockerDoctor
from sandbox_gym.sandbox.docker.engine import Engine
from sandbox_gym.sandbox.docker.images import DockerImages
from sandbox_gym.sandbox.docker.machine import DockerMachine
from sandbox_gym.sandbox.docker.orphans import DockerOrphans
from sandbox_gym.sandbox.docker.registry import DockerRegistries
from sandbox_gym.sandbox.docker.snapshots import DockerSnapshots
from sandbox_gym.sandbox.egress.inner_listener import NOT_HERE, NoWayOut
from sandbox_gym.sandbox.egress.proxy import EgressProxy, open_egress_proxy
from sandbox_gym.sandbox.images.contract import ImageOptions
from sandbox_gym.sandbox.images.name import is_foreign
from sandbox_gym.sandbox.images.record import ImageRecord
from sandbox_gym.sandbox.images.store import ImageStore
from sandbox_gym.sandbox.sandbox import Sandbox, SessionParts
from sandbox_gym.sandbox.snapshots import SavedState
from sandbox_gym.sandbox.users import Users
from sandbox_gym.settings.providers import DockerSettings

CAPABILITIES: Final = Capabilities(own_toolchains=True, others_images=True, system_packages=True)


def capabilities(settings: Settings) -> Capabilities:
    return CAPABILITIES


def from_settings(settings: Settings, sessions: SessionFolder | None = None) -> DockerProvider:
    """Raises ConfigurationError."""
    return DockerProvider(
        image_prefix=settings.docker.image_prefix,
        options=ContainerOptions(
            runtime=settings.docker.runtime,
            memory_bytes=settings.limits().memory_bytes,
            lifetime_s=settings.box.lifetime_s,
        ),
        state_dir=settings.state_dir,
        users=Users(settings.uid.base, settings.uid.count),
        sessions=sessions,
        images=image_options(settings.docker),
    )


def image_options(docker: DockerSettings) -> ImageOptions:
    """How this provider pulls."""
    return ImageOptions(
        pull=docker.pull == "missing",
        at_once=docker.pulls_at_once,
        timeout_s=docker.pull_timeout_s,
        stall_s=docker.pull_stall_s,
        disk_bytes=docker.images_disk_mb * MIB,
        mirror=docker.registry_mirror,
    )


class DockerProvider:
    """See `api.Provider`."""

    name = "docker"
    capabilities = CAPABILITIES

    def __init__(
        self,
        *,
        image_prefix: str = "sandbox-gym/",
        options: ContainerOptions | None = None,
        state_dir: Path | None = None,
        users: Users | None = None,
        sessions: SessionFolder | None = None,
        images: ImageOptions | None = None,
    ) -> None:
        """`users`: of which containers have their own. `state_dir`: where it is on record which images were pulled.
        Raises ConfigurationError where the SDK is missing."""
        self.engine, self._prefix = Engine(), image_prefix
        guest = GuestVolume(self.engine, self._own_image("guest"))
        self._containers = Containers(self.engine, options or ContainerOptions(), users or Users(), guest)
        self.doctor: Doctor = DockerDoctor(self.engine, self._containers, self._own_image("python"))
        self.orphan_sources: Mapping[str, OrphanSource] = {self.name: DockerOrphans(self.engine, Owners(state_dir))}
        repository = f"{image_prefix}snapshot"
        record = ImageRecord(state_dir / "images" / f"{self.name}.json" if state_dir is not None else None)
        host = DockerImages(self.engine, repository)
        registries = DockerRegistries(self.engine)
        self.images = ImageStore(host, registries, record, images or ImageOptions(), self.engine.errors)
        self._snapshots = (
            DockerSnapshots(self.engine, repository, sessions.folder / "globals") if sessions is not None else None
        )

    @property
    def snapshots(self) -> DockerSnapshots | None:
        return self._snapshots

    def _own_image(self, name: str) -> str:
        return f"{self._prefix}{name}:latest"

    async def create(self, spec: SandboxSpec) -> Sandbox:
        if isinstance(spec.source, SnapshotRef):
            return await self._create_from_snapshot(spec, spec.source)
        if spec.role != "builder" or not is_foreign(spec.source):
            reference = self._own_image(spec.source)
            if spec.role == "builder":
                reference = await with_additions(self.engine, reference, spec.system_packages, spec.python)
            machine = await self._start(reference, spec, ours=True)
        else:
            async with self.images.holding(spec.source) as reference:
                reference = await with_additions(self.engine, reference, spec.system_packages, "")
                machine = await self._start(reference, spec, ours=False)
        return Sandbox(machine, machine.channel) if spec.role == "run" else await self._for_session(machine, spec)

    async def _start(self, reference: str, spec: SandboxSpec, *, ours: bool) -> DockerMachine:
        template = await made_of(self.engine, reference) if spec.role == "computer" else None
        machine = await self._containers.start(
            ContainerSpec(
                reference,
                keeps_files=spec.role != "run",
                network=spec.network.machine,
                uid=template.uid if template is not None else None,
                guest_volume=not ours or template is not None,
            )
        )
        if spec.adoption is not None:
            try:
                await adopt(self.engine, machine, spec.adoption, reference)
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await machine.destroy()
                raise
        return machine

    async def _create_from_snapshot(self, spec: SandboxSpec, source: SnapshotRef) -> Sandbox:
        if self._snapshots is None:
            raise ProviderDown("this process holds no sessions of docker; name a state folder for them")
        kept = await self._snapshots.read(source.snapshot_id)
        machine = await self._containers.start(
            ContainerSpec(
                kept.reference,
                keeps_files=True,
                network=spec.network.machine,
                uid=kept.uid,
                guest_volume=kept.guest_volume,
            )
        )
        if spec.role == "run":
            return Sandbox(machine, machine.channel, reusable=False)
        return await self._for_session(machine, spec, kept.state)

    async def _for_session(
        self, machine: DockerMachine, spec: SandboxSpec, begins_from: SavedState | None = None
    ) -> Sandbox:
        egress = None
        try:
            if self._snapshots is None:
                raise ProviderDown("this process holds no sessions of docker; name a state folder for them")
            if spec.network.allow is not None:
                egress = await self._egress(machine, spec.network.allow)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await machine.destroy()
            raise
        parts = SessionParts(machine.channel, partial(self._snapshots.save, machine), begins_from)
        return Sandbox(machine, machine.channel, session=parts, egress=egress, reusable=False)

    @staticmethod
    async def _egress(machine: DockerMachine, allow: Sequence[str]) -> EgressProxy:
        """Raises ProviderDown."""
        if machine.isolation == "gvisor":
            raise NoWayOut("gVisor has a loopback of its own, where no proxy of ours can listen; use another runtime")
        pid = await machine.pid()
        if not await anyio.to_thread.run_sync(_is_of, pid, str(machine.container.id)):
            raise NoWayOut(NOT_HERE)
        return await open_egress_proxy(pid, allow, machine.box_id, below=False)

    async def prepare(self) -> None:
        """No container is started before it is needed."""

    async def has_image(self, name: str, python: str = "") -> bool:
        """An image brings its Pythons, and a build says so where it does not."""
        reference = self._own_image(name)
        return await self.engine.call(lambda client: bool(client.images.list(name=reference)))

    async def aclose(self) -> None:
        await self.images.aclose()
        await self._containers.removals.retry()
        await self.engine.aclose()


def _is_of(pid: int, container_id: str) -> bool:
    """Whether a process of this machine is that container's: the Engine may be on another machine, or we in a PID
    namespace of our own, and a number says nothing then."""
    try:
        return pid > 0 and container_id in Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return False
