"""Boxes that one phrase joins are one list; boxes of a text's parts are the list that a row with several answers
wants."""

from __future__ import annotations

import random

import pytest

from sandbox_gym.verifiers.math import MathOptions, extract_answer
from sandbox_gym.verifiers.math.boxes import last_box
from tests.math.library import judged

LINKS = [
    ", ",
    "; ",
    " and ",
    " or ",
    ", or ",
    " \\text{ and } ",
    "$ and $",
    "$, $",
    "\\) or \\(",
    " \\quad ",
    ",\\ ",
    "$\n- $",
]
VALUES = ["7", "-3", "\\frac{2}{5}", "\\sqrt{11}", "2\\pi", "0.25", "x^2+1", "(1, 5)", "13"]
MADE = range(40)


def equal(gold: str, text: str) -> bool:
    return judged(gold, text, MathOptions()).equal


def made(chance: random.Random) -> tuple[list[str], str]:
    """Values, and a text that boxes them as one list."""
    values = chance.sample(VALUES, chance.randint(2, 4))
    named = chance.choice(["", "x = ", "x_{i} = "])
    text = f"{named}\\boxed{{{values[0]}}}"
    for value in values[1:]:
        text += f"{chance.choice(LINKS)}{named}\\boxed{{{value}}}"
    return values, f"Then \\boxed{{99}} is too large, so the answer is ${text}$."


@pytest.mark.parametrize("seed", MADE)
def test_a_list_of_boxes_is_a_list(seed: int) -> None:
    chance = random.Random(seed)
    values, text = made(chance)
    assert equal(", ".join(values), text)
    assert equal(", ".join(chance.sample(values, len(values))), text)
    assert not equal(", ".join([*values[:-1], "17"]), text)


@pytest.mark.parametrize("seed", MADE)
def test_several_guesses_are_no_answer(seed: int) -> None:
    values, text = made(random.Random(seed))
    assert not [value for value in values if equal(value, text)]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("\\boxed{41}. Wait, that is wrong: \\boxed{42}", "42"),
        ("\\boxed{84/2} = \\boxed{42}", "42"),
        ("$$\\boxed{41}$$\n$$\\boxed{42}$$", "42"),
        ("\\boxed{41}\n\nor\n\n\\boxed{42}", "41 \\text{ or } 42"),
        ("$\\boxed{42}$, $\\boxed{ 42 }$", "42"),
        ("$x=\\boxed{1}$ and $y=\\boxed{2}$", "x=1, y=2"),
        ("$x=\\boxed{1}$ and $\\boxed{2}$", "1, 2"),
        ("\\boxed{\\boxed{3}}", "3"),
        ("\\boxed{1}, \\boxed{2", None),
        ("\\boxed{1}, \\boxed{}", None),
    ],
)
def test_what_joins(text: str, answer: str | None) -> None:
    assert last_box(text) == answer


def test_one_value_in_several_spellings() -> None:
    assert equal("\\frac12", "$\\boxed{\\frac12}$ or $\\boxed{0.5}$")
    assert not equal("\\frac12", "$\\boxed{\\frac12}$ or $\\boxed{0.6}$")


@pytest.mark.parametrize(
    ("gold", "text", "right"),
    [
        ("1, 2", "(a) It is \\boxed{1}. (b) It is \\boxed{2}.", True),
        ("1, 2", "**Part 1.** It is \\boxed{1}.\n**Part 2.** It is \\boxed{2}.", True),
        ("2", "(a) It is \\boxed{1}. (b) It is \\boxed{2}.", True),
        ("1, 2", "(a) It is \\boxed{2}. (b) It is \\boxed{3}.", False),
        ("3, 4", "First \\boxed{3}, but no. The answer is \\boxed{4}.", False),
        ("[1, 2]", "(a) It is \\boxed{1}. (b) It is \\boxed{2}.", False),
    ],
)
def test_boxes_of_parts(gold: str, text: str, right: bool) -> None:
    assert equal(gold, text) is right


def test_many_boxes_take_linear_time() -> None:
    text = "\\boxed{1}, " * 20_000 + "\\boxed{2}"
    assert extract_answer(text) is not None
    assert extract_answer(text, MathOptions(last_box="all")) is not None
    assert not equal("1, 2", text)
