"""The live picture as server-sent events: made once a second for all open pages, and only while one is open.

A client gets the latest picture when it can take one, never a backlog; one that takes none for SEND_S is let go.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

import anyio
import structlog
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import EventSourceResponse, SendTimeoutError
from starlette.types import Receive, Scope, Send

from sandbox_gym.server.protocol.wire import dumps

EVERY_S: Final = 1.0
SEND_S: Final = 10.0
MAX_CLIENTS: Final = 16
RETRY_MS: Final = 2000
_log = structlog.get_logger("sandbox_gym.server")


class Pictures:
    """The picture of this moment, shared: however many ask, it is made at most once in EVERY_S."""

    def __init__(self, make: Callable[[], Mapping[str, object]], clock: Callable[[], float] = time.monotonic) -> None:
        self._make, self._clock = make, clock
        self._made_at = float("-inf")
        self._raw = self._event = b""
        self.clients = 0
        self.made = 0

    def now(self) -> bytes:
        """JSON, at most EVERY_S old."""
        now = self._clock()
        if now - self._made_at >= EVERY_S:
            self._raw, self._made_at = dumps(self._make()), now
            self._event = ServerSentEvent(self._raw.decode(), retry=RETRY_MS).encode()
            self.made += 1
        return self._raw

    def event(self) -> bytes:
        """The same as a server-sent event, for every client the same bytes."""
        self.now()
        return self._event


class Stream:
    """One client's stream, as an ASGI application."""

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stopping = anyio.Event()  # set when the server is asked to stop, which must not wait for those who look on
        response = EventSourceResponse(
            self._events(stopping), ping=0, send_timeout=SEND_S, shutdown_event=stopping, shutdown_grace_period=1
        )
        self._pictures.clients += 1
        try:
            await response(scope, receive, send)
        except SendTimeoutError:
            _log.info("dashboard_client_dropped", why=f"took nothing for {SEND_S:g} s")
        finally:
            self._pictures.clients -= 1

    async def _events(self, stopping: anyio.Event) -> AsyncIterator[bytes]:
        while not stopping.is_set():
            yield self._pictures.event()
            with anyio.move_on_after(EVERY_S):
                await stopping.wait()
