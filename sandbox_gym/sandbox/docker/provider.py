"""The docker provider: sandboxes as containers of a Docker Engine. Which role is made of what."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from sandbox_gym.config import Settings
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.api import Capabilities, Doctor, SandboxSpec, SessionFolder
from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import OrphanSource
from sandbox_gym.sandbox.containers.container import ContainerOptions, ContainerSpec
from sandbox_gym.sandbox.containers.provider import ContainerProvider, options_of
from sandbox_gym.sandbox.containers.snapshots import AbandonedSnapshots, ImageSnapshots
from sandbox_gym.sandbox.docker.additions import with_additions
from sandbox_gym.sandbox.docker.adoption import GuestVolume, adopt, adopted_for
from sandbox_gym.sandbox.docker.containers import DockerContainers
from sandbox_gym.sandbox.docker.doctor import DockerDoctor
from sandbox_gym.sandbox.docker.engine import Engine
from sandbox_gym.sandbox.docker.images import DockerImages
from sandbox_gym.sandbox.docker.machine import DockerMachine
from sandbox_gym.sandbox.docker.orphans import DockerOrphans
from sandbox_gym.sandbox.docker.registry import DockerRegistries
from sandbox_gym.sandbox.docker.snapshots import DockerSnapshots
from sandbox_gym.sandbox.egress.inner_listener import NOT_HERE, NoWayOut
from sandbox_gym.sandbox.images.contract import ImageOptions
from sandbox_gym.sandbox.images.name import is_foreign
from sandbox_gym.sandbox.images.record import ImageRecord
from sandbox_gym.sandbox.images.store import ImageStore
from sandbox_gym.sandbox.sandbox import Standstill
from sandbox_gym.sandbox.users import Users
from sandbox_gym.settings.providers import DockerSettings

CAPABILITIES: Final = Capabilities(root=True, own_toolchains=True, others_images=True, system_packages=True)


def capabilities(settings: Settings) -> Capabilities:
    return CAPABILITIES


def from_settings(settings: Settings, sessions: SessionFolder | None = None) -> DockerProvider:
    """Raises ConfigurationError."""
    return DockerProvider(
        image_prefix=settings.docker.image_prefix,
        options=options_of(settings, settings.docker.runtime),
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


class DockerProvider(ContainerProvider[DockerMachine]):
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
        self.engine, repository = Engine(), f"{image_prefix}snapshot"
        guest = GuestVolume(self.engine, f"{image_prefix}guest:latest")
        containers = DockerContainers(self.engine, options or ContainerOptions(), users or Users(), guest)
        kept, owners = DockerSnapshots(self.engine, repository), Owners(state_dir)
        snapshots = ImageSnapshots(kept, sessions.folder / "globals") if sessions else None
        super().__init__(containers, image_prefix, snapshots)
        self.doctor: Doctor = DockerDoctor(self.engine, containers, self.own_image("python"))
        self.orphan_sources: Mapping[str, OrphanSource] = {
            self.name: DockerOrphans(self.engine, owners),
            f"{self.name} snapshots": AbandonedSnapshots(kept, owners),
        }
        record = ImageRecord(state_dir / "images" / f"{self.name}.json" if state_dir is not None else None)
        host = DockerImages(self.engine, repository)
        registries = DockerRegistries(self.engine)
        self.images = ImageStore(host, registries, record, images or ImageOptions(), self.engine.errors)

    async def from_image(self, spec: SandboxSpec, source: str) -> DockerMachine:
        if spec.role != "builder" or not is_foreign(source):
            reference = self.own_image(source)
            if spec.role == "builder":
                reference = await with_additions(self.engine, reference, spec.system_packages, spec.python)
            return await self._start(reference, spec, ours=True)
        async with self.images.holding(source) as reference:
            reference = await with_additions(self.engine, reference, spec.system_packages, "")
            return await self._start(reference, spec, ours=False)

    async def _start(self, reference: str, spec: SandboxSpec, *, ours: bool) -> DockerMachine:
        uid = await adopted_for(self.engine, reference) if spec.role == "computer" else None
        machine = await self.containers.start(
            ContainerSpec(reference, spec.role != "run", spec.network.machine, uid, not ours or uid is not None)
        )
        if spec.adoption is not None:
            try:
                await adopt(self.engine, machine, spec.adoption, reference)
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await machine.destroy()
                raise
        return machine

    def standstill(self, machine: DockerMachine) -> Standstill:
        return machine

    async def may_listen_in(self, machine: DockerMachine) -> None:
        if not await anyio.to_thread.run_sync(_is_of, await machine.pid(), str(machine.container.id)):
            raise NoWayOut(NOT_HERE)

    async def has_image(self, name: str, python: str = "") -> bool:
        """An image brings its Pythons, and a build says so where it does not."""

        def found(client: Any) -> bool:
            try:
                client.images.get(self.own_image(name))
            except self.engine.image_missing:
                return False
            return True

        return await self.engine.call(found)

    async def aclose(self) -> None:
        await self.images.aclose()
        await self.containers.removals.retry()
        await self.engine.aclose()


def _is_of(pid: int, container_id: str) -> bool:
    """Whether a process of this machine is that container's: the Engine may be on another machine, or we in a PID
    namespace of our own, and a number says nothing then."""
    try:
        return pid > 0 and container_id in Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return False
