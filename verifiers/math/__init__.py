"""Math answers: extracted from a text and compared with the expected one by a ladder of rungs, math-verify the last."""

from __future__ import annotations

from sandbox_gym.verifiers.math.extract import after_thinking, choice_letter, extract_answer, last_box, plain_gold
from sandbox_gym.verifiers.math.ladder import decide
from sandbox_gym.verifiers.math.options import Decision, MathOptions
from sandbox_gym.verifiers.math.plain import plain_answer, strip_delimiters
from sandbox_gym.verifiers.math.rewrite import rewrite, rewrite_pair
from sandbox_gym.verifiers.math.task import MathTask, parse_task
from sandbox_gym.verifiers.math.verifier import MathVerifier, ask, library_service
from sandbox_gym.verifiers.math.veto import veto

__all__ = [
    "Decision",
    "MathOptions",
    "MathTask",
    "MathVerifier",
    "after_thinking",
    "ask",
    "choice_letter",
    "decide",
    "extract_answer",
    "last_box",
    "library_service",
    "parse_task",
    "plain_answer",
    "plain_gold",
    "rewrite",
    "rewrite_pair",
    "strip_delimiters",
    "veto",
]
