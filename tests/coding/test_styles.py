"""Tests as MBPP, EvalPlus, BigCodeBench and pytest write them, on right and wrong answers."""

from __future__ import annotations

import textwrap

import pytest

from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio

MBPP = {
    "test_list": ['assert remove_occ("hello", "l") == "heo"', 'assert remove_occ("abcda", "a") == "bcd"'],
    "test_setup_code": "",
    "challenge_test_list": ['assert remove_occ("hellolloll", "l") == "helollol"'],
}
REMOVE = """
    def remove_occ(s, c):
        first, last = s.find(c), s.rfind(c)
        return s[:first] + s[first + 1:last] + s[last + 1:]
"""


async def test_mbpp(judge: Judge) -> None:
    right = await judge(textwrap.dedent(REMOVE), MBPP)
    assert (right.reward, right.integrity) == (1.0, "isolated"), right.tests
    wrong = await judge("def remove_occ(s, c):\n    return s.replace(c, '')", MBPP)
    assert (wrong.reward, wrong.failure_reason) == (0.0, "wrong_answer")


LEETCODE = {
    "entry_point": "Solution().first",
    "prompt": "from typing import *\nfrom operator import *\n\nclass TreeNode:\n    def __init__(self, val=0):\n"
    "        self.val = val\n\ndef tree_node(values):\n    return TreeNode(values[0])\n",
    "test": "def check(candidate):\n    assert candidate(nums = [3, 1]) == 3\n    assert candidate(nums = [2]) == 2\n",
}


async def test_leetcode(judge: Judge) -> None:
    source = "class Solution:\n    def first(self, nums: List[int]) -> int:\n        return {}"
    for row in (LEETCODE, {**LEETCODE, "test": f"{LEETCODE['test']}    assert tree_node([candidate([4])]).val == 4\n"}):
        right = await judge(source.format("TreeNode(nums[0]).val"), row)
        assert (right.reward, right.integrity) == (1.0, "isolated"), right.tests
        assert (await judge(source.format("3"), row)).failure_reason == "wrong_answer"


CASE = "import unittest\nfrom fractions import Fraction\n\nclass T(unittest.TestCase):\n    def test_f(self):\n"


async def test_no_import_of_a_test_is_the_answer(judge: Judge) -> None:
    for line in ("from operator import *", "from operator import add", "from operator import sub as add"):
        row = {"entry_point": "add", "test": f"{line}\ndef check(c):\n    assert c(1, 2) == 3 or c(1, 2) == -1\n"}
        assert (await judge("def add(a, b):\n    return 7", row)).reward == 0.0, line


@pytest.mark.parametrize(
    "row",
    [
        {"test_list": ["assert f(2) == 1"], "test_imports": ["from fractions import Fraction"]},
        {"test_list": ["from fractions import Fraction", "assert f(2) == Fraction(1)"]},
        {"test": "from fractions import Fraction\n\ndef check(c):\n    assert list(map(c, [2])) == [1]\n"},
        {"test": f"{CASE}        self.assertEqual(f(2), 1)\n"},
    ],
)
async def test_an_answer_may_use_what_its_test_imports(judge: Judge, row: dict[str, object]) -> None:
    """As in one file: many answers leave imports out that their row has."""
    right = await judge("def f(x):\n    return int(Fraction(1, x) * 2)", {"entry_point": "f", **row})
    assert (right.reward, right.integrity) == (1.0, "isolated"), right.tests
    own = await judge("Fraction = 3\ndef f(x):\n    return len(unittest.__name__)", {"entry_point": "f", **row})
    assert own.reward == 0.0


EVALPLUS = {
    "entry_point": "mean",
    "prompt": "def mean(values):\n",
    "canonical_solution": "    return sum(values) / len(values)\n",
    "base_input": [[[1.0, 2.0]], [[3.0]]],
    "plus_input": [[[0.1, 0.2, 0.7]], [[1e9, 1.0]]],
    "atol": 0,
}


async def test_evalplus(judge: Judge) -> None:
    right = await judge("import math\ndef mean(values):\n    return math.fsum(values) / len(values)", EVALPLUS)
    assert (right.reward, right.integrity, len(right.tests)) == (1.0, "isolated", 4), right.tests
    wrong = await judge("def mean(values):\n    return sorted(values)[len(values) // 2]", EVALPLUS)
    assert wrong.reward == 0.0
    only_base = await judge("def mean(values):\n    return 1.5 if len(values) == 2 else values[0]", EVALPLUS)
    assert [test.status.value for test in only_base.tests] == ["passed", "passed", "wrong_answer", "wrong_answer"]


