"""The end of a server as its clients see it: probes say 503 first, and what could not end in time is answered 503.

Knows no route but the two that load balancers ask, and nothing of signals; whoever stops the server says when it began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_gym.errors import Unavailable
from sandbox_gym.server.protocol.exchange import error_reply

PROBES: Final = frozenset({"/", "/health"})


class Draining:
    """ASGI middleware, before all others. `began`: whether the server was told to stop."""

    def __init__(self, app: ASGIApp, began: Callable[[], bool]) -> None:
        self.app, self._began = app, began

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if scope["path"] in PROBES and self._began():
            return await _stopping(scope, receive, send)
        answered = False

        async def answer(message: Message) -> None:
            nonlocal answered
            answered = True
            if message["type"] == "http.response.start" and self._began():  # its client's next request goes elsewhere
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        try:
            await self.app(scope, receive, answer)
        except asyncio.CancelledError:  # uvicorn's, of what took longer than the grace; nothing else cancels it
            if answered:
                raise
            await _stopping(scope, receive, send)


class _Stopping(Unavailable):
    retry_after_s = 1


async def _stopping(scope: Scope, receive: Receive, send: Send) -> None:
    await error_reply(_Stopping("the server is stopping"))(scope, receive, send)
