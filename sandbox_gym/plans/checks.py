"""Which steps of a shared process are run again in one of their own. Knows nothing of what a run earns."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final

from sandbox_gym.contract import StepOutcome, answers_outcome

CHECKED: Final = 3
"""Failures that are run again at once; a verifier may ask for more."""


_CHANCE: Final = secrets.SystemRandom()


def steps_to_check(
    outcomes: Sequence[StepOutcome | None], stopped: Sequence[int], sizes: Sequence[int], *, grouped: bool
) -> list[int]:
    """Those at which early stop ended a group, and one that chance names now that the answer has given all of its
    outputs: half the time any, half the time by the `sizes` of their inputs, since large inputs are those for which an
    answer may have prepared itself in the time of others. `stopped`: the steps of early stop; `grouped`: whether one of
    them leaves other groups open."""
    shared = [index for index, one in enumerate(outcomes) if one is not None and answers_outcome(one).shared]
    chosen = [index for index in stopped if index in shared][:CHECKED]
    rest = [index for index in shared if index not in stopped]
    settled = bool(stopped) and not grouped
    if not rest or settled:
        return chosen
    weights = [1 + sizes[index] for index in rest] if _CHANCE.random() < 0.5 else None
    return [*chosen, *_CHANCE.choices(rest, weights)]
