"""A value and the decimal that rounds it: the value is the answer; a decimal far off makes it a false equation."""

from __future__ import annotations

import random

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

EXACT = [
    (r"\sqrt{2}", 2**0.5),
    (r"\frac{\pi}{3}", 1.0471975512),
    (r"2\sqrt{3}+1", 4.4641016151),
    (r"e^2", 7.3890560989),
]
EXACT += [(rf"\frac{{{top}}}{{{bottom}}}", top / bottom) for top, bottom in ((1, 3), (22, 7), (-5, 6), (400, 9))]


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal


@pytest.mark.parametrize(("exact", "value"), EXACT)
@pytest.mark.parametrize("sign", ["=", r"\approx"])
@pytest.mark.parametrize("head", ["", "x = "])
def test_a_decimal_that_rounds_the_value(exact: str, value: float, sign: str, head: str) -> None:
    for places in (2, 4):
        rounded = f"{value:.{places}f}"
        for end in ("", r"\ldots") if sign == "=" else ("",):
            assert equal(exact, f"{head}{exact} {sign} {rounded}{end}"), rounded
        assert equal(rounded, f"{head}{exact} {sign} {rounded}"), rounded
    assert equal(exact, f"{head}{exact}")


@pytest.mark.parametrize(("exact", "value"), EXACT)
def test_a_decimal_of_something_else(exact: str, value: float) -> None:
    chance = random.Random(exact)
    for factor in (0.1, 10, -1, 2, 0.5, *(chance.uniform(1.5, 3) for _ in range(2))):
        other = f"{value * factor:.3f}"
        for answer in (f"{exact} = {other}", f"x = {exact} = {other}", f"{other} = {exact}"):
            assert not equal(exact, answer), answer
            assert not equal(other, answer), answer


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("0.04", r"0.04 \approx 0"),
        ("0.14", r"0.14 \approx 0.1"),
        (r"\frac{1}{16}", r"\frac{1}{16} \approx 0.1"),
        ("1234.5", r"1234.5 \approx 1.23 \times 10^3"),
        (r"45\%", r"\frac{9}{20} = 0.45 = 45\%"),
        (r"\frac{1}{3}", r"P = \frac{2}{6} = \frac{1}{3} \approx 0.333"),
        (r"1000\pi", r"1000\pi \approx 3140"),
    ],
)
def test_coarse_rounding_is_no_false_equation(gold: str, answer: str) -> None:
    assert equal(gold, answer)
