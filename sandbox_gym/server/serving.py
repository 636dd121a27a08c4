"""One way to serve: with bounds on connections and logs, until a signal, and never longer than what is served lives.

A background task that dies takes the application's lifespan with it. The process ends then, with the reason in the log
and exit code 1, so that whoever supervises it starts it again; uvicorn alone would answer 503 for ever.
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
from sandbox_gym.server.connections import BoundedConfig, Bounds, bounds_of

BROKE: Final = 1
WINDOW_S: Final = 10.0
LINES: Final = 20
"""Log lines of one kind in WINDOW_S; clients cause as many as they like."""
_log = structlog.get_logger("sandbox_gym.server")


def server_bounds(settings: Settings, *, body_s: float | None = None) -> Bounds:
    """What the settings allow this process's clients."""
    return bounds_of(
        settings.connections,
        settings.head_timeout_s,
        settings.body_timeout_s if body_s is None else body_s,
        sandboxes=settings.boxes + settings.session.max_live,
    )


def serve_app(app: Any, settings: Settings, *, body_s: float | None = None, **options: Any) -> None:
    """Serve until a signal. `options`: uvicorn's. Ends the process with BROKE where the application broke."""
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
    """Ends with its application, and by a signal with no other."""

    broke = False

    async def on_tick(self, counter: int) -> bool:
        if await super().on_tick(counter):
            return True
        # set when the lifespan's task has ended, which nobody has asked it to
        self.broke = isinstance(self.lifespan, LifespanOn) and self.lifespan.shutdown_event.is_set()
        if self.broke:
            _log.error("server_failed", why="a background task died; its error is above", exit_code=BROKE)
        return self.broke

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """As uvicorn has it, but an orderly stop ends there: the signal is not raised once more."""
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
    """Which lines of a log still go out: LINES of a kind in WINDOW_S."""

    def __init__(self) -> None:
        self._counts: dict[str, _Count] = {}

    def take(self, kind: str) -> int | None:
        """None: this line is one too many. Else how many like it were dropped since the last that was not."""
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
    """For loggers of libraries, by the first words of a message: asyncio says each failed accept, with a traceback."""

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
    """structlog: warnings and errors of one name, at most LINES in WINDOW_S; what else there was is counted."""
    if method not in ("warning", "error", "exception", "critical"):
        return event
    dropped = _of_events.take(str(event.get("event")))
    if dropped is None:
        raise structlog.DropEvent
    return {**event, "dropped_before": dropped} if dropped else event


def bound_logs() -> None:
    """Bound what clients and shortages can write to this process's log. Idempotent."""
    for name in ("asyncio", "uvicorn.error"):
        logger = logging.getLogger(name)
        if not any(isinstance(one, RateFilter) for one in logger.filters):
            logger.addFilter(RateFilter())
    processors = structlog.get_config()["processors"]
    if bounded_rate not in processors:
        structlog.configure(processors=[bounded_rate, *processors])
