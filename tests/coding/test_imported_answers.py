"""Tests that import the answer as a module, and answers that have a main program of their own beside what is tested."""

from __future__ import annotations

import textwrap

import pytest

from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio

RIGHT = """
    RATE = 1

    def helper(x):
        return x

    def add(a, b):
        return a + helper(b) * RATE

    if __name__ == "__main__":
        print(add(int(input()), int(input())))
"""
WRONG = RIGHT.replace("a + helper", "a - helper")
IGNORES_PATCHES = RIGHT.replace("a + helper(b) * RATE", "a + b")

UNITTEST = """
    import unittest
    from solution import add as plus

    class Adds(unittest.TestCase):
        def test_add(self):
            self.assertEqual(plus(1, 2), 3)

    if __name__ == "__main__":
        unittest.main()
"""
PATCHED = """
    import unittest
    from unittest.mock import patch
    import solution

    class Adds(unittest.TestCase):
        def test_add(self):
            with patch.object(solution, "RATE", 5):
                self.assertEqual(solution.add(1, 2), 11)

        def test_helper(self):
            with patch("solution.helper", return_value=7):
                self.assertEqual(solution.add(1, 2), 8)
"""
PYTEST = """
    import solution
    from solution import add

    def test_add(monkeypatch):
        assert add(1, 2) == 3
        monkeypatch.setattr(solution, "RATE", 5)
        assert add(1, 2) == 11
"""
CAPTURED = """
    import contextlib, io

    def check(candidate):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            print(candidate(1, 2))
        assert out.getvalue() == "3\\n"
"""
ROWS: dict[str, tuple[dict[str, object], str]] = {
    "unittest": ({"test": textwrap.dedent(UNITTEST), "entry_point": "add"}, "isolated"),
    "unittest by name": ({"test": textwrap.dedent(UNITTEST), "entry_point": "add", "style": "unittest"}, "isolated"),
    "unittest in a script": ({"test_list": [textwrap.dedent(UNITTEST)]}, "isolated"),
    "patches": ({"test": textwrap.dedent(PATCHED), "entry_point": "add"}, "in_process"),
    "pytest": ({"test": textwrap.dedent(PYTEST), "entry_point": "add"}, "in_process"),
    "script": ({"test_list": ["from solution import *", "assert add(1, 2) == 3"]}, "isolated"),
    "script of another module": (
        {"test_list": ["from adder import add as plus\nassert plus(1, 2) == 3"], "module": "adder"},
        "isolated",
    ),
    "script that imports it whole": (
        {"test_list": ["import solution", "assert solution.add(1, 2) == 3"], "entry_point": "add"},
        "in_process",
    ),
    "check": (
        {"test": "from solution import add\ndef check(c):\n    assert add(1, 2) == 3", "entry_point": "add"},
        "isolated",
    ),
    "check inside": (
        {"test": "def check(c):\n    from solution import add\n    assert add(1, 2) == 3", "entry_point": "add"},
        "in_process",
    ),
    "main program of the answer": ({"test": textwrap.dedent(CAPTURED), "entry_point": "add"}, "in_process"),
}


@pytest.mark.parametrize("name", ROWS)
async def test_right_answers_pass_and_wrong_ones_fail(name: str, judge: Judge) -> None:
    row, integrity = ROWS[name]
    right = await judge(textwrap.dedent(RIGHT), row)
    assert (right.reward, right.integrity) == (1.0, integrity), right.tests
    wrong = await judge(textwrap.dedent(WRONG), row)
    assert (wrong.reward, wrong.failure_reason) == (0.0, "wrong_answer"), wrong.tests


@pytest.mark.parametrize("name", ["patches", "pytest"])
async def test_patches_of_the_module_reach_the_answer(name: str, judge: Judge) -> None:
    verdict = await judge(textwrap.dedent(IGNORES_PATCHES), ROWS[name][0])
    assert (verdict.reward, verdict.failure_reason) == (0.0, "wrong_answer"), verdict.tests


FORGED = """
class np:
    allclose = staticmethod(lambda *values: True)
    array = staticmethod(lambda values: values)

def scale(x, k):
    return x
"""


async def test_a_library_that_only_the_answer_can_import_is_not_believed(judge: Judge) -> None:
    test = "def check(candidate):\n    assert np.allclose(candidate(np.array([1, 2]), 2), [2, 4])\n"
    row: dict[str, object] = {"test": test, "entry_point": "scale"}
    right = await judge("import numpy as np\n\ndef scale(x, k):\n    return x * k", row)
    assert (right.reward, right.integrity) == (1.0, "in_process"), right.tests
    assert right.integrity_reason == "row: the test uses np, which only an answer imports"
    assert (await judge(FORGED, row)).reward == 0.0
