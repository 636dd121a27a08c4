"""Sandboxes as E2B's templates: which name is which image, and who opens one of it. Knows no tenants and no HTTP."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio.abc

from sandbox_gym.config import Settings
from sandbox_gym.contract import SnapshotRef
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.network import NO_NETWORK, Network
from sandbox_gym.sandbox.api import BUILDER_IMAGE, INTERPRETER_IMAGE, Provider, SandboxSpec, SessionFolder
from sandbox_gym.sandbox.channel.driver import DriverLink
from sandbox_gym.sandbox.channel.envd import HOME, ROOT_HOME, Envd
from sandbox_gym.sandbox.session.session import Session, open_session

BASE_IMAGE: Final = "e2b"
"""What has pip and npm, as E2B's base template."""
ALIASES: Final = {"": BASE_IMAGE, "base": BASE_IMAGE, "code-interpreter-v1": INTERPRETER_IMAGE}
"""E2B's own templates, by the image that stands for them. Where a provider does not have it, the usual one does."""
USUAL: Final = "python"
DEFAULT_TAG: Final = ":default"
ROOT: Final = ":root"
"""Ends the template of a sandbox whose commands run as the box's root, for a guest of our own inside it."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}")
_SWE: Final = re.compile(r"swe-(3\.\d{1,2})")
"""What repositories are installed in, with a Python of that version."""
WARM: Final = 2
"""Sandboxes of `base`, and of each other template of E2B's own that was asked for, that are kept ready."""
Opened = tuple[Session, Envd]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a sandbox is made as. `image` ends in ROOT where its commands are the box's root."""

    image: str
    network: Network = NO_NETWORK


def session_folder(settings: Settings, folder: Path) -> SessionFolder:
    """Where a provider keeps the state of such sandboxes, and how their users see it."""
    return SessionFolder(folder, pool_limits(settings, USUAL), HOME)


class Machines:
    """Opens sandboxes of any image. Use one task group for all that their drivers do."""

    def __init__(self, settings: Settings, provider: Provider, tasks: anyio.abc.TaskGroup) -> None:
        """`provider`: made with `session_folder`; its owner closes it."""
        if provider.snapshots is None or not provider.capabilities.computers:
            raise ConfigurationError(f"provider {provider.name!r} holds no sandboxes; use local or docker")
        self._settings, self._provider, self._tasks = settings, provider, tasks
        self.store = provider.snapshots
        self.budget_bytes = settings.session.snapshot_disk_mb * MIB
        self._ready: dict[Kind, list[Opened]] = {}

    @property
    def root(self) -> bool:
        """Whether sandboxes have a driver of their root's."""
        return self._provider.capabilities.root

    def limits_of(self, image: str) -> Limits:
        """The caps of one sandbox of an image, as a whole."""
        return pool_limits(self._settings, image.removesuffix(ROOT))

    async def image(self, template: str) -> str | None:
        """The image that a template's name stands for, with ROOT where that does; None where there is none."""
        if template.endswith(ROOT):
            name = await self.image(template.removesuffix(ROOT))
            return f"{name}{ROOT}" if name else None
        template = template.removesuffix(DEFAULT_TAG)
        name = ALIASES.get(template, template)
        versioned = _SWE.fullmatch(name)
        if versioned and await self._provider.has_image(BUILDER_IMAGE, versioned[1]):
            name = BUILDER_IMAGE
        if name in ALIASES.values() and not await self._provider.has_image(name):
            name = USUAL
        if name == USUAL:
            return name
        return name if _NAME.fullmatch(name) and await self._provider.has_image(name) else None

    async def open(self, kind: Kind, snapshot_id: str | None = None) -> Opened:
        """A new sandbox, or one that goes on from a snapshot. Raises NoSuchSnapshot, ProviderDown."""
        if kind.image.removesuffix(ROOT) in (USUAL, *ALIASES.values()) and kind.network.allow is None:
            self._ready.setdefault(kind, [])  # kept ready from now on
        while snapshot_id is None and self._ready.get(kind):
            session, envd = self._ready[kind].pop(0)
            if not envd.ended.is_set() and not session.expired:
                return session, envd
            await session.aclose()
        return await self._open(kind, snapshot_id)

    async def _open(self, kind: Kind, snapshot_id: str | None) -> Opened:
        root = kind.image.endswith(ROOT)
        image = kind.image.removesuffix(ROOT)

        def make_envd(link: DriverLink) -> Envd:
            return Envd(link, self._tasks, root=root)

        source = SnapshotRef(snapshot_id) if snapshot_id is not None else image
        spec = SandboxSpec(source, "computer", self.limits_of(image), kind.network, base_image=image)
        session = await open_session(self._provider, spec, make_envd)
        assert isinstance(session.driver, Envd)
        if image == INTERPRETER_IMAGE:
            await session.driver.call({"op": "prepare"})
        return session, session.driver

    async def open_root(self, box: Session) -> Envd:
        """A driver of a sandbox's root. Raises ProviderDown, BoxLost."""
        return await box.root_driver(lambda link: Envd(link, self._tasks, root=True, home=ROOT_HOME))

    async def prepare(self) -> None:
        """Have as many sandboxes ready as are kept. Raises ProviderDown."""
        if not self._ready:
            self._ready[Kind(await self.image("base") or USUAL)] = []
        for kind, ready in list(self._ready.items()):
            while len(ready) < WARM:
                ready.append(await self._open(kind, None))
        await self._provider.prepare()  # those that go on from a snapshot

    async def aclose(self) -> None:
        """End those that are ready."""
        for ready in self._ready.values():
            while ready:
                await ready.pop()[0].aclose()


def pool_limits(settings: Settings, image: str) -> Limits:
    """The caps of one sandbox as a whole. Its files are in memory on `local`, so they get half of it; repositories are
    built and tested in more."""
    memory, processes, inodes = settings.memory_limit_mb * MIB, 256, 65_536
    if image == BUILDER_IMAGE:
        memory, processes, inodes = max(memory, settings.swe.memory_limit_mb * MIB), 512, 600_000
    return Limits(
        cpu_time_s=30 * 24 * 3600,
        wall_time_s=30 * 24 * 3600,
        cpus=settings.cpus_per_box,
        memory_bytes=memory,
        processes=processes,
        open_files=4096,
        file_bytes=max(64 * MIB, memory // 2),
        scratch_bytes=max(64 * MIB, memory // 2),
        scratch_inodes=inodes,
    )
