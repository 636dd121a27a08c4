"""Serves an application by uvicorn, with bounds on connections and logs, until a signal or the application's failure.

A background task that fails ends the application's lifespan. The process then ends too, with the reason in the log and
exit code 1, so that its supervisor restarts it; uvicorn alone would answer 503 for ever.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

import anyio
import structlog
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import EventDict
from uvicorn.lifespan.on import LifespanOn
from uvicorn.server import HANDLED_SIGNALS

from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError, Unavailable
from sandbox_gym.observe.tracebacks import without_locals
from sandbox_gym.server.connections import BoundedConfig, Bounds, bounds_of
from sandbox_gym.server.protocol.exchange import error_reply
from sandbox_gym.server.readiness import check_ready

BROKE: Final = 1
WINDOW_S: Final = 10.0
LINES: Final = 20
"""Log lines of one kind in WINDOW_S, because clients could cause any number."""
_log = structlog.get_logger("sandbox_gym.server")


def server_bounds(settings: Settings, *, body_s: float | None = None) -> Bounds:
    """The settings' limits for this process's clients."""
    return bounds_of(
        settings.connections,
        settings.head_timeout_s,
        settings.body_timeout_s if body_s is None else body_s,
        sandboxes=settings.boxes + settings.session.max_live,
    )


@contextmanager
def ready_to_listen(settings: Settings, needs: str) -> Generator[list[socket.socket]]:
    """Sockets bound to the settings' address that do not listen yet, once this machine has what rows of the kind
    `needs` need (empty: nothing): no client reaches a server that is not ready. Raises ConfigurationError."""
    held: list[socket.socket] = []
    try:
        with can_listen(settings):
            for address in dict.fromkeys(_addresses(settings)):
                _bind(address, held)
        if needs:
            anyio.run(check_ready, settings, (needs,))
        yield held
    finally:
        for one in held:
            one.close()


def _addresses(settings: Settings) -> list[tuple[int, Any]]:
    """(family, address) of each address that the host's name stands for."""
    found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return [(family, address) for family, _kind, _protocol, _name, address in found]


def _bind(address: tuple[int, Any], held: list[socket.socket]) -> None:
    family, place = address
    try:
        # named, as asyncio turns Nagle's algorithm off for TCP alone: a small answer's body waited 40 ms for its head
        one = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError:
        return  # a kernel without IPv6
    held.append(one)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        one.bind(place)
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL or len(held) == 1:
            raise
        held.remove(one)  # a name for IPv6's loopback too, where there is none
        one.close()


@contextmanager
def can_listen(settings: Settings) -> Generator[None]:
    """Raises ConfigurationError for an OSError of the settings' address."""
    try:
        yield
    except OSError as error:
        remedies = {
            errno.EADDRINUSE: "another program has it: stop that one, or name another port (--port, SANDBOX_GYM_PORT)",
            errno.EACCES: "ports below 1024 are root's: name another one (--port, SANDBOX_GYM_PORT)",
        }
        remedy = remedies.get(error.errno or 0, "name an address of this machine (--host, SANDBOX_GYM_HOST)")
        where = f"{settings.host}, port {settings.port}"
        raise ConfigurationError(f"can't listen on {where}: {error.strerror}; {remedy}") from None


