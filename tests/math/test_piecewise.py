"""Piecewise functions, made by rule: other spellings of the conditions, `otherwise`, rows in another order or in a
sentence are the same function; values or conditions that are swapped or others are not."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

Rows = Sequence[tuple[str, str]]
PARTS: tuple[tuple[str, ...], ...] = (
    ("x < 1", r"x \ge 1"),
    (r"x \le -2", r"-2 < x < 3", r"x \ge 3"),
    ("x < 0", "x = 0", "x > 0"),
    (r"x \ne 4", "x = 4"),
    (r"0 \le x \le 1", r"x < 0 \text{ or } x > 1"),
    (r"n \text{ is even}", r"n \text{ is odd}"),
    ("n = 1", r"n \ge 2"),
    ("n = 0", "n = 1", "n > 1"),
)
VALUES = ("2", "-x", "x^2+1", r"\frac{1}{3}")
LEADS = (r"\text{if } ", r"\text{for }", "")
RESTS = (r"\text{otherwise}", r"\text{else}", r"\text{in all other cases}.")


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal


def cases(rows: Rows, sign: str = "", end: str = "") -> str:
    body = "\\\\ ".join(f"{value}{sign} & {condition}{end}" for value, condition in rows)
    return f"\\begin{{cases}} {body} \\end{{cases}}"


def spellings(rows: Rows) -> list[str]:
    found = [cases([(value, lead + condition) for value, condition in rows], ",", ",") for lead in LEADS]
    found += [cases(rows[::-1]), f"f(x) = {cases(rows)}", cases([(value, f"({part})") for value, part in rows])]
    found.append(", ".join(f"{value} \\text{{ if }} {condition}" for value, condition in rows))
    found += [cases([*rows[:-1], (rows[-1][0], rest)]) for rest in RESTS]
    found.append(cases([*rows[1:], (rows[0][0], RESTS[0])]))
    return found


@pytest.mark.parametrize("parts", PARTS)
def test_spellings_of_one_function(parts: tuple[str, ...]) -> None:
    rows = list(zip(random.Random(str(parts)).sample(VALUES, len(parts)), parts, strict=True))
    for answer in spellings(rows):
        assert equal(cases(rows), answer), answer
    for gold in (cases([*rows[:-1], (rows[-1][0], RESTS[0])]), cases([(value, f"({part})") for value, part in rows])):
        assert equal(gold, cases(rows)), gold


@pytest.mark.parametrize("parts", PARTS)
def test_other_functions(parts: tuple[str, ...]) -> None:
    values = random.Random(str(parts)).sample(VALUES, len(parts))
    rows = list(zip(values, parts, strict=True))
    for order in itertools.permutations(values):
        if list(order) != values:
            for answer in spellings(list(zip(order, parts, strict=True)))[:: 1 if len(values) < 3 else 3]:
                assert not equal(cases(rows), answer), answer
    for answer in spellings([("x^3", parts[0]), *rows[1:]])[::2]:
        assert not equal(cases(rows), answer), answer
    assert not equal(cases(rows), values[0])


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (("x < 0", "x > 0"), ("x < 0", r"\text{otherwise}")),  # 0 is left open
        (("x < 0", r"x \ge 0"), (r"x \le 0", r"\text{otherwise}")),
        (("x < 0", r"x \ge 1"), ("x < 0", r"\text{otherwise}")),
        (("x < 2", r"x \ge 1"), ("x < 2", r"\text{otherwise}")),
        (("n = 1", r"n \ge 3"), ("n = 1", r"\text{otherwise}")),
        (("x = 1", r"x \ge 2"), ("x = 1", r"\text{otherwise}")),
        ((r"n \text{ even}", r"n \text{ odd}"), (r"m \text{ even}", r"\text{otherwise}")),
        ((r"n \text{ even}", r"n \text{ prime}"), (r"n \text{ even}", r"\text{otherwise}")),
    ],
)
def test_what_otherwise_does_not_stand_for(gold: tuple[str, str], answer: tuple[str, str]) -> None:
    mine, theirs = (cases(list(zip(("2", "5"), each, strict=True))) for each in (gold, answer))
    assert not equal(mine, theirs)


def test_rows_of_one_value_are_one_otherwise() -> None:
    gold = cases([("1", r"0 \le x \le 1"), ("0", RESTS[0])])
    assert equal(gold, cases([("0", "x < 0"), ("1", r"0 \le x \le 1"), ("0", "x > 1")]))
    assert not equal(gold, cases([("0", "x < 0"), ("1", r"0 \le x \le 1"), ("2", "x > 1")]))
    assert not equal(gold, cases([("0", "x < 0"), ("1", r"0 \le x \le 2"), ("0", "x > 2")]))
