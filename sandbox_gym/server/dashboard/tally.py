"""What verdicts came to, counted as they come: by reason, by second, by phase. Cheap to add to, read when looked at.

Knows no server: a clock in, numbers out. Everything is bounded.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sandbox_gym.journal import Kind

WINDOW_S: Final = 300
BIN_S: Final = 5
MAX_REASONS: Final = 40
MAX_SAMPLES: Final = 1024
OTHER: Final = "other"
_REASON_CHARS: Final = 60
_ORDER: Final = ("queue", "acquire", "put", "run", "judge", "total")


@dataclass(frozen=True, slots=True)
class Share:
    """How often one reason came: since the start, and in the last WINDOW_S seconds."""

    kind: Kind
    reason: str
    total: int
    recent: int


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase's seconds, of `count` of the latest verifies."""

    name: str
    p50_s: float
    p95_s: float
    count: int


_Reason = tuple[Kind, str]


class Tally:
    """Counts of one server."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._totals: Counter[_Reason] = Counter()
        self._seconds: deque[tuple[int, Counter[_Reason]]] = deque(maxlen=WINDOW_S)
        self._samples: deque[tuple[float, Mapping[str, float]]] = deque(maxlen=MAX_SAMPLES)

    @property
    def total(self) -> int:
        """Verifies since the start."""
        return self._totals.total()

    def add(self, kind: Kind, reason: str, timings_s: Mapping[str, float], total_s: float) -> None:
        """One finished verify."""
        self._count(kind, reason)
        self._samples.append((self._clock(), {**timings_s, "total": total_s}))

    def refused(self, reason: str) -> None:
        """One that was turned away before anything was begun: it took no time worth telling."""
        self._count(Kind.NO_VERDICT, reason)

    def _count(self, kind: Kind, reason: str) -> None:
        key = (kind, reason[:_REASON_CHARS])
        if key not in self._totals and len(self._totals) >= MAX_REASONS:
            key = (kind, OTHER)
        self._totals[key] += 1
        second = int(self._clock())
        if not self._seconds or self._seconds[-1][0] < second:
            self._seconds.append((second, Counter()))
        self._seconds[-1][1][key] += 1

    def restore(self, counts: Iterable[tuple[float, Kind, str, int]]) -> None:
        """(time, kind, reason, how many) of before the start, in the order of time: in the window, not in totals."""
        before: dict[int, Counter[_Reason]] = {}
        for at, kind, reason, count in counts:
            key = (kind, reason[:_REASON_CHARS])
            if key not in self._totals and len(self._totals) >= MAX_REASONS:
                key = (kind, OTHER)
            self._totals[key] += 0  # it is in the mix
            before.setdefault(int(at), Counter())[key] += count
        self._seconds = deque([*before.items(), *self._seconds], maxlen=WINDOW_S)

    def mix(self) -> Sequence[Share]:
        """Every reason that ever came: passed first, then by how often."""
        recent: Counter[_Reason] = Counter()
        since = self._clock() - WINDOW_S
        for second, counts in self._seconds:
            if second > since:
                for key, count in counts.items():
                    recent[key] += count
        ordered = sorted(self._totals.items(), key=lambda one: (one[0][0] is not Kind.PASSED, -one[1], one[0]))
        return [Share(kind, reason, total, recent[kind, reason]) for (kind, reason), total in ordered]

    def rates(self) -> Sequence[Mapping[Kind, int]]:
        """Verifies in each BIN_S seconds of the window, the oldest first; the last bin is whole, not begun."""
        bins: list[dict[Kind, int]] = [dict.fromkeys(Kind, 0) for _ in range(WINDOW_S // BIN_S)]
        end = int(self._clock()) // BIN_S * BIN_S
        for second, counts in self._seconds:
            index = len(bins) - 1 - (end - 1 - second) // BIN_S
            if 0 <= index < len(bins):
                for (kind, _), count in counts.items():
                    bins[index][kind] += count
        return bins

    def phases(self) -> Sequence[Phase]:
        """Of the window's latest verifies, MAX_SAMPLES at most; phases in the order they happen."""
        seconds: dict[str, list[float]] = {}
        since = self._clock() - WINDOW_S
        for at, timings in self._samples:
            if at > since:
                for name, spent in timings.items():
                    seconds.setdefault(name, []).append(spent)
        known = [name for name in _ORDER if name in seconds] + sorted(set(seconds) - set(_ORDER))
        return [_phase(name, sorted(seconds[name])) for name in known]


def _phase(name: str, ordered: Sequence[float]) -> Phase:
    return Phase(name, _rank(ordered, 0.50), _rank(ordered, 0.95), len(ordered))


def _rank(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: a value that did occur."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
