"""A gold that says what its value is of (`\\det A = 5`), relations that hold both ways, words and quotes around a
value, lists in a sentence."""

from __future__ import annotations

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

ASKED = [
    *(
        "\\det A",
        "\\dim V",
        "\\deg f",
        "\\arg z",
        "\\chi^2",
        "\\|v\\|",
        "\\lVert v \\rVert",
        "[\\mathrm{H}^+]",
        "\\varphi(12)",
    ),
    *("\\lim_{x\\to 0} f(x)", "\\int_0^1 f(x)\\,dx", "\\sum_{k=1}^5 a_k", "\\max f", "\\operatorname{lcm}(a,b)"),
    *("f(g(2))", "f_x(1,2)", "\\#S"),
]
VALUES = [("5", "5", "6"), ("\\frac{3}{4}", "0.75", "\\frac{4}{3}"), ("2\\sqrt{3}", "\\sqrt{12}", "3\\sqrt{2}")]


def equal(gold: str, text: str) -> bool:
    return judged(gold, text, MathOptions()).equal


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(("value", "same", "other"), VALUES)
def test_the_value_alone(asked: str, value: str, same: str, other: str) -> None:
    assert equal(f"{asked} = {value}", f"\\boxed{{{same}}}")
    assert equal(f"{asked} = {value}", f"\\boxed{{{asked} = {same}}}")
    assert not equal(f"{asked} = {value}", f"\\boxed{{{other}}}")
    assert not equal(f"{asked} = {value}", f"\\boxed{{{asked} = {other}}}")


NAMES = [
    *(
        "\\varphi(12)",
        "\\Gamma(5)",
        "u(1,2)",
        "T(5)",
        "f^{-1}(3)",
        "\\frac{d}{dx}f(x)",
        "\\sin x",
        "y(0)",
        "\\text{lcm}(a,b)",
    ),
    *("A^T A", "\\vec u\\cdot\\vec v", "(f\\circ g)(2)", "d(P,Q)", "x \\oplus y", "x^2+y^2", "\\lfloor x \\rfloor"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("value", "same", "other"), VALUES)
def test_two_values_of_one_thing(name: str, value: str, same: str, other: str) -> None:
    assert equal(f"{name} = {value}", f"\\boxed{{{name} = {same}}}")
    assert not equal(f"{name} = {value}", f"\\boxed{{{name} = {other}}}")


@pytest.mark.parametrize(("value", "other"), [("5", "6"), ("2\\sqrt{3}", "3\\sqrt{2}")])
def test_statements_without_variables(value: str, other: str) -> None:
    assert equal(f"\\int_0^1 f(x)\\,dx = {value}", f"\\boxed{{\\int_0^1 f(t)\\,dt = {value}}}")
    assert not equal(f"\\int_0^1 f(x)\\,dx = {value}", f"\\boxed{{\\int_0^1 f(t)\\,dt = {other}}}")


@pytest.mark.parametrize("gold", ["x^2 + y^2 = 5", "\\sqrt{x} = 5", "\\log_2 x = 5", "2x = 5", "\\max = 5, \\min = 1"])
def test_an_equation_is_no_value(gold: str) -> None:
    assert not equal(gold, "\\boxed{5}")


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("AB \\parallel CD", "CD\\parallel AB", True),
        ("AB \\parallel CD", "AC\\parallel BD", False),
        ("l \\perp m", "m \\perp l", True),
        ("l \\perp m", "m \\parallel l", False),
        ("f_x = 2xy", "\\frac{\\partial f}{\\partial x} = 2xy", True),
        ("f_x = 2xy", "\\frac{\\partial f}{\\partial y} = 2xy", False),
        ("\\text{diverges}", "\\text{The series diverges}", True),
        ("\\text{diverges}", "\\text{divergent}", True),
        ("\\text{diverges}", "\\text{convergent}", False),
        ("\\text{conditionally convergent}", "\\text{convergent}", False),
        ("\\text{undefined}", "\\text{does not exist}", True),
        ("-3", "\\text{negative 3}", True),
        ("3", "\\text{minus 3}", False),
        *(("3", f"{opening}3{closing}", True) for opening, closing in ["''", "``", '""', ("``", "''")]),
    ],
)
def test_spellings(gold: str, answer: str, right: bool) -> None:
    assert equal(gold, f"\\boxed{{{answer}}}") is right


@pytest.mark.parametrize(
    ("gold", "text", "right"),
    [
        ("42", "It may be 40, 41, 42.", False),
        ("42", "I think of 40, 41, and 42", False),
        ("40, 41, 42", "The answers are 40, 41, and 42.", True),
        ("1001042", "The answer is 1,001,042", True),
        ("42", "With a = 1, b = 2, c = 39 the sum is 42", True),
    ],
)
def test_lists_in_a_sentence(gold: str, text: str, right: bool) -> None:
    assert equal(gold, text) is right
