"""Yes and no with a reason, winners, that there is none, and sentences with other small words."""

from __future__ import annotations

import itertools

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal


def text(words: str) -> str:
    return f"\\text{{{words}}}"


REASONS = ("it is possible", "by the mean value theorem", "such a function exists", "it is not rational")
DOUBTS = (
    "but only sometimes",
    "if n is even",
    "unless n is odd",
    "or perhaps not",
    "yes",
    "no",
    "except for 2",
    "depending on n",
)


@pytest.mark.parametrize(("word", "other"), [("Yes", "No"), ("No", "Yes"), ("True", "False"), ("False", "True")])
def test_a_word_with_its_reason(word: str, other: str) -> None:
    for gold, reason, sign in itertools.product((word, word.lower()), REASONS, (", ", ". ", ": ")):
        assert equal(text(gold), text(word + sign + reason))
        assert not equal(text(gold), text(other + sign + reason))
    for doubt in DOUBTS:
        if doubt != word.lower():
            assert not equal(text(word), text(f"{word}, {doubt}")), doubt


@pytest.mark.parametrize(
    ("winner", "loser", "same"),
    [
        ("Alice", "Bob", ("Alice wins", "Alice has a winning strategy", "Alice will win", "alice")),
        ("the second player", "the first player", ("second player", "Second", "The second player can always win")),
        ("Player B", "Player A", ("Player B wins", "Player B can force a win")),
    ],
)
def test_who_wins(winner: str, loser: str, same: tuple[str, ...]) -> None:
    names = [winner, f"{winner} wins", *same]
    for mine, theirs in itertools.product(names, names):
        assert equal(text(mine), text(theirs)), (mine, theirs)
    for mine, end in itertools.product(names, ("", " wins", " has a winning strategy", " can always win")):
        assert not equal(text(mine), text(loser + end))
    if winner == "Player B":
        assert equal(text(winner), "B")
        assert not equal(text(winner), "A")
    for end in (" loses", " wins if n is even", " does not win", " never wins", f" and {loser}", f" or {loser}"):
        assert not equal(text(winner), text(winner + end)), end


def test_there_is_none() -> None:
    for gold, answer in itertools.product(
        ("There are no such integers", "No such integers exist"), ("no such integers", "there exist no such integers")
    ):
        assert equal(text(gold), text(answer))
    assert not equal(text("There are no such integers"), text("there are such integers"))
    assert not equal(text("no maximum exists"), text("no minimum exists"))
    assert not equal(text("no positive integers"), text("no real integers"))


@pytest.mark.parametrize(
    ("gold", "same", "others"),
    [
        (
            r"\text{a circle of radius } 2",
            (r"\text{circle with radius } 2", r"\text{the circle having radius } 2"),
            (
                r"\text{circle with radius } 3",
                r"\text{circle with diameter } 2",
                r"\text{a sphere of radius } 2",
            ),
        ),
        (
            r"\text{The first player wins if } n \text{ is even}",
            (r"\text{first player wins when } n \text{ is even}",),
            (
                r"\text{first player wins when } n \text{ is odd}",
                r"\text{second player wins when } n \text{ is even}",
                r"\text{first player}",
            ),
        ),
        (
            r"\text{Plan A is cheaper}",
            (r"\text{plan A is cheaper}",),
            (r"\text{Plan B is cheaper}", r"\text{Plan is cheaper}"),
        ),
        (r"\text{circle of radius } r", (r"\text{a circle with radius } r",), (r"\text{a circle with radius } R",)),
        (r"\text{vitamin A}", (r"\text{Vitamin A}",), (r"\text{vitamin}", r"\text{vitamin B}")),
        (r"\text{a right triangle}", (r"\text{right-angled triangle}",), (r"\text{isosceles right triangle}",)),
    ],
)
def test_small_words(gold: str, same: tuple[str, ...], others: tuple[str, ...]) -> None:
    for answer in same:
        assert equal(gold, answer), answer
    for answer in others:
        assert not equal(gold, answer), answer
