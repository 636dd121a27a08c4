"""Boxes as E2B's templates: which name is which image, and who opens a box of it. Knows no tenants and no HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import anyio.abc
import anyio.to_thread
import structlog

from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError, ToolchainMissing
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.network import NO_NETWORK, Network
from sandbox_gym.private import make_private
from sandbox_gym.sandbox.api import Provider
from sandbox_gym.sandbox.channel.driver import Driver
from sandbox_gym.sandbox.channel.envd import HOME, Envd
from sandbox_gym.sandbox.channel.guest_channel import GuestLink
from sandbox_gym.sandbox.egress.proxy import Door
from sandbox_gym.sandbox.session.snapshots import BUILDER_IMAGE, SessionBox, SessionProvider, SupportsPreparing

ALIASES: Final = {"": "python", "base": "python", "code-interpreter-v1": "python", "code-interpreter": "python"}
"""E2B's own templates, by the image that stands for them."""
LOCAL_IMAGES: Final = ("python", "polyglot", BUILDER_IMAGE)
"""What a machine itself is, whatever compilers it has; beside those that bring packages."""
ROOT: Final = ":root"
"""Ends the template of a sandbox whose commands run as the box's root, for a guest of our own inside it."""
_log = structlog.get_logger(__name__)
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}")


_SWE: Final = re.compile(r"swe-(3\.\d{1,2})")
"""What repositories are installed in, with a Python of that version."""


class Machine(SessionBox, Protocol):
    """A session's box whose driver takes many requests at once."""

    busy: bool
    driver: Driver
    door: Door | None
    """Its way out, where it has one."""


class Keeper(SessionProvider, Protocol):
    """Opens boxes of any image over one store of snapshots."""

    async def open_as(
        self,
        limits: Limits,
        snapshot_id: str | None,
        *,
        image: str,
        driver: Callable[[GuestLink], Driver],
        network: Network = NO_NETWORK,
    ) -> SessionBox: ...


Opened = tuple[Machine, Envd]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a box is made as. `image` ends in ROOT where its commands are the box's root."""

    image: str
    network: Network = NO_NETWORK


USUAL: Final = Kind("python")


class Machines:
    """Opens boxes of any image. Use one task group for all that its boxes' drivers do."""

    def __init__(
        self, settings: Settings, provider: Provider, folder: Path, tasks: anyio.abc.TaskGroup, *, warm: int = 2
    ) -> None:
        """`warm`: boxes of the usual image that are kept ready before anybody asks."""
        self._settings, self._provider, self._tasks = settings, provider, tasks
        self.budget_bytes = settings.session.snapshot_disk_mb * MIB
        self._warm = warm
        self._ready: dict[Kind, list[Opened]] = {USUAL: []}
        make_private(folder)
        self._keeper = self._make_keeper(folder)

    def limits_of(self, image: str) -> Limits:
        """The caps of one sandbox of an image, as a whole."""
        return pool_limits(self._settings, image.removesuffix(ROOT))

    def _make_keeper(self, folder: Path) -> Keeper:
        if self._provider.name == "local":
            from sandbox_gym.sandbox.local import LocalProvider
            from sandbox_gym.sandbox.local.sessions import LocalSessions

            assert isinstance(self._provider, LocalProvider)
            return LocalSessions(self._provider, folder, self.limits_of(USUAL.image), home=HOME)
        if self._provider.name == "docker":
            from sandbox_gym.sandbox.docker.provider import DockerProvider
            from sandbox_gym.sandbox.docker.sessions import DockerSessions

            assert isinstance(self._provider, DockerProvider)
            return DockerSessions(self._provider, folder / "globals")
        raise ConfigurationError(f"provider {self._provider.name!r} holds no sandboxes; use local or docker")

    async def image(self, template: str) -> str | None:
        """The image that a template's name stands for, with ROOT where that does; None where there is none."""
        if template.endswith(ROOT):
            name = await self.image(template.removesuffix(ROOT))
            return f"{name}{ROOT}" if name else None
        name = ALIASES.get(template, template)
        if versioned := _SWE.fullmatch(name):
            name = "swe" if await self._has_python(versioned[1]) else name
        if self._provider.name == "local":
            from sandbox_gym.sandbox.local.site_packages import PACKAGES

            return name if name in (*LOCAL_IMAGES, *PACKAGES) else None
        if name == "python" or not _NAME.fullmatch(name):
            return name if name == "python" else None
        from sandbox_gym.sandbox.docker.provider import DockerProvider

        assert isinstance(self._provider, DockerProvider)
        reference = f"{self._provider.prefix}{name}:latest"
        found = await self._provider.engine_call(lambda client: bool(client.images.list(name=reference)))
        return name if found else None

    async def _has_python(self, version: str) -> bool:
        """Whether sandboxes can have a Python of that version: an image brings its own, and a build says so where it
        does not; here it is copied to where every sandbox finds it."""
        if self._provider.name != "local":
            return True
        from sandbox_gym.sandbox.local import pythons

        try:
            await anyio.to_thread.run_sync(pythons.ready, version)
        except ToolchainMissing as error:
            _log.warning("no_python", version=version, why=str(error))
            return False
        return True

    async def open(self, kind: Kind, snapshot_id: str | None = None) -> Opened:
        """A new box, or one that goes on from a snapshot. Raises NoSuchSnapshot, ProviderDown."""
        if kind.image.removesuffix(ROOT) == USUAL.image and kind.network.allow is None:
            self._ready.setdefault(kind, [])  # kept ready from now on
        while snapshot_id is None and self._ready.get(kind):
            box, envd = self._ready[kind].pop(0)
            if not envd.ended.is_set() and not getattr(box, "worn", False):
                return box, envd
            await box.aclose()
        return await self._open(kind, snapshot_id)

    async def _open(self, kind: Kind, snapshot_id: str | None) -> Opened:
        root = kind.image.endswith(ROOT)
        image, limits = kind.image.removesuffix(ROOT), self.limits_of(kind.image)

        def envd(link: GuestLink) -> Envd:
            return Envd(link, self._tasks, root=root)

        box = await self._keeper.open_as(limits, snapshot_id, image=image, driver=envd, network=kind.network)
        driver = getattr(box, "driver", None)
        assert isinstance(driver, Envd)
        return box, driver  # type: ignore[return-value]

    async def prepare(self) -> None:
        """Have as many boxes ready as are kept. Raises ProviderDown."""
        for kind, ready in list(self._ready.items()):
            while len(ready) < self._warm:
                ready.append(await self._open(kind, None))
        if isinstance(self._keeper, SupportsPreparing):  # those that go on from a snapshot
            await self._keeper.prepare()

    async def snapshots(self) -> Sequence[str]:
        return [one.snapshot_id for one in await self._keeper.snapshots()]

    async def delete(self, snapshot_id: str) -> None:
        await self._keeper.delete(snapshot_id)

    async def collect(self, pinned: Set[str]) -> int:
        """Delete what nobody uses; the bytes that are left."""
        return await self._keeper.collect(budget_bytes=self.budget_bytes, pinned=pinned)

    async def aclose(self) -> None:
        for ready in self._ready.values():
            while ready:
                await ready.pop()[0].aclose()
        await self._keeper.aclose()


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
