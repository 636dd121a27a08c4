"""Sets of sets, and integrals that differ by a constant: every spelling is the answer, no neighbour is."""

from __future__ import annotations

import random
from itertools import product

import pytest

from sandbox_gym.verifiers.math.options import MathOptions
from tests.math.library import judged

Nested = int | frozenset["Nested"]

INTEGRALS = {
    "x": ("x+C", "C+x", "x+7+C", "7+x+C"),
    "square": (r"\frac{(x+1)^2}{2}+C", r"\frac{x^2}{2}+x+C", r"\frac{1}{2}x(x+2)+C"),
    "double angle": (r"\frac{1}{2}\sin^2x+C", r"-\frac{1}{4}\cos 2x+C", r"C-\frac{\cos^2x}{2}"),
    "logarithm": (r"\ln|x|+C", r"\ln|3x|+C"),
    "secant": (r"\tan^2 x+C", r"\sec^2 x+C"),
    "sine": (r"\arcsin x+C", r"-\arccos x+C"),
}


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So it is $\\boxed{{{answer}}}$.", MathOptions()).equal


def nested(choice: random.Random, depth: int) -> Nested:
    if depth == 0 or choice.random() < 0.4:
        return choice.randrange(1, 4)
    return frozenset(nested(choice, depth - 1) for _ in range(choice.randrange(1, 4)))


def written(value: Nested, choice: random.Random) -> str:
    if isinstance(value, int):
        return str(value)
    members = [written(member, choice) for member in value]
    choice.shuffle(members)
    return rf"\{{{', '.join(members)}\}}"


@pytest.mark.parametrize("seed", range(4))
def test_sets_of_sets(seed: int) -> None:
    choice = random.Random(seed)
    sets = [frozenset(nested(choice, 2) for _ in range(choice.randrange(1, 4))) for _ in range(14)]
    for mine, theirs in product(sets, sets):
        gold, answer = written(mine, choice), written(theirs, choice)
        assert equal(gold, answer) == (mine == theirs), (gold, answer)


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals_that_differ_by_a_constant(name: str) -> None:
    for gold, answer in product(INTEGRALS[name], INTEGRALS[name]):
        assert equal(gold, answer), (gold, answer)
        assert not equal(gold, answer.replace("+C", "").replace("+c", "").replace("C+", "").replace("C-", "-"))
    for other in set(INTEGRALS) - {name}:
        for gold, answer in product(INTEGRALS[name], INTEGRALS[other]):
            assert not equal(gold, answer), (gold, answer)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [("a+C", "2a+C"), ("a+C", "a+2C"), ("x+C", "y+C"), ("x+y+C", "x+C"), ("xC", "xC+C"), ("5+C", "6+C")],
)
def test_what_is_no_constant_of_integration(gold: str, answer: str) -> None:
    assert not equal(gold, answer)
