"""Checks judged by the values of their calls end as Python's own run of them, for generated checks and answers."""

from __future__ import annotations

import json
import random
from collections import Counter, OrderedDict, deque, namedtuple
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest

from sandbox_gym.contract import Outcome, Status, TestStatus
from sandbox_gym.guest.python import calls
from sandbox_gym.verifiers.coding.functions.plain_asserts import plain_asserts
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.judging.asserted import judge_asserted

TEMPLATES = (
    "candidate({a}) == {v}",
    "{v} == candidate({a})",
    "candidate({a}) != {w}",
    "candidate({a}) is {c}",
    "candidate({a}) is not {c}",
    "not candidate({a})",
    "candidate({a})",
    "candidate({a}) == {v} and candidate({b}) != {w}",
    "candidate({a}) == {w} or candidate({b}) == {v}",
    "abs(candidate({a}) - {n}) < 1e-6",
    "math.isclose(candidate({a}), {n}, rel_tol=0.001)",
    "round(candidate({a}), 2) == {n}",
    "sorted(candidate({a})) == sorted({v})",
    "set(candidate({a})) == set({v})",
    "len(candidate({a})) == {k}",
    "list(candidate({a})) == {v}",
    "tuple(candidate({a})) == tuple({v})",
    "candidate({a}) in ({v}, {w})",
    "candidate({a}) not in [{w}, {c}]",
    "candidate({a}) == candidate({b})",
    "candidate({a}) < {n}",
    "max(candidate({a})) >= {n}",
    "candidate({a}, key={b}) == {v}",
    "[candidate({a}), candidate({b})] == [{v}, {w}]",
    "candidate({a}) % 7 == {k}",
    "candidate({a}) == [{k}] * 3 + [{n}]",
    "candidate({a}) == 'ab' * {k}",
    "frozenset(candidate({a})) == frozenset({v}) or {c}",
    "candidate({a}) == 10 ** {k}",
    "-candidate({a}) == {n}",
    "True",
)
Pair = namedtuple("Pair", "a b")


