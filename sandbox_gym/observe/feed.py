"""Recent failures of an engine: sandboxes lost, plans tried again, plans quarantined. Bounded."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["crash", "provider_down", "retry", "quarantine"]
MAX_EVENTS: Final = 200
MAX_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Event:
    """`number` counts from the start of the process, `at` is Unix time. `why` is untrusted text, truncated."""

    number: int
    at: float
    kind: Kind
    cause: str
    why: str
    attempt: int


class Feed:
    """The latest events, and how many there were of each kind."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self.counts: Counter[Kind] = Counter()

    def note(self, kind: Kind, *, cause: str = "", why: str = "", attempt: int = 0) -> None:
        """Add an event; as cheap as an append."""
        self.counts[kind] += 1
        number = self.counts.total()
        self._events.append(Event(number, self._clock(), kind, cause[:MAX_CHARS], why[:MAX_CHARS], attempt))

    def latest(self, most: int) -> Sequence[Event]:
        """The latest first."""
        return [event for event, _ in zip(reversed(self._events), range(most), strict=False)]
