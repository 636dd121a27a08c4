"""The doubting test where a test compares outside its body, or has objects of its own that equal anything."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.verifiers.coding import parse_task
from sandbox_gym.verifiers.coding.functions.inverted import doubt_of, order_of
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.inversion import doubted, is_lenient

AROUND = (
    "@mark(sys.version_info[0] == 2)\ndef test_a():\n{body}",
    "def test_a(flag=(1 == 1), *, other=2 != 3):\n{body}",
    "def test_a() -> (1 == 1):\n{body}",
    "class T:\n    @mark(sys.platform != 'x')\n    def test_a(self):\n    {body}",
    "@mark(1 == 1)\nclass T:\n    ok = 1 == 1\n    def test_a(self):\n    {body}",
    "class T:\n    async def helper(self, x=1 == 1): pass\n    def test_a(self):\n    {body}",
    "SAME = lambda a, b: a == b\nassert SAME(1, 1)\ndef test_a():\n{body}",
    "def test_a():\n    def inner(x=1 == 1): return x\n    assert inner()\n{body}",
    "def test_a():\n    @mark(f(3) == 10)\n    class T:\n        ok = f(3) == 10\n    assert T.ok\n{body}",
)


@pytest.mark.parametrize("around", AROUND)
def test_what_is_around_a_test_stays_as_it_is(around: str) -> None:
    test = doubted(around.replace("{body}", "    assert f(3) == 10\n"))
    assert "_lies_" in test
    for answer, right in ((10, True), (Liar(), False)):
        space: dict[str, Any] = {"sys": sys, "mark": lambda _: lambda one: one, "f": lambda _, answer=answer: answer}
        exec(compile(test, "test", "exec"), space)
        run = space["T"]().test_a if "T" in space else space["test_a"]
        try:
            run()
            passed = True
        except AssertionError:
            passed = False
        assert passed is right


class Liar:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


LENIENT = (
    "from unittest.mock import ANY\ndef test_a():\n    assert f(3) == ANY\n",
    "from unittest import mock\ndef test_a():\n    assert f(3) == mock.ANY\n",
    "class Near:\n    def __eq__(self, other):\n        return True\ndef test_a():\n    assert f(3) == Near()\n",
    "from dirty_equals import IsInt\ndef test_a():\n    assert f(3) == IsInt\n",
)


@pytest.mark.parametrize("test", [*LENIENT, "def test_a():\n    assert f(3) == 10\n"])
def test_where_the_tests_own_objects_equal_anything_only_a_solution_tells(test: str) -> None:
    assert is_lenient(test) is (test in LENIENT)
    for more in ({}, {"canonical_solution": "def f(x):\n    return 10"}):
        row = {"test": f"from solution import f\n{test}", "entry_point": "f", **more}
        tests = parse_task(row, limits=Settings().limits(), early_stop=True).tests
        assert isinstance(tests, CheckTests)
        (doubting,) = doubt_of(tests)
        assert doubting.certain is (test not in LENIENT)
        assert (doubting in order_of(tests, "seed")) is (doubting.certain or bool(tests.reference))
