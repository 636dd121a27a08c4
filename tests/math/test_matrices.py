"""Products of matrices, made by rule: what stands in another order is another product."""

from __future__ import annotations

import itertools
import random

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal


FACTORS = ("A", "B^{-1}", "C^T", "(A+B)", "(I-C)^{-1}", "D^2")


@pytest.mark.parametrize("seed", range(12))
def test_factors_in_another_order(seed: int) -> None:
    rng = random.Random(seed)
    factors = rng.sample(FACTORS, 3)
    if not any(mark in "".join(factors) for mark in ("-1", "T")):
        factors[0] = "B^{-1}"
    gold = "".join(factors)
    assert equal(gold, " ".join(factors))
    assert equal(gold, f"{factors[0]}({factors[1]}{factors[2]})")
    assert equal(f"X = 2{gold}", f"{factors[0]} (2{factors[1]}) {factors[2]}")
    for other in itertools.permutations(factors):
        assert equal(gold, "".join(other)) is (list(other) == factors), other


@pytest.mark.parametrize(
    ("gold", "same", "others"),
    [
        ("B^{-1}A^{-1}", ("(AB)^{-1}", "I B^{-1} A^{-1}"), ("(BA)^{-1}", "A^{-1}B^{-1}", "AB")),
        ("(AB)^T", (r"B^{\top}A^{\top}", "B^TA^T"), ("A^TB^T", "AB", "B^TA")),
        ("AB-BA", ("-(BA-AB)", "AB - BA"), ("BA-AB", "0", "AB+BA", "2AB")),
        ("A^2+AB+BA+B^2", ("(A+B)^2",), ("A^2+2AB+B^2",)),
        ("(X^TX)^{-1}X^Ty", (r"(X^{\top} X)^{-1} X^{\top} y",), ("(XX^T)^{-1}X^Ty", "X^{-1}y", "X^Ty(X^TX)^{-1}")),
        (r"\mathbf{A}^{-1}\mathbf{B}", ("A^{-1}B",), ("BA^{-1}", "AB^{-1}")),
        ("A^{-1}B", (r"A^{-1} \cdot B", "--A^{-1}B", "{A}^{-1}B"), (r"B \cdot A^{-1}", "--BA^{-1}", "{B}{A}^{-1}")),
        (r"\frac{1}{2}(A+A^T)", (r"\frac{1}{2}A+\frac12 A^T",), ("A", r"\frac12(A-A^T)")),
    ],
)
def test_other_forms(gold: str, same: tuple[str, ...], others: tuple[str, ...]) -> None:
    assert all(equal(gold, answer) for answer in (gold, *same))
    assert [answer for answer in others if equal(gold, answer)] == []


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"\frac{PV}{T}", "PVT^{-1}"),
        ("A(B+C)", "AB+AC"),
        ("3A+2B", "2B+3A"),
        ("kA^{-1}B", "A^{-1}kB"),
        ("A^{-1}", r"\frac{1}{A}"),
        ("ML^{2}A^{-1}T^{-3}", "ML^2T^{-3}A^{-1}"),
    ],
)
def test_what_commutes(gold: str, answer: str) -> None:
    assert equal(gold, answer)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100 + "A",
        "A^{-1}" * 19,
        "((A+B)^9)^9C^{-1}",
        "(" * 20 + "AB" + ")^9" * 20,
        r"\frac{1}{0}A^{-1}B",
        "A^{-1}B+",
        "AB^{-1})",
        "A^T^T^TB",
        "0B^{-1}A",
    ],
)
def test_texts_that_are_none(text: str) -> None:
    assert not equal("A^{-1}B", text)
    assert not equal(text, "B A^{-1}")
