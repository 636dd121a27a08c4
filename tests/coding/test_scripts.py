"""Tests written as scripts: what plain CPython says of them, whichever way they run and end."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding import parse_task
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio

ANSWERS = {"right": "def f(n): return 2 * n", "wrong": "def f(n): return 3 * n"}
LEAVING = {
    "raises": "def f(n): raise SystemExit(0)",
    "exits": "import sys\ndef f(n): sys.exit()",
    "ends": "import os\ndef f(n): os._exit(0)",
    "never begins": "raise SystemExit",
}
"""Answers for which CPython's exit code is 0: they end the program before its test does."""

CASE = "class T(unittest.TestCase):\n    def test(self): self.assertEqual(f(2), 4)"
FUNCTION = "def test_f():\n    assert f(2) == 4"
WORK = {  # what asserts, and what runs it
    "asserts": ("assert f(2) == 4\nassert f(0) == 0", ""),
    "decides": ("if f(2) != 4:\n    sys.exit('wrong')", ""),
    "case": (CASE, "unittest.main()"),
    "case that tells": (CASE, "sys.exit(unittest.main())"),
    "function": (FUNCTION, "test_f()"),
    "main": ("def main():\n    assert f(2) == 4", "main()"),
}
GUARDS = ("{}", "if __name__ == '__main__':\n    {}", "if '__main__' == __name__:\n    {}\n    print('done')")
ENDS = ("", "quit(0)", "sys.exit()", "raise SystemExit")
SCRIPTS = {
    f"{name}, {guard.splitlines()[0]}, {end}": "\n".join(
        part for part in ("import sys, unittest", work, guard.format(run) if run else "", end) if part
    )
    for (name, (work, run)), guard, end in itertools.product(WORK.items(), GUARDS, ENDS)
    if run or guard == "{}"
}
"""Every way to assert, in every guard, with every end."""


SCRIPTS |= {
    one.split("\n")[0]: one
    for one in (
        "if __name__ != '__main__':\n    raise SystemExit(0)\nassert f(2) == 4",
        "if __name__ == '__main__' and f:\n    assert f(2) == 4",
        "where = __name__\nif where == '__main__':\n    assert f(2) == 4",
        "count = 0\ndef bump():\n    global count\n    count += 1\nbump()\nassert f(count) == 2",
        "def setup():\n    global two\n    two = 2\nsetup()\nassert f(two) == 4",
        "n: int = 2\nlater: list\nassert f(n) == 4",
        "f = f\nassert f(2) == 4",
        "from math import *\nassert f(floor(2.5)) == 4",
        "import math as m, os.path\nassert f(m.floor(2.5)) == 4 and os.path.sep",
        "for n in range(9):\n    assert f(n) == 2 * n\nelse:\n    assert n == 8",
        "try:\n    assert f(2) == 4\nexcept KeyError as error:\n    raise\nelse:\n    del f",
        "with open('x', 'w') as file:\n    assert (y := f(2)) == 4 and y == 4",
        "match f(2):\n    case 4 as four: pass\n    case _: raise ValueError",
        "class A:\n    n: int = 2\n    doubled = [f(n) for n in (1, 2)]\nassert f(A.n) == A.doubled[1] == 4",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    n: int = 2\nassert f(P().n) == 4",
        "def o(n):\n    def i():\n        nonlocal n\n        n += 1\n    i()\n    return n\nassert f(o(2)) == 6",
        "candidate = f\nassert candidate(2) == 4",
        "assert __name__ == '__main__' and f(2) == 4",
    )
}


def said_by_python(tmp_path: Path, answer: str, script: str) -> bool:
    file = tmp_path / "whole.py"
    file.write_text(f"{answer}\n{script}\n")
    return subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, timeout=60).returncode == 0


@pytest.mark.parametrize("name", SCRIPTS)
async def test_a_script_means_what_it_means_to_python(judge: Judge, tmp_path: Path, name: str) -> None:
    row = {"test_list": [SCRIPTS[name]]}
    for answer, code in ANSWERS.items():
        verdict = await judge(code, row)
        assert verdict.reward == said_by_python(tmp_path, code, SCRIPTS[name]), (answer, verdict.tests)


@pytest.mark.parametrize("leaving", LEAVING)
@pytest.mark.parametrize("work", WORK)
async def test_an_answer_that_leaves_is_not_right(judge: Judge, leaving: str, work: str) -> None:
    """Where a test's own end is its success, an answer's is not."""
    asserts, run = WORK[work]
    row = {"test_list": ["import sys, unittest", asserts, run or "pass", "sys.exit(0)"]}
    assert (await judge(LEAVING[leaving], row)).reward == 0.0


@pytest.mark.parametrize(
    "run", ["", "unittest.main()", "sys.exit(unittest.main())", "raise SystemExit(unittest.main())"]
)
async def test_a_test_that_runs_itself_is_run_once(judge: Judge, run: str) -> None:
    row = {"test": f"import sys, unittest\n{CASE}\n{run}\n", "entry_point": "f"}
    assert [(await judge(code, row)).reward for code in ANSWERS.values()] == [1.0, 0.0]