async def test_a_reference_that_fails_is_no_verdict(judge: Judge) -> None:
    broken = {**EVALPLUS, "canonical_solution": "    return values[7]\n"}
    verdict = await judge("def mean(values):\n    return sum(values) / len(values)", broken)
    assert verdict.failure_reason == "checker_failed"


UNITTEST = {
    "entry_point": "task_func",
    "test": textwrap.dedent("""
        import unittest

        class TestCases(unittest.TestCase):
            def setUp(self):
                self.word = "banana"

            def test_counts(self):
                self.assertEqual(task_func(self.word), {"b": 1, "a": 3, "n": 2})

            def test_empty(self):
                self.assertEqual(task_func(""), {})

            def test_wrong_type(self):
                with self.assertRaises(TypeError):
                    task_func(7)
    """),
}
COUNT = "def task_func(word):\n    counts = {}\n    for c in word:\n        counts[c] = counts.get(c, 0) + 1\n"


async def test_unittest_classes(judge: Judge) -> None:
    right = await judge(COUNT + "    return counts", UNITTEST)
    assert (right.reward, right.integrity) == (1.0, "isolated"), right.tests
    wrong = await judge(COUNT + "    return dict.fromkeys(counts, 1)", UNITTEST)
    assert wrong.reward == 0.0
    assert "test_counts" in wrong.tests[0].reason


async def test_unittest_classes_that_patch_run_in_process_and_say_so(judge: Judge) -> None:
    test = textwrap.dedent("""
        import unittest
        from unittest.mock import patch

        class TestCases(unittest.TestCase):
            @patch("random.randint", return_value=4)
            def test_patched(self, randint):
                self.assertEqual(task_func(), 4)
    """)
    tests = {"entry_point": "task_func", "test": test}
    right = await judge("import random\ndef task_func():\n    return random.randint(1, 6)", tests)
    assert (right.reward, right.integrity) == (1.0, "in_process"), right.tests
    wrong = await judge("def task_func():\n    return 5", tests)
    assert (wrong.reward, wrong.failure_reason) == (0.0, "wrong_answer")


PYTEST = {
    "entry_point": "add",
    "test": textwrap.dedent("""
        import pytest
        from solution import add, double

        @pytest.mark.parametrize("a, b, want", [(1, 2, 3), (5, -5, 0)])
        def test_add(a, b, want):
            assert add(a, b) == want

        def test_double():
            assert double(4) == 8

        def test_error():
            with pytest.raises(TypeError):
                add(1, "x")
    """),
}


async def test_pytest_files(judge: Judge) -> None:
    right = await judge("def add(a, b):\n    return a + b\ndef double(a):\n    return 2 * a", PYTEST)
    assert (right.reward, right.integrity) == (1.0, "isolated"), right.tests
    wrong = await judge("def add(a, b):\n    return a + b\ndef double(a):\n    return a", PYTEST)
    assert wrong.reward == 0.0
    assert "test_double" in wrong.tests[0].reason


async def test_pytest_files_with_fixtures_of_the_process_run_in_process(judge: Judge) -> None:
    test = "from solution import hello\n\ndef test_hello(capsys):\n    hello()\n"
    test += "    assert capsys.readouterr().out == 'hi\\n'\n"
    tests = {"entry_point": "hello", "test": test}
    right = await judge("def hello():\n    print('hi')", tests)
    assert (right.reward, right.integrity) == (1.0, "in_process"), right.tests
    assert (await judge("def hello():\n    print('ho')", tests)).reward == 0.0
    assert (await judge("import os\ndef hello():\n    os._exit(0)", tests)).reward == 0.0
    assert (await judge("from __future__ import annotations\ndef hello():\n    print('hi')", tests)).reward == 1.0


@pytest.mark.parametrize(
    "claim",
    [
        "raise ModuleNotFoundError(\"No module named 'pytest'\")",
        "import sys\nsys.path.clear()",
        "raise SystemExit('no pytest')",
    ],
)
async def test_who_claims_that_pytest_is_missing_is_not_believed(judge: Judge, claim: str) -> None:
    """It would be a fault of ours, and no verdict."""
    test = (
        "from solution import hello\n\ndef test_hello(capsys):\n    hello()\n    assert not capsys.readouterr().out\n"
    )
    verdict = await judge(f"{claim}\ndef hello():\n    print('ho')", {"entry_point": "hello", "test": test})
    assert (verdict.reward, verdict.integrity, verdict.attempts) == (0.0, "in_process", 1)
