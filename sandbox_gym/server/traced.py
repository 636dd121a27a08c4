"""Makes each exchange a span: of the caller's trace where the request has a traceparent, else of a new trace."""

from __future__ import annotations

from typing import Final

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_gym.observe.traces import Attributes, RootTracer, Span
from sandbox_gym.observe.tracing import close_tracing

_UNTRACED: Final = frozenset({"/", "/health", "/metrics", "/reverify_mode", "/dataset_size"})
"""Paths that machines poll, which are not traced."""
_SERVER_ERROR: Final = 500
_VERDICT_ID: Final = b"x-sandbox-gym-verdict-id"


class TracedExchanges:
    """ASGI middleware; the end of the application's lifespan closes the tracing."""

    def __init__(self, app: ASGIApp, tracing: RootTracer) -> None:
        self._app, self._tracing = app, tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._live(scope, receive, send)
        if scope["type"] != "http" or scope["path"] in _UNTRACED:
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        carrier = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
        with self._tracing.root(scope["method"], carrier, _attributes(scope)) as span:

            async def answer(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _note(span, scope, message)
                await send(message)

            await self._app(scope, receive, answer)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def last(message: Message) -> None:
            if message["type"] in ("lifespan.shutdown.complete", "lifespan.shutdown.failed"):
                await close_tracing(self._tracing)  # before the response is sent, because the process may end then
            await send(message)

        await self._app(scope, receive, last)


def _attributes(scope: Scope) -> Attributes:
    request_id = str(structlog.contextvars.get_contextvars().get("request_id", ""))
    own = {"request_id": request_id} if request_id else {}
    return {"http.request.method": str(scope["method"]), "url.path": str(scope["path"])[:200], **own}


def _note(span: Span, scope: Scope, message: Message) -> None:
    status = int(message["status"])
    span.note({"http.response.status_code": status})
    route = getattr(scope.get("route"), "path", None)
    if isinstance(route, str):
        span.rename(f"{scope['method']} {route}")
        span.note({"http.route": route})
    for name, value in message.get("headers", ()):
        if name.lower() == _VERDICT_ID:
            span.note({"verdict_id": value.decode("latin-1")})
    if status >= _SERVER_ERROR:
        span.fail(str(status))
