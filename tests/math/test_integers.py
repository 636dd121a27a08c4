"""Sets of whole numbers made at random and said in several ways; sets that differ are never equal."""

from __future__ import annotations

import random

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal


def phrasings(modulus: int, residue: int, positive: bool) -> list[str]:
    """What is `residue` modulo `modulus`, of all or of the positive whole numbers."""
    first = residue or modulus
    step = f"{modulus}k" + (f"+{residue}" if residue else "")
    back = f"{modulus}k" + (f"-{modulus - residue}" if residue else "")
    if positive:
        found = [
            f"n={step} \\text{{ where }} k \\ge {0 if residue else 1}",
            f"n={back}, k \\in \\mathbb{{Z}}^+",
            f"n={back} \\text{{ for a positive integer }} k" if residue else f"n={modulus}k, k\\ge 1",
            f"\\text{{all positive integers }} n \\equiv {residue} \\pmod {{{modulus}}}",
            f"\\text{{natural numbers }} n \\ge {first} \\text{{, }} n \\equiv {residue - modulus} \\pmod {modulus}",
        ]
    else:
        found = [
            f"n={step} \\text{{ for some integer }} k",
            f"n={back}, k \\in \\mathbb{{Z}}",
            f"\\{{{step} : k \\in \\mathbb{{Z}}\\}}",
            f"\\text{{all integers }} n \\equiv {residue} \\pmod {{{modulus}}}",
        ]
    whole = "positive integers" if positive else "integers"
    if residue == 0:
        found += [
            f"\\text{{all {whole} divisible by }} {modulus}",
            f"\\text{{{whole} }} n \\text{{ with }} {modulus} \\mid n",
        ]
    if modulus == 2:
        found += [
            f"\\text{{all {('even', 'odd')[residue]} {whole}}}",
            f"\\text{{the {('even', 'odd')[residue]} {whole}}}",
        ]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_same_numbers_in_other_words(seed: int) -> None:
    rng = random.Random(seed)
    modulus = rng.choice((2, 2, 3, 4, 5, 6, 12))
    residue, positive = rng.randrange(modulus), rng.random() < 0.5
    mine, theirs = (rng.choice(phrasings(modulus, residue, positive)) for _ in range(2))
    said = rng.choice([text for text in phrasings(modulus, residue, positive) if "text" in text])
    assert equal(said, mine), (said, mine)
    assert equal(mine, said), (mine, said)
    for other in (
        *phrasings(modulus, (residue + rng.randrange(1, modulus)) % modulus, positive),
        *phrasings(modulus + 1, residue, positive),
        *phrasings(2 * modulus, residue, positive),
    ):
        assert not equal(said, other), (said, other)
        assert not equal(theirs, other), (theirs, other)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_and_exceptions(seed: int) -> None:
    rng = random.Random(seed)
    least, without = rng.randrange(2, 30), rng.randrange(31, 60)
    said = f"\\text{{all integers }} n \\ge {least} \\text{{ except }} {without}"
    for text in (
        f"n \\ge {least}, n \\ne {without}",
        f"n > {least - 1} \\text{{ but }} n \\ne {without}".replace("but", "and"),
        f"\\text{{all positive integers greater than }} {least - 1} \\text{{ other than }} {without}",
        f"\\text{{every integer at least }} {least} \\text{{ except for }} n = {without}",
    ):
        assert equal(said, text), text
    for text in (
        f"n \\ge {least}",
        f"n > {least}, n \\ne {without}",
        f"\\text{{all integers }} n \\ge {least} \\text{{ except }} {without + 1}",
        f"\\text{{all integers }} n \\ge {least} \\text{{ except }} {without} \\text{{ and }} {without + 2}",
        f"\\text{{all odd integers }} n \\ge {least} \\text{{ except }} {without}",
        f"\\text{{all integers }} n \\le {least} \\text{{ except }} {without}",
        f"\\text{{all real }} n \\ge {least} \\text{{ except }} {without}",
    ):
        assert not equal(said, text), text


@pytest.mark.parametrize(
    ("gold", "answer", "same"),
    [
        (r"\text{all odd } n", r"\text{all odd positive integers}", True),  # of what kind they are is the question's
        (r"\text{all odd positive integers}", r"\text{all odd integers}", False),
        (r"\text{positive multiples of } 3", r"n = 3k \text{ where } k \ge 1", True),
        (r"\text{positive multiples of } 3", r"n = 3k \text{ where } k \ge 2", False),
        (r"\text{even integers}", r"n = 2k, k \in \mathbb{Z}^+", False),
        (r"n = 2k - 1, k \in \mathbb{Z}", r"n = 2k - 1, k \in \mathbb{Z}^+", False),
        (r"x = 2k\pi, k \in \mathbb{Z}", r"x = 2k\pi, k \in \mathbb{Z}^+", False),
        (r"\mathbb{Z}^+", r"\text{all positive integers}", True),
        (r"\mathbb{Z}", r"\text{all positive integers}", False),
        (r"\text{all positive integers}", r"\text{all positive real numbers}", False),
        (r"\text{all positive integers}", r"x \ge 1", False),
        (r"\text{all positive integers}", r"n \ge 1", True),
        (r"\text{all positive integers}", r"n \ge 0", False),
        (r"\text{all nonnegative integers}", r"\text{all positive integers}", False),
        (r"\text{all positive integers}", r"\text{all nonnegative integers}", False),
        (r"\text{all nonnegative integers}", r"n \ge 0", True),
        (r"\text{all even positive integers}", r"n = 2k, k \ge 0", False),
        (r"\text{all odd positive integers}", r"\text{all odd nonnegative integers}", True),
        (r"\mathbb{N}", r"\text{all nonnegative integers}", True),  # from 0 or from 1, as it is written
        (r"\text{all primes}", r"\text{prime numbers}", True),
        (r"\text{all primes}", r"\text{all odd primes}", False),
        (r"\text{all } n \text{ not divisible by } 3", r"n \equiv 1, 2 \pmod 3", True),
        (r"\text{all } n \text{ not divisible by } 3", r"3 \mid n", False),
        (r"n = 2k+1", r"n = 2k-1", False),  # of a given k
        (r"n = 3k", r"n = 3k + 3", False),
        (r"\text{even } n", r"n = 2n", False),
    ],
)
def test_what_is_said_and_what_is_not(gold: str, answer: str, same: bool) -> None:
    assert equal(gold, answer) is same


def test_long_and_strange_texts_are_nothing() -> None:
    for text in (r"\text{multiples of } 0", r"\text{multiples of } 999999", r"n \equiv 1 \pmod 0", "n=" + "2k+1" * 90):
        assert not equal(r"\text{all odd integers}", text)
        assert not equal(text + r"\text{ integers}", r"\text{all odd integers}")
