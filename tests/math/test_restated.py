"""Answers that give the problem back earn nothing, however spelled; what was made of the problem does."""

from __future__ import annotations

import pytest

from sandbox_gym.verifiers.math import MathTask
from tests.math.library import judged_task

UNEVALUATED = {
    r"\frac{1}{3}": (
        r"\int_0^1 x^2\,dx", r"\lim_{n\to\infty}\frac{n}{3n+1}", r"\sum_{k=1}^{\infty}\frac{1}{4^k}",
        r"\max\{\frac13, \frac14\}", "min(1/3, 1)", r"\frac{d}{dx}\frac{x}{3}", r"\prod_{i=1}^{1}\frac13",
    ),
    "6": (r"\gcd(12,18)", r"\operatorname{lcm}(2,3)", r"\begin{vmatrix}2&0\\0&3\end{vmatrix}", r"\sum_{k=1}^{3}k"),
    "2xe^{x^2}": (r"\frac{d}{dx}e^{x^2}", "d/dx e^{x^2}"),
}  # fmt: skip
COPIED = [
    (r"Compute $\dbinom{8}{4}$.", "70", (r"\binom{8}{4}", r"\binom84"), ("70", r"\frac{8!}{4!\,4!}")),
    (r"Evaluate $\log_2 8$.", "3", (r"\log_2 8", r"\log_{2}(8)"), ("3", r"\frac62")),
    ("Factor $x^2+3x+2$ completely.", "(x+1)(x+2)", ("x^2 + 3x + 2",), ("(x+2)(x+1)",)),
    ("Expand the product $(x+1)(x+2)$.", "x^2+3x+2", ("(x+1)(x+2)", r"(x+1)\cdot(x+2)"), ("2+3x+x^2",)),
    (r"Simplify $\sqrt{50}$.", r"5\sqrt{2}", (r"\sqrt{50}", "√50"), (r"\sqrt2\cdot5",)),
    ("What is 2+2?", "4", ("2+2", "2 + 2"), ("4", "4.0")),
    ("Calculate 15*23.", "345", (r"15 \times 23",), ("345",)),
    ("Write $0.75$ as a common fraction.", r"\frac{3}{4}", ("0.75",), ("3/4",)),
    ("Find the exact value of\n\\[\\sin 60^\\circ.\\]", r"\frac{\sqrt{3}}{2}", (r"\sin(60°)",), (r"\sqrt3/2",)),
    (r"What is the value of \(\frac{1}{2}+\frac13\)?", "5/6", (r"\frac12+\frac13", "1/2+1/3"), (r"\frac56",)),
    ("Simplify $x^2$.", "x^2", (), ("x^2", "x^{2}")),
    ("What is the greatest of $2^{10}$ and $3^5$?", "2^{10}", (), ("2^{10}", "1024")),
]


def _rewarded(question: str, gold: str, answer: str, response: str = "So it is $\\boxed{{{}}}$.") -> bool:
    return judged_task(MathTask(gold, question=question), response.format(answer)).equal


@pytest.mark.parametrize("gold", UNEVALUATED)
def test_what_is_not_evaluated_is_no_answer(gold: str) -> None:
    for answer in UNEVALUATED[gold]:
        assert not _rewarded("", gold, answer), answer
        assert not _rewarded("", gold, f"x = {answer}"), answer
        assert _rewarded("", gold, f"{answer} = {gold}"), answer
    for answer in UNEVALUATED[r"\frac{1}{3}"][:3]:
        assert _rewarded("", answer, answer.replace(r"\,", "")), answer


@pytest.mark.parametrize(("question", "gold", "copies", "answers"), COPIED)
@pytest.mark.parametrize("response", ["So it is $\\boxed{{{}}}$.", "The answer is ${}$."])
def test_the_questions_own_formula_is_no_answer(
    question: str, gold: str, copies: tuple[str, ...], answers: tuple[str, ...], response: str
) -> None:
    for copy in copies:
        assert not _rewarded(question, gold, copy, response), copy
    for answer in answers:
        assert _rewarded(question, gold, answer, response), answer
