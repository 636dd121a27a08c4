"""Serves an application by uvicorn, with bounds on connections and logs, until a signal or the application's failure.

A background task that fails ends the application's lifespan. The process then ends too, with the reason in the log and
exit code 1, so that its supervisor restarts it; uvicorn alone would answer 503 for ever.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import structlog
import uvicorn
from structlog.typing import EventDict
from uvicorn.config import STARTUP_FAILURE
from uvicorn.lifespan.on import LifespanOn
from uvicorn.server import HANDLED_SIGNALS

from sandbox_gym.config import Settings
from sandbox_gym.observe.tracebacks import without_locals
from sandbox_gym.server.connections import BoundedConfig, Bounds, bounds_of

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


def serve_app(app: Any, settings: Settings, *, body_s: float | None = None, **options: Any) -> None:
    """Serve until a signal. `options`: uvicorn's. Ends the process with BROKE where the application failed."""
    bound_logs()
    bounds = server_bounds(settings, body_s=body_s)
    config = BoundedConfig(
        app, bounds, host=settings.host, port=settings.port, lifespan="on", access_log=False, **options
    )
    server = Server(config)
    server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)
    if server.broke:
        sys.exit(BROKE)


class Server(uvicorn.Server):
    """A uvicorn server that ends with its application, and handles a signal without raising it again."""

    broke = False

    async def on_tick(self, counter: int) -> bool:
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
