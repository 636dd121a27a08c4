"""math_with_code's comparison: plain numbers within a share of the expected one. Source: NeMo Gym's math_with_code."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[-+]?(?:[0-9][0-9,]*\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
_MAX = 400


def within(tolerance: float, gold: str, answer: str) -> bool:
    """Whether both are plain numbers that differ by at most `tolerance` times the larger of 1 and the gold."""
    first, second = _number(gold), _number(answer)
    if tolerance <= 0 or first is None or second is None:
        return False
    return abs(first - second) <= tolerance * max(1.0, abs(first))


def _number(text: str) -> float | None:
    bare = text.strip().strip("$").strip()
    if len(bare) > _MAX or not _NUMBER.fullmatch(bare):
        return None
    number = float(bare.replace(",", ""))
    return number if math.isfinite(number) else None
