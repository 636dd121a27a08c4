"""Formulas of words and of substances: each word counts, in the right place."""

from __future__ import annotations

import random

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

SUBSTANCES = [
    *("\\mathrm{H_2}", "\\mathrm{O_2}", "\\text{N}_2", "\\text{CO}_2"),
    *("\\mathrm{NaCl}", "\\text{Fe}^{3+}", "\\text{Cl}^-"),
]
WORDS = ["price", "cost", "base", "height", "distance", "income", "width"]


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"$\\boxed{{{answer}}}$", MathOptions()).equal


def side(terms: list[tuple[int, str]]) -> str:
    return " + ".join(f"{count if count > 1 else ''}{name}" for count, name in terms)


@pytest.mark.parametrize("seed", range(25))
def test_reactions(seed: int) -> None:
    chance = random.Random(seed)
    names = chance.sample(SUBSTANCES, 4)
    left, right = ([(chance.randint(1, 4), name) for name in part] for part in (names[:2], names[2:]))
    gold = f"{side(left)} \\to {side(right)}"
    assert equal(gold, f"{side(left[::-1])} \\rightarrow {side(right[::-1])}")
    assert not equal(gold, f"{side(right)} \\to {side(left)}")
    (count, name), *rest = left
    assert not equal(gold, f"{side([(count + 1, name), *rest])} \\to {side(right)}")
    other = next(one for one in SUBSTANCES if one not in names)
    assert not equal(gold, f"{side([(count, other), *rest])} \\to {side(right)}")


@pytest.mark.parametrize("seed", range(25))
def test_formulas_of_words(seed: int) -> None:
    chance = random.Random(seed)
    whole, first, second, other = (f"\\text{{{word}}}" for word in chance.sample(WORDS, 4))
    gold = f"{whole} = \\frac{{1}}{{2}} {first} \\times {second}"
    assert equal(gold, f"{whole} = \\frac{{{second} \\times {first}}}{{2}}")
    assert equal(gold, f"\\frac12 \\times {first} \\times {second}")
    assert not equal(gold, f"{whole} = \\frac12 {first} + {second}")
    assert not equal(gold, f"{whole} = \\frac12 {first} \\times {other}")
    assert not equal(gold, f"{whole} = {first} \\times {second}")
    less = f"{first} - {second}"
    assert equal(less, f"-{second} + {first}")
    assert not equal(less, f"{second} - {first}")


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("5\\text{ m}/\\text{s}", "5\\text{ m/s}"),
        ("2\\text{ kg}\\cdot\\text{m}", "2\\text{ kg m}"),
        ("\\text{Area} = 12", "12"),
        ("\\text{3 red and 5 blue}", "\\text{5 blue, 3 red}"),
        ("\\text{speed} = \\frac{\\text{distance}}{\\text{time}}", "\\text{distance}/\\text{time}"),
    ],
)
def test_units_and_labels_are_no_operands(gold: str, answer: str) -> None:
    assert equal(gold, answer)


@pytest.mark.parametrize("seed", range(20))
def test_vectors_are_written_in_some_ways(seed: int) -> None:
    chance = random.Random(seed)
    letters = chance.sample("abcuvwxy", 3)
    counts = [chance.choice([-3, -2, 2, 5]) for _ in letters]
    ways = ["\\vec{{{}}}", "\\mathbf{{{}}}", "\\overrightarrow{{{}}}", "\\boldsymbol{{{}}}", "{}"]

    def combined(way: str, counts: list[int]) -> str:
        return " ".join(f"{count:+d}{way.format(letter)}" for count, letter in zip(counts, letters, strict=True))

    for mine in ways:
        for theirs in ways:
            assert equal(combined(mine, counts), combined(theirs, counts)), (mine, theirs)
            assert not equal(combined(mine, counts), combined(theirs, [-counts[0], *counts[1:]])), (mine, theirs)
            assert not equal(
                combined(mine, counts), combined(theirs, counts[::-1] if counts != counts[::-1] else [9] * 3)
            )


def test_a_letter_that_is_a_vector_and_a_number_is_two_names() -> None:
    assert equal("a\\vec{a}", "a\\vec{a}")
    for gold, answer in (("a\\vec{a}", "a^2"), ("\\vec{a}+a", "2a"), ("a^2", "a\\vec{a}"), ("\\text{A}", "\\vec{B}")):
        assert not equal(gold, answer), (gold, answer)


def test_a_units_letter_is_no_vectors() -> None:
    for gold, answer in (("\\vec{F}=5\\text{ N}", "5\\text{ N}"), ("\\vec{m}=3\\text{ m}", "m=300\\text{ cm}")):
        assert equal(gold, answer)
        assert not equal(gold, answer.replace("5", "6").replace("300", "30"))
