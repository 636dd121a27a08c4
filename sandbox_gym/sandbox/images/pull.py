"""One pull: a thread of its own, which outlives whoever asked for it; attempts within a deadline, progress in the log.

A caller that leaves (a client gone, a deadline passed) ends no pull: the next one finds it further on, or done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog

from sandbox_gym.sandbox.images.contract import ImageEngine, ImageOptions, PullFailed, PullProblem, PullProgress
from sandbox_gym.sandbox.images.name import ImageName

LOG_EVERY_S = 10.0
_STEP_S = 0.1
_log = structlog.get_logger(__name__)


class Pull:
    """A pull that is waiting for its turn, going on, or over. `failed` is for its end."""

    def __init__(self, engine: ImageEngine, name: ImageName, options: ImageOptions, keep: Callable[[], None]) -> None:
        """`keep`: called in the thread when the image is there, to name and record it."""
        self._engine, self._name, self._options, self._keep = engine, name, options, keep
        self._stop, self._over = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self.failed: PullFailed | None = None
        self.waiters = 0

    @property
    def started(self) -> bool:
        return self._thread is not None

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def start(self) -> None:
        """Begin. Raises RuntimeError where the machine has no thread left."""
        thread = threading.Thread(target=self._run, name=f"pull {self._name.repository[-40:]}", daemon=True)
        thread.start()
        self._thread = thread

    def stop(self) -> None:
        """Have it end soon: at the engine's next word."""
        self._stop.set()

    def _run(self) -> None:
        try:
            self._attempts()
        except PullFailed as error:
            self.failed = error
        except Exception as error:  # a thread of its own: whoever waits must be told
            _log.error("image_pull_broken", image=self._name.full, why=f"{type(error).__name__}: {str(error)[:300]}")
            self.failed = PullFailed(PullProblem.NETWORK, f"{type(error).__name__}: {str(error)[:300]}")
        finally:
            self._over.set()

    def _attempts(self) -> None:
        options, name, began = self._options, self._name.full, time.monotonic()
        until = began + options.timeout_s
        _log.info("image_pull", image=name)
        for attempt in range(1, options.attempts + 1):
            try:
                progress = self._attempt(until)
            except PullFailed as error:
                late = time.monotonic() >= until
                passing = error.problem in (PullProblem.NETWORK, PullProblem.RATE) and not late
                if not passing or attempt == options.attempts or self._stop.is_set():
                    _log.warning("image_pull_failed", image=name, problem=error.problem.value, why=str(error)[:500])
                    raise
                _log.warning("image_pull_retried", image=name, attempt=attempt, why=str(error)[:500])
                self._pause(min(options.pause_s * 2 ** (attempt - 1), until - time.monotonic()))
                continue
            self._keep()
            _log.info("image_pulled", image=name, seconds=round(time.monotonic() - began, 1), **progress.shown())
            return

    def _attempt(self, until: float) -> PullProgress:
        progress, shown_at = PullProgress(), time.monotonic()

        def go_on() -> bool:
            nonlocal shown_at
            now = time.monotonic()
            if now - shown_at >= LOG_EVERY_S:
                shown_at = now
                _log.info("image_pull_progress", image=self._name.full, **progress.shown())
            return now < until and not self._stop.is_set()

        stall_s = max(1.0, min(self._options.stall_s, until - time.monotonic()))
        try:
            self._engine.pull(self._name, progress, stall_s, go_on)
        except PullFailed as error:
            if self._stop.is_set():
                raise PullFailed(PullProblem.STOPPED, "the server is stopping") from error
            if time.monotonic() >= until:
                why = f"not done within {self._options.timeout_s:.0f} s ({progress.shown()['layers']} layers)"
                raise PullFailed(PullProblem.NETWORK, f"{why}: {error}") from error
            raise
        return progress

    def _pause(self, seconds: float) -> None:
        self._stop.wait(max(_STEP_S, seconds))