def say_where(settings: Settings, listeners: list[socket.socket]) -> None:
    """Log the line that uvicorn logs of sockets that it opened itself."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    port = listeners[0].getsockname()[1]
    logging.getLogger("uvicorn.error").info("Uvicorn running on http://%s:%d (Press CTRL+C to quit)", host, port)


def serve_app(app: Any, settings: Settings, needs: str = "", *, body_s: float | None = None, **options: Any) -> None:
    """Serve until a signal. `needs`: see `ready_to_listen`. `options`: uvicorn's. Raises ConfigurationError before it
    listens; ends the process with BROKE where the application failed."""
    bound_logs()
    bounds = server_bounds(settings, body_s=body_s)
    server: Server
    app = Draining(app, lambda: server.stopping)
    address = {"host": settings.host, "port": settings.port}
    config = BoundedConfig(app, bounds, **address, lifespan="on", access_log=False, server_header=False, **options)
    with ready_to_listen(settings, needs) as listeners:
        server = Server(config, settings)
        server.run(listeners)
    if server.broke or not server.started:
        sys.exit(BROKE)


class Server(uvicorn.Server):
    """A uvicorn server that ends with its application, and handles a signal without raising it again."""

    broke = False

    def __init__(self, config: uvicorn.Config, settings: Settings) -> None:
        super().__init__(config)
        self._settings = settings
        self._drained_at = float("inf")

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop, and may still serve until load balancers have noticed."""
        return self.should_exit or self._drained_at < float("inf")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM begins the drain, where there is to be one; whatever comes next ends it."""
        if sig != signal.SIGTERM or not self._settings.drain_s or self.stopping:
            return super().handle_exit(sig, frame)
        self._drained_at = time.monotonic() + self._settings.drain_s

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        assert sockets is not None
        try:
            with can_listen(self._settings):  # another server may have been bound to the port as long as this one
                await super().startup(sockets)
        except ConfigurationError:
            await self.lifespan.shutdown()
            raise
        say_where(self._settings, sockets)

    async def on_tick(self, counter: int) -> bool:
        self.should_exit = self.should_exit or time.monotonic() >= self._drained_at
        if await super().on_tick(counter):
            return True
        # set when the lifespan's task has ended without a shutdown
        self.broke = isinstance(self.lifespan, LifespanOn) and self.lifespan.shutdown_event.is_set()
        if self.broke:
            _log.error("server_failed", why="a background task failed; its error is logged above", exit_code=BROKE)
        return self.broke

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """As in uvicorn, but after an orderly stop the signal is not raised again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass
class _Count:
    since: float
    lines: int = 0
    dropped: int = 0


class Rate:
    """Limits a log to LINES lines of each kind in WINDOW_S."""

    def __init__(self) -> None:
        self._counts: dict[str, _Count] = {}

    def take(self, kind: str) -> int | None:
        """None where this line is to be dropped; else how many of its kind were dropped since the last one written."""
        now = time.monotonic()
        if len(self._counts) > 1000:
            self._counts.clear()
        count = self._counts.setdefault(kind, _Count(now))
        if now - count.since > WINDOW_S:
            count.since, count.lines = now, 0
        if count.lines >= LINES:
            count.dropped += 1
            return None
        count.lines += 1
        dropped, count.dropped = count.dropped, 0
        return dropped


class RateFilter(logging.Filter):
    """For libraries' loggers, by the first words of a message: asyncio logs each failed accept with a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self._rate = Rate()

    def filter(self, record: logging.LogRecord) -> bool:
        dropped = self._rate.take(f"{record.levelno} {record.getMessage()[:60]}")
        if dropped:
            record.msg = f"{record.getMessage()} ({dropped} more like it before)"
            record.args = None
        return dropped is not None


_of_events = Rate()


def bounded_rate(_logger: object, method: str, event: EventDict) -> EventDict:
    """structlog processor: at most LINES warnings and errors of one event in WINDOW_S; the dropped ones are counted."""
    if method not in ("warning", "error", "exception", "critical"):
        return event
    dropped = _of_events.take(str(event.get("event")))
    if dropped is None:
        raise structlog.DropEvent
    return {**event, "dropped_before": dropped} if dropped else event


def bound_logs() -> None:
    """Bound the log lines that clients and shortages can cause in this process. Idempotent."""
    for name in ("asyncio", "uvicorn.error"):
        logger = logging.getLogger(name)
        if not any(isinstance(one, RateFilter) for one in logger.filters):
            logger.addFilter(RateFilter())
    processors = structlog.get_config()["processors"]
    if bounded_rate not in processors:
        structlog.configure(processors=[bounded_rate, *without_locals(processors)])


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
