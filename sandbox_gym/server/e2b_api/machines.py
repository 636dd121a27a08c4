"""Boxes as E2B's templates: which name is which image, and who opens a box of it. Knows no tenants and no HTTP."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Final, Protocol

import anyio.abc

from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import Provider
from sandbox_gym.sandbox.driver import Driver
from sandbox_gym.sandbox.envd import HOME, Envd
from sandbox_gym.sandbox.link import GuestLink
from sandbox_gym.sandbox.snapshots import SessionBox, SessionProvider, SupportsPreparing

ALIASES: Final = {"": "python", "base": "python", "code-interpreter-v1": "python", "code-interpreter": "python"}
"""E2B's own templates, by the image that stands for them."""
LOCAL_IMAGES: Final = ("python", "polyglot")
"""What a machine itself is, whatever compilers it has; beside those that bring packages."""
ROOT: Final = ":root"
"""Ends the template of a sandbox whose commands run as the box's root, for a guest of our own inside it."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}")


class Machine(SessionBox, Protocol):
    """A session's box whose driver takes many requests at once."""

    busy: bool
    driver: Driver


Opened = tuple[Machine, Envd]


class Machines:
    """Opens boxes of any image. Use one task group for all that its boxes' drivers do."""

    def __init__(
        self, settings: Settings, provider: Provider, folder: Path, tasks: anyio.abc.TaskGroup, *, warm: int = 2
    ) -> None:
        """`warm`: boxes of the usual image that are kept ready before anybody asks."""
        self._settings, self._provider, self._folder, self._tasks = settings, provider, folder, tasks
        self.limits = pool_limits(settings)
        self.budget_bytes = settings.snapshot_disk_mb * MIB
        self._warm = warm
        self._ready: dict[str, list[Opened]] = {"python": []}
        folder.mkdir(parents=True, exist_ok=True)
        self._openers: dict[str, SessionProvider] = {}
        self._opener("python")

    @property
    def disk_bytes(self) -> int:
        """What a sandbox's files may take."""
        return self.limits.scratch_bytes

    def _opener(self, image: str) -> SessionProvider:
        root = image.endswith(ROOT)
        folder = self._folder if image == "python" else self._folder / image.replace(":", "-")

        def driver(link: GuestLink) -> Envd:
            return Envd(link, self._tasks, root=root)

        if self._provider.name == "local":
            from sandbox_gym.sandbox.local import LocalProvider
            from sandbox_gym.sandbox.local.sessions import LocalSessions

            assert isinstance(self._provider, LocalProvider)
            if image not in self._openers:
                self._openers[image] = LocalSessions(
                    self._provider, folder, self.limits, home=HOME, image=image.removesuffix(ROOT), driver=driver
                )
            return self._openers[image]
        if self._provider.name == "docker":
            from sandbox_gym.sandbox.docker import DockerProvider
            from sandbox_gym.sandbox.docker_sessions import DockerSessions

            assert isinstance(self._provider, DockerProvider)
            if image not in self._openers:
                self._openers[image] = DockerSessions(
                    self._provider, folder / "globals", image=image.removesuffix(ROOT), driver=driver
                )
            return self._openers[image]
        raise ConfigurationError(f"provider {self._provider.name!r} holds no sandboxes; use local or docker")

    async def image(self, template: str) -> str | None:
        """The image that a template's name stands for, with ROOT where that does; None where there is none."""
        if template.endswith(ROOT):
            name = await self.image(template.removesuffix(ROOT))
            return f"{name}{ROOT}" if name else None
        name = ALIASES.get(template, template)
        if self._provider.name == "local":
            from sandbox_gym.sandbox.local.sites import PACKAGES

            return name if name in (*LOCAL_IMAGES, *PACKAGES) else None
        if name == "python" or not _NAME.fullmatch(name):
            return name if name == "python" else None
        from sandbox_gym.sandbox.docker import DockerProvider

        assert isinstance(self._provider, DockerProvider)
        reference = f"{self._provider.prefix}{name}:latest"
        found = await self._provider.engine_call(lambda client: bool(client.images.list(name=reference)))
        return name if found else None

    async def open(self, image: str, snapshot_id: str | None = None) -> Opened:
        """A new box, or one that goes on from a snapshot. Raises NoSuchSnapshot, ProviderDown."""
        if image == f"python{ROOT}":
            self._ready.setdefault(image, [])  # kept ready from now on
        while snapshot_id is None and self._ready.get(image):
            box, envd = self._ready[image].pop(0)
            if not envd.ended.is_set() and not getattr(box, "worn", False):
                return box, envd
            await box.aclose()
        return await self._open(image, snapshot_id)

    async def _open(self, image: str, snapshot_id: str | None) -> Opened:
        box = await self._opener(image).open_session(self.limits, snapshot_id)
        driver = getattr(box, "driver", None)
        assert isinstance(driver, Envd)
        return box, driver  # type: ignore[return-value]

    async def prepare(self) -> None:
        """Have as many boxes ready as are kept. Raises ProviderDown."""
        for image, ready in list(self._ready.items()):
            while len(ready) < self._warm:
                ready.append(await self._open(image, None))
        opener = self._opener("python")
        if isinstance(opener, SupportsPreparing):  # those that go on from a snapshot
            await opener.prepare()

    async def snapshots(self) -> Sequence[str]:
        return [one.snapshot_id for one in await self._opener("python").snapshots()]

    async def delete(self, snapshot_id: str) -> None:
        await self._opener("python").delete(snapshot_id)

    async def collect(self, pinned: Set[str]) -> int:
        """Delete what nobody uses; the bytes that are left."""
        return await self._opener("python").collect(budget_bytes=self.budget_bytes, pinned=pinned)

    async def aclose(self) -> None:
        for ready in self._ready.values():
            while ready:
                await ready.pop()[0].aclose()
        for opener in self._openers.values():
            await opener.aclose()


def pool_limits(settings: Settings) -> Limits:
    """The caps of one sandbox as a whole. Its files are in memory on `local`, so they get half of it."""
    memory = settings.memory_limit_mb * MIB
    return Limits(
        cpu_time_s=30 * 24 * 3600,
        wall_time_s=30 * 24 * 3600,
        cpus=settings.cpus_per_box,
        memory_bytes=memory,
        processes=256,
        open_files=4096,
        file_bytes=max(64 * MIB, memory // 2),
        scratch_bytes=max(64 * MIB, memory // 2),
        scratch_inodes=65_536,
    )
