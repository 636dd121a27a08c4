"""Conditions that hold together, lists with dots, signs in front of a value, choices with their values, constants of a
solution: every spelling is the answer, no neighbour is."""

from __future__ import annotations

import math
import random
from itertools import pairwise, product

import pytest

from sandbox_gym.verifiers.math.options import MathOptions
from tests.math.library import judged

ENDS = {
    r"-\sqrt{7}": -math.sqrt(7), "-2": -2.0, r"-\frac{3}{2}": -1.5, r"1-\sqrt{3}": 1 - math.sqrt(3), "0": 0.0,
    r"\frac{1}{3}": 1 / 3, "1": 1.0, r"\sqrt{2}": math.sqrt(2), "2": 2.0, r"\frac{1+\sqrt{5}}{2}+1": 2.618, "3": 3.0,
    r"\pi": math.pi, "5": 5.0,
}  # fmt: skip
SIGNS = (r"\approx ", r"\approx", "≈", r"\sim ", "= ", "about ", r"\text{approximately } ", r"\therefore ", "exactly ")
VALUES = ("3.14", "-2.5", "42", r"\frac{7}{3}", r"\sqrt{2}", "0.001", "1200")
CHOICES = ("({}) {}", r"\textbf{{({})}}\ {}", "{}. {}", "{}) {}", r"\text{{({})}} {}")


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So it is $\\boxed{{{answer}}}$.", MathOptions()).equal


def spellings(cuts: list[str], low_closed: bool, high_closed: bool) -> tuple[str, ...]:
    """From the first cut to the last without those between: as a union, and as conditions of two orders."""
    low, *without, high = cuts
    first, last = ("[" if low_closed else "("), ("]" if high_closed else ")")
    pieces = [
        f"{first if one is low else '('}{one},{other}{last if other is high else ')'}" for one, other in pairwise(cuts)
    ]
    over, under = (r"\ge" if low_closed else ">"), (r"\le" if high_closed else "<")
    above, below = f"x {over} {low}", f"x {under} {high}"
    chain = f"{low} {over.replace('ge', 'le').replace('>', '<')} x {under} {high}"
    others = [f"x \\ne {cut}" for cut in without]
    return (
        r" \cup ".join(pieces),
        ", ".join((chain, *others)),
        r" \text{ and } ".join((above, below, *others)),
        ", ".join((*others, below, above)),
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_holds_together_is_one_region(seed: int) -> None:
    drawn = random.Random(seed)
    cuts = sorted(drawn.sample(sorted(ENDS), drawn.choice((2, 3, 3, 4))), key=lambda cut: ENDS[cut])
    closed = drawn.random() < 0.5, drawn.random() < 0.5
    mine = spellings(cuts, *closed)
    for gold, answer in product(mine, mine):
        assert equal(gold, answer), (gold, answer)
    others = [spellings(cuts, not closed[0], closed[1]), spellings(cuts, closed[0], not closed[1])]
    outer = [cut for cut in ENDS if ENDS[cut] > ENDS[cuts[-1]]]
    others += [spellings([*cuts[:-1], drawn.choice(outer)], *closed)] if outer else []
    others += [spellings([cuts[0], *cuts[2:]], *closed)] if len(cuts) > 2 else []
    for other in others:
        for gold, answer in product(mine, other):
            assert not equal(gold, answer), (gold, answer)


@pytest.mark.parametrize(("sign", "value"), list(product(SIGNS, VALUES)))
def test_a_sign_in_front_of_a_value_changes_nothing(sign: str, value: str) -> None:
    assert equal(value, sign + value)
    assert equal(sign + value, value)
    for other in VALUES:
        assert other == value or not equal(other, sign + value)
    assert not equal(value, f"not {value}")


@pytest.mark.parametrize("dots", [r"\ldots", r"\dots", r"\cdots", "..."])
@pytest.mark.parametrize(("start", "step", "count"), [(1, 1, 10), (0, 2, 6), (5, -1, 5), (-9, 3, 7), (100, 25, 9)])
def test_a_list_with_dots_is_what_it_stands_for(dots: str, start: int, step: int, count: int) -> None:
    members = [start + step * index for index in range(count)]
    whole, head = ", ".join(map(str, members)), ", ".join(map(str, members[:2]))
    for form in ("{}", r"\{{{}\}}"):
        gold, short = form.format(whole), form.format(f"{head}, {dots}, {members[-1]}")
        assert equal(gold, short)
        assert equal(short, gold)
        assert not equal(gold, form.format(f"{head}, {dots}, {members[-1] + step}"))
        assert not equal(gold, form.format(f"{head}, {dots}"))
        assert not equal(form.format(f"{head}, {dots}"), form.format(head))


@pytest.mark.parametrize("form", CHOICES)
@pytest.mark.parametrize("value", ["12", r"\frac{1}{2}", "x+1", "-3"])
def test_a_choice_with_its_value_is_either(form: str, value: str) -> None:
    gold = form.format("B", value)
    for answer in (value, "B", "(B)", "b", "(b)", "choice (b)", r"\text{Option B}", gold):
        assert equal(gold, answer), answer
    for answer in ("13", "C", "(c)", "a", form.format("C", value), form.format("B", "13")):
        assert not equal(gold, answer), answer


@pytest.mark.parametrize("letter", "ABCDE")
def test_a_letter_of_a_choice_may_be_small(letter: str) -> None:
    for form in ("{}", "({})", "{})", "option {}", "choice ({})", r"\text{{({})}}"):
        assert equal(letter, form.format(letter.lower()))
        assert not equal(letter, form.format("c" if letter != "C" else "d"))


@pytest.mark.parametrize(
    ("gold", "right", "wrong"),
    [
        ("y = Ce^{2x}", ("y = Ae^{2x}", "Ke^{2x}", "y=ce^{2x}"), ("y = Ae^{3x}", "y = A + e^{2x}", "y=e^{2x}")),
        ("y = C_1e^x + C_2e^{-x}", ("y = Ae^x + Be^{-x}", "y=c_1e^x+c_2e^{-x}"), ("y = Ae^x + Be^x", "y=Ae^x+Ae^{-x}")),
        (r"x(t) = C_1\cos 3t + C_2\sin 3t", (r"x(t) = A\cos 3t + B\sin 3t",), (r"x(t) = A\cos 3t + A\sin 3t",)),
        ("y = Ax + B", ("y = B + Ax",), ("y = Cx + D", "y = Bx + A")),
    ],
)
def test_the_constants_of_a_solution_have_any_names(gold: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    assert [answer for answer in right if not equal(gold, answer)] == []
    assert [answer for answer in wrong if equal(gold, answer)] == []


def test_formulas_of_substances_and_angles_of_inverse_functions() -> None:
    for one, other in ((r"\mathrm{H_2O}", "H2O"), (r"\ce{CO2}", "CO_2"), (r"\text{Ca(OH)}_2", "Ca(OH)_2")):
        assert equal(one, other)
        assert equal(other, one)
    assert not equal(r"\mathrm{H_2O}", "H_2O_2")
    assert not equal("x_2", "x2")
    for inverse, angle in ((r"\arcsin\frac12", 30), (r"\sin^{-1}\frac12", 30), (r"\arctan 1", 45), (r"\arccos 0", 90)):
        assert equal(inverse, f"{angle}^\\circ")
        assert equal(f"{angle}^\\circ", inverse)
        assert not equal(inverse, f"{angle + 15}^\\circ")
