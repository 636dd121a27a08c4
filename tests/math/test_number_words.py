"""Numbers in words, made by rule, are the numbers; what is none stays as it is."""

from __future__ import annotations

import random

import pytest

from sandbox_gym.verifiers.math import decide
from sandbox_gym.verifiers.math.expressions.number_words import in_digits

ONES = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ONES += [f"{stem}teen" for stem in ("thir", "four", "fif", "six", "seven", "eigh", "nine")]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spelled(number: int, joint: str, dash: str) -> str:
    """English words, `joint` between hundreds and what follows, `dash` between tens and ones."""
    for size, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = spelled(number % size, joint, dash)
            between = joint if size == 100 or number % size < 100 else " "
            return f"{spelled(number // size, joint, dash)} {name}" + (between + rest if rest else "")
    if number < 20:
        return ONES[number]
    return TENS[number // 10] + (dash + ONES[number % 10] if number % 10 else "")


def test_every_cardinal() -> None:
    numbers = [*range(1, 3000), *(random.Random(1).randrange(1, 10**12) for _ in range(2000))]
    for number in numbers:
        for joint, dash in ((" ", "-"), (" and ", " ")):
            words = spelled(number, joint, dash)
            assert in_digits(words) == str(number), words


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("120", r"\text{One hundred and twenty}", True),
        ("1/2", "one half", True),
        ("3/4", r"\text{three quarters}", True),
        ("3/4", "three-fourths", True),
        (r"\frac{7}{2}", "three and a half", True),
        ("1.5", "one and one half", True),
        ("24", "two dozen", True),
        ("-7", "negative seven", True),
        (r"3\text{ hours}", "three hours", True),
        (r"3\text{ hours}", "180 minutes", True),
        ("1000000", "a million", True),
        ("0", "zero", True),
        ("12", "twelve thirteen", False),
        ("25", "twenty fifth", False),
        ("3", "three to four", False),
        ("3", "three or four", False),
        ("3", "third", False),
        ("12", "one two", False),
        ("3", r"\text{three hundred}", False),
        ("2", "two thirds", False),
        ("B", "a", False),
    ],
)
def test_words_as_answers(gold: str, answer: str, right: bool) -> None:
    found = decide(gold, answer)
    assert (found is not None and found.equal) is right
