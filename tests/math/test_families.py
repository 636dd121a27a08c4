"""Solutions that repeat with a period, in families made at random and written in other ways; numbered parts and
statements; words before a noun; what stands behind a function's constants."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal


def times(number: Fraction, unit: str) -> str:
    return f"\\frac{{{number.numerator}{unit}}}{{{number.denominator}}}"


def written(families: list[tuple[Fraction, Fraction]], unit: str, letter: str) -> str:
    """`x = a + kp` for each first solution a and period p."""
    parts = [f"{times(first, unit)}+{times(period, letter + unit)}" for first, period in families]
    return "\\text{ or }".join(f"x={part}" for part in parts)


def in_other_words(rng: random.Random, families: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """The same solutions: from others of them, with the sign turned, each family in two or three of a longer period."""
    found: list[tuple[Fraction, Fraction]] = []
    for first, period in families:
        many = rng.choice((1, 1, 2, 3))
        for turn in range(many):
            start = first + (turn + many * rng.randrange(-3, 4)) * period
            found.append((start, rng.choice((1, -1)) * many * period))
    rng.shuffle(found)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_same_solutions_from_others_of_them(seed: int) -> None:
    rng = random.Random(seed)
    unit = rng.choice(("\\pi", "\\pi", ""))
    period = Fraction(rng.choice((1, 2, 3)), rng.choice((1, 2, 3, 4)))
    firsts = rng.sample([period * Fraction(part, 12) for part in range(12)], rng.choice((1, 2)))
    families = [(first, period) for first in firsts]
    gold = f"{written(families, unit, 'k')}, k\\in\\mathbb{{Z}}"
    other = in_other_words(rng, families)
    end = rng.choice((", n\\in\\mathbb{Z}", "\\text{ where }n\\text{ is an integer}", ""))
    assert equal(gold, written(other, unit, "n") + end)
    assert equal(f"{written(other, unit, 'n')}, n\\in\\mathbb{{Z}}", written(families, unit, "k"))

    shifted = [(first + period / 7, step) for first, step in families]
    assert not equal(gold, written(shifted, unit, "n") + end)
    assert not equal(gold, written([(first, 2 * step) for first, step in families], unit, "n") + end)
    assert not equal(gold, written([*other, (firsts[0] + period / 5, period)], unit, "n") + end)


@pytest.mark.parametrize("brackets", ["[]", "()", "(]"])
@pytest.mark.parametrize("seed", range(10))
def test_intervals_and_points_with_a_period(seed: int, brackets: str) -> None:
    rng = random.Random(seed)
    period = Fraction(rng.choice((1, 2)), rng.choice((1, 2, 3)))
    first, width = (period * Fraction(rng.randrange(1, 11), 12) for _ in range(2))

    def shown(start: Fraction, end: Fraction, step: Fraction, ends: str = brackets) -> str:
        low, high = (times(one, "\\pi") + "+" + times(step, "k\\pi") for one in (start, end))
        return f"{ends[0]}{low},{high}{ends[1]}, k\\in\\mathbb{{Z}}"

    gold = shown(first, first + width, period)
    later = first + rng.choice((-2, -1, 1, 3)) * period
    assert equal(gold, shown(later, later + width, period))
    assert not equal(gold, shown(later, later + width, 2 * period))
    assert not equal(gold, shown(later, later + width + period / 12, period))
    assert not equal(gold, shown(later + period / 12, later + width + period / 12, period))
    assert not equal(gold, shown(later, later + width, period, "[)"))


@pytest.mark.parametrize(
    ("gold", "wrong"),
    [
        ("(k,2k),k\\in\\mathbb{Z}", "(k+1,2k+1),k\\in\\mathbb{Z}"),
        ("(k\\pi,0),k\\in\\mathbb{Z}", "(k\\pi,1),k\\in\\mathbb{Z}"),
        ("x=k\\pi, k\\in\\mathbb{N}", "x=-k\\pi"),
        ("x=3k+1, y=2k-1, k\\in\\mathbb{Z}", "x=3k-2, y=2k-3"),
        ("x=1+k, y=2+k, k\\in\\mathbb{Z}", "x=2+k, y=1+k, k\\in\\mathbb{Z}"),
        ("k\\pi", "-k\\pi"),
        ("x=k\\pi, k\\in\\mathbb{Z}", "x=k\\pi, k\\ge 0"),
        ("x=\\sqrt2+k\\pi, k\\in\\mathbb{Z}", "x=\\sqrt3+k\\pi"),
    ],
)
def test_other_solutions(gold: str, wrong: str) -> None:
    assert not equal(gold, wrong)


SENTENCES = [
    "Alice beats Bob", "necessary but not sufficient", "red then blue", "A before B", "x divides y", "if p then q",
    "dog bites man", "Team 1 beats Team 2", "Alice and Bob beat Carol", "more boys than girls", "up up down",
]  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES)
def test_words_in_another_order_say_something_else(sentence: str) -> None:
    words = sentence.split()
    for first, second in itertools.combinations(range(len(words)), 2):
        swapped = [*words]
        swapped[first], swapped[second] = swapped[second], swapped[first]
        if "and" not in words or {first, second} & {0, 2} != {0, 2}:
            same = swapped == words
            for around in ("\\text{{{}}}", "{}"):
                assert equal(around.format(sentence), around.format(" ".join(swapped))) == same
    assert equal(f"\\text{{{sentence}}}", f"\\text{{ {sentence} }}")


@pytest.mark.parametrize("sentence", ["x divides y", "P_1 beats P_2", "a is greater than b"])
def test_letters_around_a_word_in_another_order(sentence: str) -> None:
    first, *words, last = sentence.split()
    gold, wrong = (f"{one}\\text{{ {' '.join(words)} }}{other}" for one, other in ((first, last), (last, first)))
    assert equal(gold, gold.replace(" }", "}"))
    assert not equal(gold, wrong)


@pytest.mark.parametrize(
    ("gold", "right", "wrong"),
    [
        ("①②④", "①、②、④", "①②③④"),
        ("①②④", "④②①", "①④"),
        ("③④", "③和④", "③"),
        ("(1)\\ 5;\\ (2)\\ 7", "5, 7", "7, 5"),
        ("\\text{(1) }5\\quad\\text{(2) }7", "(1) 5 (2) 7", "(1) 7 (2) 5"),
        ("\\frac{5}{36}", "5\\text{ out of }36", "6\\text{ out of }36"),
        ("0.75", "3 \\text{ in } 4", "3 \\text{ in}"),
        ("\\text{all odd integers}", "\\text{odd integers}", "\\text{even integers}"),
        ("\\text{Tom and Ann}", "\\text{Ann and Tom}", "\\text{Ann and Bob}"),
        ("\\text{3 wins, 2 losses}", "\\text{2 losses, 3 wins}", "\\text{2 wins 3 losses}"),
        ("\\text{row 3, column 5}", "\\text{column 5, row 3}", "\\text{row 5, column 3}"),
        ("\\vec{a}\\cdot\\vec{b}", "\\vec a \\cdot \\vec b", "\\vec{a}\\times\\vec{b}"),
        (
            "\\nabla\\times\\mathbf{B}=\\mu_0\\mathbf J",
            "\\nabla \\times \\mathbf{B} = \\mu_0 \\mathbf{J}",
            "\\nabla\\cdot\\mathbf{B}=\\mu_0\\mathbf J",
        ),
        ("\\text{symmetric}", "\\text{Symmetric}", "\\text{asymmetric}"),
        ("(0,\\infty)", "\\mathbb{R}^+", "\\mathbb{R}_{\\ge 0}"),
        ("x<0", "\\text{all negative real numbers}", "\\mathbb{R}"),
        ("[0,\\infty)", "x\\in\\mathbb{R}_{\\ge0}", "\\mathbb{R}^2"),
        ("(2,3]", "2<x\\le3", "2,3"),
        ("f(x)=ax+b, a,b\\in\\mathbb{R}", "f(x)=ax+b", "f(x)=ax"),
        ("f(x)=x, a,b\\in\\mathbb{R}", "f(x)=x", "f(x)=2x"),
        ("\\frac{n(n-1)(n-2)}{6}", "\\frac{n!}{3!(n-3)!}", "\\frac{n!}{3!(n-2)!}"),
        ("\\binom{n-1}{k-1}", "\\frac{(n-1)!}{(k-1)!(n-k)!}", "\\frac{n!}{(k-1)!(n-k)!}"),
        ("\\frac{1}{n+1}\\binom{2n}{n}", "\\binom{2n}{n}-\\binom{2n}{n+1}", "\\binom{2n}{n}-\\binom{2n}{n+2}"),
    ],
)
def test_what_else_is_written_in_two_ways(gold: str, right: str, wrong: str) -> None:
    assert equal(gold, right)
    assert equal(right, gold)
    assert not equal(gold, wrong)
