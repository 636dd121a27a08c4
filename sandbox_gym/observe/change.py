"""When a share began to rise: the likeliest change point in a series of counts. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST: Final = 3
"""Fewer occurrences may be chance, or one person's test."""
LIKELIHOOD: Final = 7.0
"""Log-likelihood that two shares must gain over one share to count as a rise. Of series of six hours without a change,
about one in a hundred reaches it."""
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
    """The likeliest point of a rise in (count, of) pairs, in the order of time; None where none is significant."""
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
    """The log-likelihood of `count` of `of` at their maximum-likelihood share."""
    if not 0 < count < of:
        return 0.0
    share = count / of
    return count * math.log(share) + (of - count) * math.log(1 - share)