async def test_imports_of_the_future_come_first(judge: Judge) -> None:
    row = {
        "test_list": [
            "assert f(0) == 0",
            "from __future__ import annotations\ndef g(n: Missing): return f(n)\nassert g(2) == 4",
        ]
    }
    assert [(await judge(code, row)).reward for code in ANSWERS.values()] == [1.0, 0.0]


async def test_a_function_that_nothing_calls_is_called(judge: Judge) -> None:
    assert [(await judge(code, {"test_list": [FUNCTION]})).reward for code in ANSWERS.values()] == [1.0, 0.0]


@pytest.mark.parametrize(
    "text",
    [
        "nonlocal x\nassert f(2)",
        "x = f(1)\nglobal x",
        "def g(a, a): pass\ng(f(2), 1)",
        "class A:\n    def m(self):\n        nonlocal y\nf(A)",
        "from __future__ import nothing\nf(2)",
        *("yield f(2)", "assert (yield f(2)) == 4", "return f(2)", "await f(2)", "f(2)\nbreak"),
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): f(2)\nyield",
    ],
)
def test_what_does_not_compile_is_the_rows_fault(text: str) -> None:
    """It parses: only the compiler's later steps refuse it."""
    with pytest.raises(RequestError, match=r"test_list: does not compile"):
        parse_task({"test_list": [text]}, limits=Limits(), early_stop=True)


@pytest.mark.parametrize(
    "text", ["def helper(n):\n    assert f(n) == 2 * n", "class TestF:\n    def test(self): assert f(2) == 4"]
)
def test_what_runs_nothing_is_no_test(text: str) -> None:
    with pytest.raises(RequestError, match="defines, and runs nothing"):
        parse_task({"test_list": [text]}, limits=Limits(), early_stop=True)


@pytest.mark.parametrize(
    "text",
    [
        "assert list(map(f, [1, 2])) == [1, 2]",
        "assert sorted(['bb', 'a'], key=lambda x: f(x)) == ['a', 'bb']",
        "@f\ndef g(x):\n    return x\nassert g(1) == 1",
        "import asyncio\nasync def main():\n    return await f(1)\nassert asyncio.run(main()) == 1",
        "def run(task):\n    return task(1)\nassert run(f) == 1",
        "candidate = f\nassert candidate(1) == 1",
        "assert f.__doc__ is None",
    ],
)
def test_the_function_is_what_the_test_has_and_does_not_define(text: str) -> None:
    tests = parse_task({"test_list": [text]}, limits=Limits(), early_stop=True).tests
    assert isinstance(tests, CheckTests)
    assert tests.entry_point == "f"


CLASS = "import unittest\nclass T(unittest.{}):\n"
YIELDING = "def {}({}):\n    for n in range(3):\n        yield\n        assert f(n) == 2 * n"


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"test": YIELDING.format("check", "candidate") + "\n\ncheck(f)"}, "check"),
        ({"test": "async def check(candidate):\n    assert candidate(1) == 2\ndef check2(): assert 1"}, "check"),
        (
            {"test": f"{CLASS.format('TestCase')}    async def test_f(self): assert f(1) == 2"},
            "T.test_f",
        ),
        ({"test": f"{CLASS.format('TestCase')}    def test_f(self): yield f(1)"}, "T.test_f"),
        ({"test": YIELDING.format("test_f", ""), "style": "pytest"}, "test_f"),
        ({"test_list": [YIELDING.format("test_f", "")]}, "test_f"),
    ],
)
def test_a_generator_or_coroutine_is_no_test(row: dict[str, object], name: str) -> None:
    with pytest.raises(RequestError, match=rf"(holds {name}, a generator or coroutine|defines no check)"):
        parse_task({"entry_point": "f", "prompt": "", **row}, limits=Limits(), early_stop=True)


@pytest.mark.parametrize(
    "row",
    [
        {"test_list": ["def test_cases():\n    yield 1, 2\nfor n, want in test_cases():\n    assert f(n) == want"]},
        {"test": "def test_cases():\n    yield 1\ndef check(c):\n    for n in test_cases(): assert c(n)"},
        {"test": "def check(c):\n    def cases():\n        yield 1\n    assert all(c(n) for n in cases())"},
        {"test": "pytestmark = 1\nasync def test_f():\n    assert f(1) == 2", "style": "pytest"},
        {"test": f"{CLASS.format('IsolatedAsyncioTestCase')}    async def test_f(self): assert f(1) == 2"},
    ],
)  # fmt: skip
def test_generators_that_a_test_uses_are_its_own_affair(row: dict[str, object]) -> None:
    parse_task({"entry_point": "f", "prompt": "", **row}, limits=Limits(), early_stop=True)
