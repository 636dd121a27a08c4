"""A sandbox at E2B while it is ours: kept alive while it is used, too old at some time, killed in the end."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import structlog

from sandbox_gym.errors import BoxLost, SandboxGymError
from sandbox_gym.sandbox.e2b.channel import CALL_S
from sandbox_gym.sandbox.e2b.errors import watched

if TYPE_CHECKING:
    from e2b import AsyncSandbox

_MIN_S: Final = 5.0
_log = structlog.get_logger(__name__)


class RemoteSandbox:
    """One sandbox. `destroy` kills it and gives its place in the account back."""

    def __init__(
        self, sandbox: AsyncSandbox, *, timeout_s: int, lifetime_s: float, destroy: Callable[[str], Awaitable[None]]
    ) -> None:
        self.sandbox, self.timeout_s, self._destroy = sandbox, timeout_s, destroy
        self._closed = False
        now = time.monotonic()
        self._ends_at = now + timeout_s
        self._too_old_at = now + lifetime_s - timeout_s

    @property
    def sandbox_id(self) -> str:
        return str(self.sandbox.sandbox_id)

    @property
    def keep_alive_every_s(self) -> float:
        """How often `keep_alive` is to be called."""
        return self.timeout_s / 4

    @property
    def old(self) -> bool:
        """Whether the account soon lets it live no longer."""
        return time.monotonic() > self._too_old_at

    @property
    def ending(self) -> bool:
        """Whether it soon is gone: it was not kept alive."""
        return time.monotonic() > self._ends_at - self.keep_alive_every_s

    async def keep_alive(self) -> None:
        """Have it live on, once half of its time is over. Raises BoxLost when it won't and its time is nearly up."""
        left = self._ends_at - time.monotonic()
        if left > self.timeout_s / 2:
            return
        asked = time.monotonic()
        try:
            async with watched("extending a sandbox", min(CALL_S, max(_MIN_S, left))):
                await self.sandbox.set_timeout(self.timeout_s, request_timeout=CALL_S)
            self._ends_at = asked + self.timeout_s
        except SandboxGymError as error:
            _log.warning("e2b_not_extended", box=self.sandbox_id, why=str(error))
            if left < self.timeout_s / 5:
                raise BoxLost(f"e2b box {self.sandbox_id}: {error}") from error

    async def end(self) -> None:
        """Kill it. Idempotent; for a shielded caller."""
        if not self._closed:
            self._closed = True
            await self._destroy(self.sandbox_id)
