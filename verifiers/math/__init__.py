"""Math answers: extracted from a text and compared with the expected one by a ladder of rungs, math-verify the last."""

from __future__ import annotations

from sandbox_gym.verifiers.math.boxes import last_box
from sandbox_gym.verifiers.math.extract import after_thinking, choice_letter, extract_answer, plain_gold
from sandbox_gym.verifiers.math.ladder import decide
from sandbox_gym.verifiers.math.options import MathOptions
from sandbox_gym.verifiers.math.plain import strip_delimiters
from sandbox_gym.verifiers.math.rewrite import rewrite, rewrite_pair
from sandbox_gym.verifiers.math.task import MathTask, parse_task
from sandbox_gym.verifiers.math.verifier import MathVerifier, ask
from sandbox_gym.verifiers.math.veto import veto
