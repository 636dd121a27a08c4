"""Letters of both cases in one formula, which math-verify reads in lower case; powers and squares in words; angles,
sequences and points of a line under other names."""

from __future__ import annotations

import itertools
import random

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

FORMULAS = (
    ("{0}-{1}", "-{1}+{0}", ("{1}-{0}", "0", "2{0}")),
    ("\\frac{{{0}}}{{{1}}}", "{0}/{1}", ("\\frac{{{1}}}{{{0}}}", "1", "{0}")),
    ("\\pi({0}^2-{1}^2)", "\\pi({0}-{1})({0}+{1})", ("0", "\\pi({1}^2-{0}^2)", "\\pi {0}^2")),
    ("\\binom{{{0}}}{{{1}}}", "\\binom{{{0}}}{{{0}-{1}}}", ("\\binom{{{1}}}{{{0}}}", "1")),
    ("{0}\\cos({1}t)", "\\cos({1}t){0}", ("{1}\\cos({0}t)", "{0}\\cos({0}t)")),
    ("\\sqrt{{{0}({0}-2{1})}}", "\\sqrt{{{0}^2-2{0}{1}}}", ("\\sqrt{{{1}({1}-2{0})}}", "{0}")),
)


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal


@pytest.mark.parametrize(("gold", "same", "others"), FORMULAS)
def test_a_letter_and_its_capital(gold: str, same: str, others: tuple[str, ...]) -> None:
    for letter, index in itertools.product(random.Random(gold).sample("RrMNAEPQ".upper(), 3), ("", "_1")):
        names = (letter + index, letter.lower() + index) if letter != "E" else ("E" + index, "r" + index)
        assert equal(gold.format(*names), same.format(*names)), names
        for other in others:
            assert not equal(gold.format(*names), other.format(*names)), (names, other)
    assert equal("E e^{-E/(kT)}", "e^{-\\frac{E}{kT}} E")
    assert not equal("E e^{-t}", "e^{1-t}")


@pytest.mark.parametrize(
    ("gold", "same", "others"),
    [
        (
            r"\text{powers of }2",
            ("2^k", r"n=2^k, k\ge 0", r"\text{all powers of two}"),
            (r"n=3^k", "n=k^2", r"2^k, k\ge 1"),
        ),
        (r"\text{perfect squares}", ("n=k^2", r"\text{all perfect squares}"), (r"n=2^k", r"n=k^3", r"n=k")),
        (r"\text{all perfect cubes}", ("n=k^3",), ("n=3^k", "n=k^2")),
        (r"n=2^k", ("2^k",), ("n=2^m", "n=k^2")),
        (
            r"\angle BAC = 60^\circ",
            (r"60^\circ", r"\angle A = 60^\circ"),
            (r"\angle ABC = 60^\circ", r"\angle B=60^\circ"),
        ),
        (r"a_n = 2n-1", (r"a_k = 2k-1", "2n-1"), (r"a_k = 2n-1", r"b_k = 2k-1", r"a_k=2k+1")),
        (
            r"(x,y,z)=(t,t,t), t\in\mathbb{R}",
            ("(a,a,a)", r"(k,k,k), k\in\mathbb{R}"),
            ("(a,a,b)", "(t,t,-t)", "(1,1,1)"),
        ),
    ],
)
def test_under_other_names(gold: str, same: tuple[str, ...], others: tuple[str, ...]) -> None:
    for answer in same:
        assert equal(gold, answer), answer
    for answer in others:
        assert not equal(gold, answer), answer
