"""Spans of one plan's runs, each from when the run could begin until its outcome arrived; bounded per plan."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from sandbox_gym.contract import Outcome
from sandbox_gym.observe import traces

MOST: Final = 100
"""Spans of one attempt; a row may have thousands of tests, and runs beyond this are only counted."""


@dataclass(slots=True, eq=False)
class RunSpans:
    """Runs of a box follow one another, so that each begins where the one before ended."""

    _traced: bool = field(default_factory=traces.traced, init=False)
    _since: float = field(default_factory=time.perf_counter, init=False)
    _ended: int = field(default=0, init=False)

    def begin(self) -> None:
        """Note that the next run could begin now."""
        self._since = time.perf_counter() if self._traced else 0.0

    def end(self, name: str, index: int, outcome: Outcome) -> None:
        """Note that the outcome of the run, or build, of this index has arrived."""
        if not self._traced:
            return
        now, since = time.perf_counter(), self._since
        self._since = now
        self._ended += 1
        if self._ended > MOST:
            return
        attributes: traces.Attributes = {
            "index": index,
            "status": outcome.status.value,
            "cpu_time_s": outcome.cpu_time_s,
            "wall_time_s": outcome.wall_time_s,
            **({} if outcome.starved_s is None else {"starved_s": outcome.starved_s}),
            "peak_memory_bytes": outcome.peak_memory_bytes,
        }
        traces.finished(name, now - since, attributes)

    def note(self) -> None:
        """Set the number of runs on the enclosing span."""
        traces.note({"runs": self._ended, "runs_without_span": max(0, self._ended - MOST)})
