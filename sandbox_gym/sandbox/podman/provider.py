"""The podman provider: sandboxes as containers of Podman. Which role is made of what."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sandbox_gym.config import Settings
from sandbox_gym.sandbox.api import Capabilities, Doctor, SandboxSpec, SessionFolder
from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import OrphanSource
from sandbox_gym.sandbox.containers.container import ContainerOptions, ContainerSpec
from sandbox_gym.sandbox.containers.provider import ContainerProvider, options_of
from sandbox_gym.sandbox.containers.snapshots import AbandonedSnapshots, ImageSnapshots
from sandbox_gym.sandbox.podman.command import NotFound, Podman
from sandbox_gym.sandbox.podman.containers import PodmanContainers
from sandbox_gym.sandbox.podman.doctor import PodmanDoctor
from sandbox_gym.sandbox.podman.machine import PodmanMachine
from sandbox_gym.sandbox.podman.orphans import PodmanOrphans
from sandbox_gym.sandbox.podman.snapshots import PodmanSnapshots
from sandbox_gym.sandbox.users import Users

CAPABILITIES: Final = Capabilities(own_toolchains=True)


def capabilities(settings: Settings) -> Capabilities:
    return CAPABILITIES


def from_settings(settings: Settings, sessions: SessionFolder | None = None) -> PodmanProvider:
    """Raises ConfigurationError."""
    return PodmanProvider(
        image_prefix=settings.podman.image_prefix,
        options=options_of(settings, settings.podman.runtime),
        state_dir=settings.state_dir,
        users=Users(settings.uid.base, settings.uid.count),
        sessions=sessions,
    )


class PodmanProvider(ContainerProvider[PodmanMachine]):
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
        self.podman = Podman(options.runtime)
        containers = PodmanContainers(self.podman, options, users or Users())
        kept, owners = PodmanSnapshots(self.podman, f"{image_prefix}snapshot"), Owners(state_dir)
        snapshots = ImageSnapshots(kept, sessions.folder / "globals") if sessions else None
        super().__init__(containers, image_prefix, snapshots)
        self.doctor: Doctor = PodmanDoctor(self.podman, containers, self.own_image("python"))
        self.orphan_sources: Mapping[str, OrphanSource] = {
            self.name: PodmanOrphans(self.podman, owners),
            f"{self.name} snapshots": AbandonedSnapshots(kept, owners),
        }

    async def from_image(self, spec: SandboxSpec, source: str) -> PodmanMachine:
        # a builder's name without a registry or tag is one of our own images
        ours = spec.role != "builder" or ("/" not in source and ":" not in source)
        reference = self.own_image(source) if ours else source
        keeps_files = spec.role != "run"
        return await self.containers.start(ContainerSpec(reference, keeps_files, network=spec.network.machine))

    async def has_image(self, name: str, python: str = "") -> bool:
        """An image brings its Pythons, and a build says so where it does not."""
        reference = self.own_image(name)
        try:
            await self.podman.call("image", "inspect", "--format={{.Id}}", reference)
        except NotFound:
            return False
        return True

    async def aclose(self) -> None:
        await self.containers.removals.retry()
