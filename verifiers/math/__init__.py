"""Math answers: extraction and the pure part of the ladder that says whether an answer is the gold one."""

from __future__ import annotations

from sandbox_gym.verifiers.math.extract import (
    choice_letter,
    extract_answer,
    last_box,
    plain_answer,
    plain_gold,
    strip_delimiters,
)
from sandbox_gym.verifiers.math.ladder import decide
from sandbox_gym.verifiers.math.options import Decision, MathOptions
from sandbox_gym.verifiers.math.rewrite import rewrite, rewrite_pair
from sandbox_gym.verifiers.math.veto import veto

__all__ = [
    "Decision",
    "MathOptions",
    "choice_letter",
    "decide",
    "extract_answer",
    "last_box",
    "plain_answer",
    "plain_gold",
    "rewrite",
    "rewrite_pair",
    "strip_delimiters",
    "veto",
]
