"""An answer that joins its value to another one by words answers nothing, whatever the values and the words are."""

from __future__ import annotations

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

VALUES = (("\\frac12", "\\frac13"), ("\\sqrt2", "\\sqrt3"), ("\\{1,2\\}", "\\{1,3\\}"), ("2\\pi", "3\\pi"))
HEDGES = (
    "{} \\text{{ possibly }} {}", "{} \\text{{ vs }} {}", "{} \\text{{ alternatively }} {}", "{} \\text{{ hoặc }} {}",
    "{}\\text{{, or rather }}{}", "{}\\text{{ или }}{}", "{} \\approx {}",
)  # fmt: skip


@pytest.mark.parametrize("hedge", HEDGES)
@pytest.mark.parametrize(("gold", "other"), VALUES)
def test_two_values_are_no_answer(gold: str, other: str, hedge: str) -> None:
    for pair in ((gold, other), (other, gold)):
        answer = hedge.format(*pair)
        assert not judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal, answer


@pytest.mark.parametrize(
    "answer",
    ["\\text{not }{}", "\\neg {}", "{}\\text{ or any number}", "{} \\text{ (or else)}"],
)
@pytest.mark.parametrize("gold", [pair[0] for pair in VALUES])
def test_a_denied_value_is_no_answer(gold: str, answer: str) -> None:
    given = answer.replace("{}", gold)
    assert not judged(gold, f"So \\boxed{{{given}}}.", MathOptions()).equal, given


RIGHT = (
    ("3:4", "3\\text{ to }4"), ("1,2", "1\\text{ and }2"),
    ("1,2", "1\\text{ or }2"), ("2\\pi", "2\\pi\\text{ radians}"),
    ("\\frac12", "\\frac12\\text{ miles per hour}"),
    ("x=2", "x=2\\text{ (double root)}"), ("\\frac13", "\\frac13 \\approx 0.33"),
)  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), RIGHT)
def test_words_that_belong_to_a_value_cost_nothing(gold: str, answer: str) -> None:
    assert judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal
