"""Checks judged by the values of their calls end as Python's own run of them, for generated checks and answers."""

from __future__ import annotations

import copy
import json
import random
import sys
import types
import unittest
from collections import Counter, OrderedDict, deque, namedtuple
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from textwrap import indent
from typing import Any

import pytest

from sandbox_gym.contract import Outcome, Status, TestStatus
from sandbox_gym.guest.python import calls
from sandbox_gym.verifiers.coding.functions.plain_asserts import plain_asserts
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.functions.styles import Style, pytest_test, unittest_test
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
    "candidate({a}) == {w} or {c}",
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
BLOCKS = (
    "x = candidate({a})\nassert x == {v}\nassert x != {w}",
    "x = candidate({a})\nx = [x, candidate({b})]\nassert x[0] == {v} and x[-1] == {w}",
    "arr = {a}\nassert candidate(arr) == {v}",
    "arr = {a}\nassert candidate(arr) == arr",
    "arr = {a}\nassert arr == candidate(arr)",
    "arr = {a}\nassert candidate(arr) is not None\nassert arr == {a}",
    "arr, want = {a}, {v}\nassert candidate(arr) == want",
    "for one, want in [({a}, {v}), ({b}, {w})]:\n    assert candidate(one) == want",
    "cases = [({a}, {v}), ({b}, {w})]\nfor i, (one, want) in enumerate(cases):\n    assert candidate(one) == want, i",
    "cases = [{a}, {b}]\nfor one in cases:\n    candidate_gave = candidate(one)\n    assert candidate_gave == one",
    "for i in range({k}):\n    assert candidate(i) == i * 2 + {k}",
    "assert all(candidate(x) == {v} for x in [{a}, {b}])",
    "assert [candidate(x) for x in [{a}, {b}]] == [{v}, {w}]",
    "assert isinstance(candidate({a}), (int, str))",
    "assert type(candidate({a})) is list",
    "x = candidate({a})\nassert x[0] == {n}",
    "assert candidate({a})[1:] == {v}",
    "assert str(candidate({a})) == str({n})",
    "assert {n} in candidate({a})",
    "args = ({a}, {b})\nassert candidate(*args) == {v}",
    "for args, want in [(({a},), {v}), ((), {w})]:\n    assert candidate(*args) == want",
    "assert candidate(**{{'a': {a}}}) == {v}",
    "assert candidate({a}) < math.inf and candidate({b}) != math.pi",
    "assert 0 <= candidate({a}) < {n}",
)
OF_PYTEST = (
    "with pytest.raises(ValueError):\n    candidate({a})",
    "with pytest.raises((KeyError, ArithmeticError)):\n    x = candidate({a})",
    "assert candidate({a}) == pytest.approx({n})",
    "assert candidate({a}) == pytest.approx([{n}, {k}], rel=0.1)",
    "assert candidate({a}) == pytest.approx({n}, abs=0.5)",
)
OF_UNITTEST = (
    "self.assertEqual(candidate({a}), {v})",
    "self.assertEqual({v}, candidate({a}), 'said')",
    "self.assertNotEqual(candidate({a}), {v})",
    "self.assertTrue(candidate({a}))",
    "self.assertFalse(candidate({a}))",
    "self.assertIsNone(candidate({a}))",
    "self.assertIn(candidate({a}), [{v}, {w}])",
    "self.assertIsInstance(candidate({a}), list)",
    "self.assertAlmostEqual(candidate({a}), {n})",
    "self.assertAlmostEqual(candidate({a}), {n}, places={k})",
    "self.assertAlmostEqual(candidate({a}), {n}, delta=0.5)",
    "self.assertListEqual(candidate({a}), {v})",
    "self.assertGreaterEqual(candidate({a}), {n})",
    "self.assertRaises(ValueError, candidate, {a})",
    "with self.assertRaises(ArithmeticError):\n    candidate({a})",
)
Pair = namedtuple("Pair", "a b")


class Loud(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


ODD = (
    range(3),
    Loud(3),
    Pair(1, 2),
    Counter("aab"),
    OrderedDict(a=1),
    deque([1]),
    Decimal("1.5"),
    Fraction(1, 3),
    object(),
)
"""Values of an answer's that may not cross as what they resemble."""


def literal(chance: random.Random, depth: int = 2) -> object:
    if depth and chance.random() < 0.4:
        items = [literal(chance, depth - 1) for _ in range(chance.randrange(4))]
        return chance.choice([items, tuple(items), {str(index): item for index, item in enumerate(items)}, items])
    kinds = (chance.randrange(-9, 9), chance.random() * 9, chance.choice("ab\u00e9"), True, None, 1 << 70, b"x")
    return chance.choice([*kinds, float(chance.randrange(5)), {chance.randrange(3)}])


def written(chance: random.Random, templates: Sequence[str]) -> tuple[str, list[object]]:
    """(a test's body of a few statements, the values in it)."""
    values: list[object] = []

    def fresh() -> str:
        values.append(chance.choice(values) if values and chance.random() < 0.4 else literal(chance))
        return repr(values[-1])

    lines = []
    for _ in range(chance.randrange(1, 4)):
        numbers = [chance.randrange(-5, 5), chance.random() * 4]
        values += numbers
        text = chance.choice(templates).format(
            a=fresh(), b=fresh(), v=fresh(), w=fresh(), c=chance.choice(["True", "False", "None"]),
            n=repr(chance.choice(numbers)), k=chance.randrange(4),
        )  # fmt: skip
        lines.append(indent(text, "    "))
    return "\n".join(lines), values


CHECKS = [*(f"assert {one}" for one in TEMPLATES), *BLOCKS]


def written_file(chance: random.Random, style: Style) -> tuple[CheckTests, list[object]]:
    if style == "check":
        body, values = written(chance, CHECKS)
        return CheckTests(f"import math\n\ndef check(candidate):\n    'all of it'\n{body}\n", "answer", ""), values
    own = OF_PYTEST if style == "pytest" else OF_UNITTEST
    tests: list[tuple[int, str]] = []
    values = []
    for number in range(chance.randrange(1, 3)):
        body, more = written(chance, [*chance.sample(CHECKS, 6), *own])
        tests.append((number, body))
        values += more
    if style == "pytest":
        head = "import math\nimport pytest\nfrom solution import answer as candidate\n\n"
        source = head + "\n".join(f"def test_{number}():\n{body}\n" for number, body in tests)
        cases = f"[({literal(chance)!r}, {values[0]!r})]"
        source += f"\n@pytest.mark.parametrize('one,want', {cases})\ndef test_all(one, want):\n"
        source += "    assert candidate(one) == want\n"
        return CheckTests(pytest_test(source, "solution", "answer"), "answer", "", "pytest", source), values
    methods = [indent(f"def test_{number}(self):\n{body}\n", "    ") for number, body in tests]
    source = "import math\nimport unittest\n\nclass TestAll(unittest.TestCase):\n" + "\n".join(methods)
    source = source.replace("candidate", "answer")
    return CheckTests(unittest_test(source), "answer", "", "unittest", source), values


def an_answer(chance: random.Random, values: list[object]) -> Callable[..., object]:
    """Returns what the test may expect, something else, what resembles it, or raises; the same for the same call. It
    may change the list that it was given."""
    seed = chance.random()
    raised = (ValueError("no"), AssertionError("none"), UnicodeError("u"), ZeroDivisionError("z"))
    changes = chance.random() < 0.3

    def answer(*args: object, **kwargs: object) -> object:
        chosen = random.Random(repr((seed, args, kwargs))).choice([*values, *values, *args, *ODD, *raised])
        value = copy.deepcopy(chosen)
        if changes and args and isinstance(args[0], list):
            args[0].append(1)
        if isinstance(value, Exception):
            raise value
        return value

    return answer


def by_python(tests: CheckTests, answer: Callable[..., object]) -> str:
    """How the test ends where it shares a process with the answer."""
    space: dict[str, Any] = {"answer": answer}
    try:
        if tests.style == "check":
            exec(tests.test, space)
            space["check"](answer)
            return TestStatus.PASSED.value
        sys.modules["solution"] = types.ModuleType("solution")
        sys.modules["solution"].answer = answer  # type: ignore[attr-defined]
        exec(tests.written, space)
        for name in [name for name in space if name.startswith("test_")]:
            marks = getattr(space[name], "pytestmark", [])
            for case in marks[0].args[1] if marks else [()]:
                space[name](*case)
        if "TestAll" in space:
            loaded = unittest.defaultTestLoader.loadTestsFromTestCase(space["TestAll"])
            assert loaded.run(unittest.TestResult()).wasSuccessful()
    except AssertionError:
        return TestStatus.WRONG_ANSWER.value
    except Exception:
        return (TestStatus.RUNTIME_ERROR if tests.style == "check" else TestStatus.WRONG_ANSWER).value
    except BaseException:  # pytest's own end of a test that failed
        return TestStatus.WRONG_ANSWER.value
    finally:
        sys.modules.pop("solution", None)
    return TestStatus.PASSED.value


def by_values(tests: CheckTests, answer: Callable[..., object]) -> str:
    """How it ends by the values of its calls; empty where these do not settle it."""
    asserted = plain_asserts(tests)
    assert asserted is not None
    frames, channel = asserted.frames, b""
    while frames:
        size = int.from_bytes(frames[:4], "big")
        reply = json.dumps(calls._answer(answer, json.loads(frames[4 : 4 + size]))).encode()
        channel, frames = channel + len(reply).to_bytes(4, "big") + reply, frames[4 + size :]
    ended = judge_asserted(tests, Outcome(Status.OK, channel=channel), None)
    return ended[0].value if ended else ""


@pytest.mark.parametrize("style", ["check", "pytest", "unittest"])
def test_an_end_by_values_is_pythons_end(style: Style) -> None:
    chance, settled, ends = random.Random(7), 0, set()
    for _ in range(800):
        tests, values = written_file(chance, style)
        if plain_asserts(tests) is None:
            continue
        answer = an_answer(chance, values)
        found, expected = by_values(tests, answer), by_python(tests, answer)
        assert found in ("", expected), (tests.written or tests.test, found, expected)
        settled += bool(found)
        ends.add(found)
    assert settled > 250
    assert ends >= {"", TestStatus.PASSED, TestStatus.WRONG_ANSWER}


@pytest.mark.parametrize("block", [*CHECKS, *OF_PYTEST])
def test_each_form_is_read_in_some_row(block: str) -> None:
    chance = random.Random(1)
    bodies = [written(chance, [block])[0] for _ in range(20)]
    tests = [
        f"import math\nimport pytest\n\ndef check(candidate):\n    assert candidate(0) == 0\n{one}\n" for one in bodies
    ]
    found = [plain_asserts(CheckTests(test, "answer", "")) for test in tests]
    assert any(found) or block in (BLOCKS[3], BLOCKS[4]), tests[0]


@pytest.mark.parametrize(
    "body",
    [
        "assert candidate(candidate(1)) == 1",
        "assert candidate(1).upper() == 'A'",
        "assert candidate(range(3)) == 1",
        "assert candidate('a' * 10 ** 9) == 1",
        "assert (y := candidate(1)) == 1",
        "assert candidate(lambda: 1) == 1",
        "candidate(1)",
        "assert True",
        "for x in {1, 2}:\n        assert candidate(x) == x",
        "for x in candidate(1):\n        assert x == 1",
        "x = candidate(1)\n    assert candidate(x) == 1",
        "x = [1]\n    assert candidate(x) == x",
        "x = [[1]]\n    assert candidate(x[0]) == 2\n    assert x == [[1]]",
        "x = [1]\n    y = [x, candidate(1)]\n    assert candidate(x) == y",
        "x = 0\n    x += candidate(1)\n    assert x == 1",
        "if candidate(1):\n        assert candidate(2) == 1",
        "try:\n        candidate(1)\n    except ValueError:\n        pass",
        "while candidate(1): pass",
        "assert candidate(1) == 2 or candidate(2) == 3",
        "assert not (candidate(1) and candidate(2))",
        "x = [0] * 1000\n    y = [x] * 1000\n    assert candidate([y] * 1000) == 1",
        "x = [[0] * 9] * 9\n" + "    x = [x, x, x, x, x, x, x, x]\n" * 12 + "    assert candidate(1) == x",
        "assert all(all(all(1 == 1 for z in range(999)) for y in range(999)) for x in range(999))",
        "for x in range(999):\n        for y in range(999):\n            for z in range(999): assert candidate(1)",
        "for x in range(99):\n        assert candidate('a' * 1000000) == x",
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
        ("from numpy import *\ndef check(candidate):\n    assert abs(candidate(1)) == 1\n", ""),
        ("from cmath import isclose as abs\ndef check(candidate):\n    assert abs(candidate(1)) == 1\n", ""),
        ("import cmath as math\ndef check(candidate):\n    assert math.isclose(candidate(1), 1)\n", ""),
        ("def check(candidate):\n    assert abs(candidate(1)) == 1\n", "from statistics import *\n"),
        ("def check(candidate, more=1):\n    assert candidate(1) == 1\n", ""),
        ("@staticmethod\ndef check(candidate):\n    assert candidate(1) == 1\n", ""),
        ("def check(candidate):\n    assert candidate(1) == helper(1)\n", "def helper(x):\n    return x\n"),
        ("x = len([])\nprint(x)\ndef check(candidate):\n    assert candidate(1) == 1\n", ""),
        ("def check(candidate):\n    assert pytest.approx(1) == candidate(1)\n", ""),
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
    assert judge_asserted(tests, Outcome(Status.OUTPUT_LIMIT), limit) is None, "more may cross in a dialogue"
