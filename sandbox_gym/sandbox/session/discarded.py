"""Ends discarded sessions: a few at once, each within a time, so that no request waits for their sandboxes to end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import structlog

from sandbox_gym.faults import log_failure
from sandbox_gym.sandbox.session.held import HeldSession

AT_ONCE: Final = 4
END_S: Final = 60.0
"""The longest that one of them may take; what it leaves then is the next server's to sweep."""
_log = structlog.get_logger(__name__)


class DiscardedSessions:
    """`end`: ends one session for good."""

    def __init__(self, end: Callable[[HeldSession], Awaitable[None]]) -> None:
        self._end = end
        self._waiting: list[HeldSession] = []
        self._added = anyio.Event()

    def add(self, session: HeldSession) -> None:
        self._waiting.append(session)
        added, self._added = self._added, anyio.Event()
        added.set()

    async def keep_ending(self) -> None:
        """End them as they come, until cancelled."""
        async with anyio.create_task_group() as tasks:
            for _ in range(AT_ONCE):
                tasks.start_soon(self._keep_ending)

    async def _keep_ending(self) -> None:
        while True:
            await self._end_waiting()
            await self._added.wait()

    async def end_rest(self) -> None:
        """End those that are left."""
        async with anyio.create_task_group() as tasks:
            for _ in range(AT_ONCE):
                tasks.start_soon(self._end_waiting)

    async def _end_waiting(self) -> None:
        while self._waiting:
            await self._end_one(self._waiting.pop())

    async def _end_one(self, session: HeldSession) -> None:
        try:
            with anyio.move_on_after(END_S, shield=True) as scope:
                await self._end(session)
            if scope.cancelled_caught:
                _log.warning("session_not_ended", session=session.session_id[:80], why=f"not within {END_S:g} s")
        except Exception as error:
            log_failure("session_not_ended", error, session=session.session_id[:80])
