"""When a share began to be larger: the likeliest point of change in a series of counts. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST: Final = 3
"""Fewer may be chance, or somebody's one trial."""
LIKELIHOOD: Final = 7.0
"""How much better, in log-likelihood, two shares must explain a series than one does; of series of six hours in which
nothing changes about one in a hundred does so."""
FACTOR: Final = 1.5


@dataclass(frozen=True, slots=True)
class Change:
    """From `series[index]` on, `count` of `of` instead of a share of `before`."""

    index: int
    before: float
    share: float
    count: int
    of: int


def rise_of(series: Sequence[tuple[int, int]]) -> Change | None:
    """The best point of a rise in (count, of) pairs, in the order of time; None where there is none to speak of."""
    total, total_of = sum(count for count, _ in series), sum(of for _, of in series)
    best, found = LIKELIHOOD, None
    before = before_of = 0
    for index, (count, of) in enumerate(series):
        after, after_of = total - before, total_of - before_of
        if before_of and count and after >= LEAST:
            gain = _fit(before, before_of) + _fit(after, after_of) - _fit(total, total_of)
            if gain > best and after / after_of >= FACTOR * before / before_of:
                best = gain
                found = Change(index, before / before_of, after / after_of, after, after_of)
        before += count
        before_of += of
    return found


def _fit(count: int, of: int) -> float:
    """The log-likelihood of so many of so many, at the share that explains them best."""
    if not 0 < count < of:
        return 0.0
    share = count / of
    return count * math.log(share) + (of - count) * math.log(1 - share)