class Loud(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


ODD = (range(3), Loud(3), Pair(1, 2), Counter("aab"), OrderedDict(a=1), deque([1]), Decimal("1.5"), Fraction(1, 3), object())
"""Values of an answer's that may not cross as what they resemble."""


def literal(chance: random.Random, depth: int = 2) -> object:
    if depth and chance.random() < 0.4:
        items = [literal(chance, depth - 1) for _ in range(chance.randrange(4))]
        return chance.choice([items, tuple(items), {str(index): item for index, item in enumerate(items)}, items])
    kinds = (chance.randrange(-9, 9), chance.random() * 9, chance.choice("ab\u00e9"), True, None, 1 << 70, b"x")
    return chance.choice([*kinds, float(chance.randrange(5)), {chance.randrange(3)}])


def written_check(chance: random.Random) -> tuple[str, list[object]]:
    """(a check of a few assertions, the values in it)."""
    values: list[object] = []

    def fresh() -> str:
        values.append(literal(chance))
        return repr(values[-1])

    lines = []
    for _ in range(chance.randrange(1, 4)):
        numbers = [chance.randrange(-5, 5), chance.random() * 4]
        values += numbers
        text = chance.choice(TEMPLATES).format(
            a=fresh(), b=fresh(), v=fresh(), w=fresh(), c=chance.choice(["True", "False", "None"]),
            n=repr(chance.choice(numbers)), k=chance.randrange(4),
        )  # fmt: skip
        lines.append(f"    assert {text}")
    return "import math\n\ndef check(candidate):\n    'all of it'\n" + "\n".join(lines) + "\n", values


def an_answer(chance: random.Random, values: list[object]) -> Callable[..., object]:
    """Returns what the check may expect, something else, what resembles it, or raises; the same for the same call."""
    made: dict[str, object] = {}

    def answer(*args: object, **kwargs: object) -> object:
        key = repr((args, kwargs))
        if key not in made:
            made[key] = chance.choice([*values, *values, *ODD, ValueError("no"), AssertionError("none")])
        if isinstance(made[key], Exception):
            raise made[key]
        return made[key]

    return answer


def by_python(check: str, answer: Callable[..., object]) -> str:
    """How the check ends where it shares a process with the answer."""
    space: dict[str, object] = {}
    exec(check, space)
    try:
        space["check"](answer)  # type: ignore[operator]
    except AssertionError:
        return TestStatus.WRONG_ANSWER.value
    except Exception:
        return TestStatus.RUNTIME_ERROR.value
    return TestStatus.PASSED.value


def by_values(check: str, answer: Callable[..., object]) -> str:
    tests = CheckTests(check, "answer", "")
    asserted = plain_asserts(tests)
    assert asserted is not None, check
    frames, channel = asserted.frames, b""
    while frames:
        size = int.from_bytes(frames[:4], "big")
        reply = json.dumps(calls._answer(answer, json.loads(frames[4 : 4 + size]))).encode()
        channel, frames = channel + len(reply).to_bytes(4, "big") + reply, frames[4 + size :]
    ended = judge_asserted(tests, Outcome(Status.OK, channel=channel), None)
    return ended[0].value if ended else ""


@pytest.mark.parametrize("seed", range(20))
def test_an_end_by_values_is_pythons_end(seed: int) -> None:
    chance, settled, ends = random.Random(seed), 0, set()
    for _ in range(150):
        check, values = written_check(chance)
        if plain_asserts(CheckTests(check, "answer", "")) is None:
            assert "candidate(" not in check.partition(":")[2], check
            continue
        answer = an_answer(chance, values)
        found, expected = by_values(check, answer), by_python(check, answer)
        assert found in ("", expected), (check, found, expected)
        settled += bool(found)
        ends.add(found)
    assert settled > 60
    assert len(ends) == 4


@pytest.mark.parametrize(
    "body",
    [
        "x = candidate(1)\n    assert x == 1",
        "for x in range(3):\n        assert candidate(x) == x",
        "assert candidate(candidate(1)) == 1",
        "assert candidate(*[1]) == 1",
        "assert candidate(1).upper() == 'A'",
        "assert candidate(1) is []",
        "assert sum(candidate(1)) == 1",
        "assert str(candidate(1)) == '1'",
        "assert candidate(range(3)) == 1",
        "assert candidate('a' * 10 ** 9) == 1",
        "assert candidate(2 ** 10 ** 6) == 1",
        "assert candidate(1) == 1 < 2",
        "assert candidate(1) in {1, 2}",
        "assert (y := candidate(1)) == 1",
        "assert all([candidate(1)])",
        "assert candidate(lambda: 1) == 1",
        "assert candidate(1 / 0) == 1",
        "candidate(1)",
        "assert True",
        "return",
    ],
)
def test_other_checks_are_run(body: str) -> None:
    assert plain_asserts(CheckTests(f"def check(candidate):\n    {body}\n", "answer", "")) is None


@pytest.mark.parametrize(
    ("test", "prompt"),
    [
        ("def check(candidate):\n    assert sorted(candidate(1)) == [1]\n", "def sorted(x):\n    return 1\n"),
        ("abs = 3\ndef check(candidate):\n    assert abs(candidate(1)) == 1\n", ""),
        ("answer = 3\ndef check(candidate):\n    assert answer(1) == 1\n", ""),
        ("import os\ndef check(candidate):\n    assert candidate(1) == 1\n", ""),
        ("def check(candidate, more=1):\n    assert candidate(1) == 1\n", ""),
        ("@staticmethod\ndef check(candidate):\n    assert candidate(1) == 1\n", ""),
        ("def check(candidate):\n    assert candidate(1) == helper(1)\n", "def helper(x):\n    return x\n"),
        ("print(1)\ndef check(candidate):\n    assert candidate(1) == 1\n", ""),
    ],
)
def test_what_else_a_row_says_is_run(test: str, prompt: str) -> None:
    assert plain_asserts(CheckTests(test, "answer", prompt)) is None


@pytest.mark.parametrize("reply", [b"", b"\0\0\0\2{}", b"\0\0\0\5hello", b'\0\0\0\x0d{"value": 2}', b"\xff" * 9])
def test_what_is_no_reply_settles_nothing(reply: bytes) -> None:
    tests = CheckTests("def check(candidate):\n    assert candidate(1) == [1]\n", "answer", "")
    ended = judge_asserted(tests, Outcome(Status.OK, channel=reply), None)
    assert ended is None or ended[0] is not TestStatus.PASSED


def test_the_first_failure_decides_whatever_came_later() -> None:
    """As in the check itself, which would not have made the later calls."""
    tests = CheckTests("def check(candidate):\n    assert candidate(1) == 1\n    assert candidate(2) == 2\n", "f", "")
    late = Outcome(Status.CPU_TIME_LIMIT, channel=b'\0\0\0\x0b{"value":2}')
    limit = (TestStatus.TIME_LIMIT, "CPU time limit")
    ended = judge_asserted(tests, late, limit)
    assert ended is not None
    assert ended[0] is TestStatus.WRONG_ANSWER
    assert "line 2" in ended[1]
    early = Outcome(Status.CPU_TIME_LIMIT, channel=b'\0\0\0\x0b{"value":1}')
    assert judge_asserted(tests, early, limit) == limit
