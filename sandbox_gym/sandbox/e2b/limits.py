"""What an account of E2B allows and costs: creates per second, sandboxes at once, seconds. Calls nothing."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio

from sandbox_gym.contract import Isolation
from sandbox_gym.errors import ProviderDown

ROOT: Final = ":root"
"""Ends a pool's templates whose commands run as root."""
CLOUD_TEMPLATES: Final = {"python": "base"}
"""E2B's own template that stands for an image where none is named."""


def minor(version: str) -> str:
    """`3.12` of `3.12.1`."""
    return ".".join(version.split(".")[:2])


@dataclass(frozen=True, slots=True)
class E2bOptions:
    """How an account is used. Empty texts leave the SDK's own defaults, E2B_* in the environment among them."""

    api_key: str = field(default="", repr=False)
    domain: str = ""
    api_url: str = ""
    """A server of one port, such as `sandbox-gym serve pool`: control plane and sandboxes both."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """Template by image name."""
    max_sandboxes: int = 20
    creates_per_s: float = 1.0
    timeout_s: int = 300
    """How long a sandbox lives after it was last kept alive."""
    lifetime_s: float = 3600.0
    """The longest that the account lets a sandbox live."""
    isolation: Isolation = "vm"
    """Of sandboxes that do not say it themselves."""

    def template(self, image: str) -> str:
        """An image's template: as named, else E2B's own, or at another server the image's, with root inside."""
        if image in self.templates:
            return self.templates[image]
        return f"{image}{ROOT}" if self.api_url or self.domain else CLOUD_TEMPLATES.get(image, image)

    def user_template(self, image: str, python: str = "") -> str:
        """The template of a sandbox without root: what sessions run in. `python`: a version ("3.12") that
        it must have, as a template `<image>-3.12` says, or is named to."""
        wanted = f"{image}-{minor(python)}" if python else image
        if wanted in self.templates or image in self.templates:
            return self.templates.get(wanted, self.templates.get(image, "")).removesuffix(ROOT)
        return wanted if self.api_url or self.domain else CLOUD_TEMPLATES.get(image, wanted)

    def snapshot_template(self, snapshot_id: str) -> str:
        """The template of a sandbox that begins as a snapshot, with root inside. Servers whose templates are named
        without ROOT have root in every sandbox, as E2B's own."""
        pool = (self.api_url or self.domain) and all(one.endswith(ROOT) for one in self.templates.values())
        return f"{snapshot_id}{ROOT}" if pool else snapshot_id


class Gate:
    """Lets creates through at the account's pace, and no more sandboxes than it may have at once."""

    def __init__(self, creates_per_s: float, most: int) -> None:
        self._pause_s, self._most = 1.0 / creates_per_s, most
        self._places = anyio.Semaphore(most)
        self._turn = anyio.Lock()
        self._next = 0.0

    async def enter(self, within_s: float) -> None:
        """Take a place and wait for a turn. Raises ProviderDown when there is none in time; then no place is held."""
        try:
            with anyio.fail_after(within_s):
                await self._places.acquire()
        except TimeoutError:
            why = f"all {self._most} sandboxes of the account are in use (SANDBOX_GYM_E2B_MAX_SANDBOXES)"
            raise ProviderDown(why) from None
        try:
            async with self._turn:
                await anyio.sleep(max(0.0, self._next - time.monotonic()))
                self._next = time.monotonic() + self._pause_s
        except BaseException:
            self._places.release()
            raise

    def leave(self) -> None:
        self._places.release()

    @asynccontextmanager
    async def entered(self, within_s: float) -> AsyncIterator[None]:
        """As `enter`; the place is given back only when the body raises."""
        await self.enter(within_s)
        try:
            yield
        except BaseException:
            self.leave()
            raise


class Meter:
    """Seconds that sandboxes have run: what the account is charged for."""

    def __init__(self) -> None:
        self._ended_s = 0.0
        self._running: dict[str, float] = {}
        self.created = 0

    def started(self, sandbox_id: str) -> None:
        self.created += 1
        self._running[sandbox_id] = time.monotonic()

    def ended(self, sandbox_id: str) -> bool:
        """Whether it ran until now."""
        started = self._running.pop(sandbox_id, None)
        if started is not None:
            self._ended_s += time.monotonic() - started
        return started is not None

    def counts(self) -> dict[str, int]:
        """By name: sandboxes made, those that run, and the seconds of all, whole."""
        now = time.monotonic()
        seconds = self._ended_s + sum(now - started for started in self._running.values())
        return {"created": self.created, "running": len(self._running), "sandbox_seconds": int(seconds)}
