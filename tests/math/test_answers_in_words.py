"""One word or phrase in a sentence that says what it is of, and other spellings of what models write around a value."""

from __future__ import annotations

import itertools

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

WORDS = ("hyperbola", "increasing", "Tuesday", "isosceles", "red", "irrational", "strictly decreasing", "Alice")
FRAMES = ("It is {}", "it is a {}.", "It's {}", "This is {}", "The answer is {}", "Answer: {}", "So it is {}")
OF = ("The function is {}", "The triangle is {}", "the curve is a {}", "The number is {}", "The winner is {}")
DENIED: tuple[str, ...] = (
    "It is not {}",
    "It is {} or {other}",
    "It is {} and {other}",
    "It is {other}",
    "It is {} if n is even",
)
DENIED += ("The opposite is {}", "It is never {}", "It is non-{}", "{} is wrong", "The answer is not {}")


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal


@pytest.mark.parametrize("word", WORDS)
def test_what_a_sentence_says_it_is(word: str) -> None:
    gold = f"\\text{{{word}}}"
    for frame, said in itertools.product((*FRAMES, *OF, "{}"), {word, word.lower()}):
        assert equal(gold, f"\\text{{{frame.format(said)}}}"), frame
    for other in (WORDS[(WORDS.index(word) + 3) % len(WORDS)], "parabola"):
        assert not equal(gold, f"\\text{{It is {other}}}"), other
        for frame in DENIED:
            assert not equal(gold, f"\\text{{{frame.format(word, other=other)}}}"), frame


@pytest.mark.parametrize("letter", "RZNQC")
def test_sets_of_numbers_in_bold(letter: str) -> None:
    gold = f"\\mathbb{{{letter}}}"
    for answer in (f"\\mathbf{{{letter}}}", letter, f"\\mathrm{{{letter}}}", f"x \\in \\mathbf{{{letter}}}"):
        assert equal(gold, answer), answer
    assert equal(gold + r" \setminus \{0\}", f"\\mathbf{{{letter}}} \\setminus \\{{0\\}}")
    for other in set("RZNQC") - {letter}:
        for form in ("\\mathbf{{{}}}", "\\mathbb{{{}}}", "{}"):
            assert not equal(gold, form.format(other)), form
    assert not equal(gold, f"\\mathbf{{{letter}}} \\setminus \\{{0\\}}")


@pytest.mark.parametrize(
    ("gold", "same", "others"),
    [
        (
            "2^n-1",
            (
                r"a_n = 2^n-1 \text{ for } n \ge 1",
                r"2^n-1 \text{ for all } n \ge 0",
                r"2^n-1 \text{ where } n > 0",
                r"2^n-1 \text{ for all positive integers } n",
                r"2^n-1 \text{ for every natural number } n",
            ),
            (
                r"2^n-1 \text{ for } n = 3",
                r"2^n-2 \text{ for } n \ge 1",
                r"2^n-1 \text{ for all even integers } n",
                r"2^n-1 \text{ for } n \le 5",
            ),
        ),
        (
            r"7 \text{ R } 2",
            (r"7 \text{ remainder } 2", "7 R2", r"7\text{ with a remainder of }2", r"7 \text{ rem } 2"),
            (r"2 \text{ R } 7", r"7 \text{ remainder } 3", "7.2", "72"),
        ),
        (
            r"\text{no solution}",
            (r"\text{There are no such } x", r"\text{no such number exists}", r"\text{There is no such value}"),
            (r"\text{there is such an } x", r"\text{no such value is missing}", "0"),
        ),
        ("A=5, B=-2", (r"A = 5 \quad B = -2", r"A = 5 \\ B = -2", r"B=-2 \qquad A=5"), (r"A=-2 \quad B=5",)),
        (
            r"\sqrt{3}+i",
            (r"2 \text{ cis } 30^\circ", r"2\text{cis }\frac{\pi}{6}", r"2\operatorname{cis}(\pi/6)"),
            (r"2 \text{ cis } 60^\circ",),
        ),
        (
            r"\frac{3}{5}",
            (r"\frac{3}{5}\ (\text{or } 0.6)", r"0.6 \text{ or } \frac{3}{5}", r"\frac35 (\text{equivalently } 0.6)"),
            (r"\frac{3}{5} (\text{or } 0.5)", r"\frac{2}{5} (\text{or } 0.6)", r"\frac35 (\text{or } \frac25)"),
        ),
    ],
)
def test_words_around_a_value(gold: str, same: tuple[str, ...], others: tuple[str, ...]) -> None:
    for answer in same:
        assert equal(gold, answer), answer
    for answer in others:
        assert not equal(gold, answer), answer
