"""Whole answers with several spellings: each equals the gold in any of them, and no neighbour does."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from sandbox_gym.verifiers.math import decide
from sandbox_gym.verifiers.math.expressions.spellings import one_spelling

SPELLINGS = {
    "\\text{No solution}": ("\\emptyset", "no solutions", "\\varnothing", "\\text{the empty set}"),
    "-\\infty": ("\\text{negative infinity}", "minus infinity", "-\\text{infinity}"),
    "\\text{9:05 a.m.}": ("9:05 AM", "9:05am", "9:05\\text{ AM}", "9:05 a.m."),
    "3 \\text{ PM}": ("3 PM", "3 p.m.", "3:00 PM", "3\\text{ p.m.}"),
    "3:4": ("3 \\text{ to } 4", "6 to 8"),
    "\\text{(B)}": ("Option B", "\\text{Choice (B)}", "(B)"),
}
NEIGHBOURS = {
    "\\text{No solution}": ("0", "\\{0\\}", "1"),
    "\\text{9:05 a.m.}": ("9:05 PM", "9:50 AM", "9:05 p.m."),
    "3 \\text{ PM}": ("3 AM", "4 PM", "3 a.m."),
    "3:4": ("4 to 3", "3 to 5"),
    "10:30": ("1:3", "10:31"),
    "\\text{(B)}": ("Option C", "Choice (A)"),
}


def pairs(table: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(gold, answer) for gold, answers in table.items() for answer in answers]


@pytest.mark.parametrize(("gold", "answer"), pairs(SPELLINGS))
def test_every_spelling_is_the_same_answer(gold: str, answer: str) -> None:
    found = decide(gold, answer)
    assert found is not None
    assert found.equal


@pytest.mark.parametrize(("gold", "answer"), pairs(NEIGHBOURS))
def test_no_neighbour_is(gold: str, answer: str) -> None:
    found = decide(gold, answer)
    assert found is None or not found.equal


def test_a_range_is_no_ratio() -> None:
    found = decide("10 \\text{ to } 20", "1 \\text{ to } 2")
    assert found is None or not found.equal


def repeating(whole: str, first: str, period: str) -> Fraction:
    return Fraction(int(whole + first + period) - int(whole + first), 10 ** len(first) * (10 ** len(period) - 1))


@pytest.mark.parametrize(
    ("whole", "first", "period"), list(product(("0", "12"), ("", "1", "04"), ("3", "18", "142857")))
)
def test_repeating_decimals(whole: str, first: str, period: str) -> None:
    value = repeating(whole, first, period)
    dotted = f"\\dot{{{period[0]}}}" + (f"{period[1:-1]}\\dot{{{period[-1]}}}" if period[1:] else "")
    spelled = (f"{whole}.{first}{dotted}", f"{whole}.{first}({period})", f"{whole}.{first}{period * 3}\\ldots")
    for answer in spelled:
        found = decide(f"\\frac{{{value.numerator}}}{{{value.denominator}}}", answer)
        assert found is not None, answer
        assert found.equal, answer
        other = decide(f"\\frac{{{value.numerator + 1}}}{{{value.denominator}}}", answer)
        assert other is None or not other.equal


@pytest.mark.parametrize(
    "text", ["3.14159...", "0.33...", "f(3)", "2.5(3+x)", "0.(3)^2", "y = 0.5(3)", "0.5 \\dots", "3 p"]
)
def test_what_repeats_nothing_stays(text: str) -> None:
    assert one_spelling(text) == text
