"""Static and class methods, nested classes: a test calls them by their class, an entry point names them."""

from __future__ import annotations

from itertools import cycle

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding import parse_task
from sandbox_gym.verifiers.coding.functions.scripts import importing, of_candidate
from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio

NAMES = (
    "add", "get", "count", "index", "pop", "update", "split", "find", "replace", "join", "sort", "copy", "items",
    "mean", "max", "reverse", "append", "sum", "plus", "union", "title", "lower", "now", "fromkeys", "year",
)  # fmt: skip
FORMS = {
    "static": "class Calc:\n    @staticmethod\n    def NAME(a, b):\n        return EXPR\n",
    "class": "class Calc:\n    @classmethod\n    def NAME(cls, a, b):\n        return EXPR\n",
    "bare": "class Calc:\n    def NAME(a, b):\n        return EXPR\n",
    "lambda": "class Calc:\n    NAME = staticmethod(lambda a, b: EXPR)\n",
    "inherited": "class Base:\n    @staticmethod\n    def NAME(a, b):\n        return EXPR\nclass Calc(Base): 0\n",
    "meta": "class M(type):\n    def NAME(cls, a, b):\n        return EXPR\nclass Calc(metaclass=M):\n    pass\n",
    "counting": "class Calc:\n    @classmethod\n    def NAME(c, a, b):\n        c.n = a\n        return EXPR\n",
}
TESTS: dict[str, dict[str, object]] = {
    "candidate": {
        "entry_point": "Calc",
        "test": "def check(it):\n    assert it.NAME(1, 2) == [3]\n    assert it.NAME(2, 2) == [4]\n",
    },
    "name": {
        "entry_point": "Calc",
        "test": "def check(candidate):\n    assert Calc.NAME(1, 2) == [3]\n    assert Calc.NAME(2, 2)[0] == 4\n",
    },
    "dotted": {
        "entry_point": "Calc.NAME",
        "test": "def check(f):\n    '''It adds.'''\n    for n in range(5):\n        assert f(n, 1) == [n + 1], n\n",
    },
    "unittest": {
        "entry_point": "Calc.NAME",
        "test": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
        "        self.assertEqual(Calc.NAME(1, 2), [3])\n        self.assertEqual(Calc.NAME(2, 2), [4])\n",
    },
    "pytest": {
        "test": "from solution import Calc\nimport pytest\n@pytest.mark.parametrize('a', [1, 5])\n"
        "def test_a(a):\n    assert Calc.NAME(a, 2) == [a + 2]\n"
    },
    "module": {"test": "import solution\ndef test_a():\n    f = solution.Calc.NAME\n    assert f(2, 2) == [4]\n"},
    "list": {"test_list": ["assert Calc.NAME(1, 2) == [3]", "assert Calc.NAME(2, 2) == [4]"]},
}


def _named(value: object, name: str) -> object:
    return [one.replace("NAME", name) for one in value] if isinstance(value, list) else str(value).replace("NAME", name)


@pytest.mark.parametrize("form", FORMS)
async def test_what_a_class_has_is_called_by_its_name(form: str, judge: Judge) -> None:
    shift = list(FORMS).index(form)
    wrong = []
    for (kind, row), name in zip(TESTS.items(), cycle(NAMES[shift * 3 :] + NAMES), strict=False):
        asked = {field: _named(value, name) for field, value in row.items()}
        source = FORMS[form].replace("NAME", name)
        for made, reward in (("[a + b]", 1.0), ("[3]", 0.0)):
            verdict = await judge(source.replace("EXPR", made), asked)
            if verdict.reward != reward:
                wrong.append((kind, name, reward, verdict.tests[0].reason))
    assert wrong == []


NESTED = """class Outer:
    class Inner:
        def __init__(self, n):
            self.n = n
        def get(self):
            return self.n * 2
"""
BOX = """class Box:
    def __init__(self):
        self.k = 1
    def add(self, a, b):
        return a + b * self.k
"""
LEET = "class Solution:\n    def add(self, a, b):\n        return a + b\n"
ADDS = "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(2, 5) == 7\n"
GETS = """def check(candidate):
    assert candidate(2).get() == 4
    one = candidate(5)
    assert (one.get(), one.n) == (10, 5)
"""


@pytest.mark.parametrize(
    ("entry_point", "test", "right", "wrong"),
    [
        ("Outer.Inner", GETS, NESTED, NESTED.replace("self.n * 2", "4")),
        ("Box().add", ADDS, BOX, BOX.replace("a + b", "3 * a")),
        ("Solution().add", ADDS, LEET, LEET.replace("a + b", "3")),
        ("Solution.add", ADDS, LEET, LEET.replace("a + b", "3")),
    ],
)
async def test_an_entry_point_may_be_of_a_class(
    entry_point: str, test: str, right: str, wrong: str, judge: Judge
) -> None:
    row: dict[str, object] = {"entry_point": entry_point, "test": test}
    assert [(await judge(code, row)).reward for code in (right, wrong)] == [1.0, 0.0]


@pytest.mark.parametrize("name", ["Calc.", ".add", "a b.c", "Calc.add(1)", "Calc().", "1.2", "import.add"])
def test_what_is_no_entry_point_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match="entry_point"):
        parse_task({"entry_point": name, "test": ADDS}, limits=Settings().limits(), early_stop=True)


def test_where_tests_are_by_value_a_method_is_refused_with_what_to_give() -> None:
    row = {"unit_tests": {"fn_name": "Calc.add", "inputs": ["1\n2"], "outputs": ["3"]}}
    with pytest.raises(RequestError, match="for what a class has give `test` and entry_point"):
        parse_task(row, limits=Settings().limits(), early_stop=True)


@pytest.mark.parametrize("test", ["def check():\n    assert add(1, 2) == 3", "def check(*, c):\n    assert c(1)"])
def test_a_check_that_takes_no_candidate_is_refused(test: str) -> None:
    with pytest.raises(RequestError, match="takes no argument"):
        parse_task({"test": test, "entry_point": "add"}, limits=Settings().limits(), early_stop=True)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("def check(c): assert c(1)", "def check(c): c = c.a; assert c(1)"),
        ("def check(c):\n    'é'\n    x", "def check(c):\n    c = c.a; 'é'\n    x"),
        ("def check(c):\r\n\tfor i in c: pass", "def check(c):\n\tc = c.a\n\tfor i in c: pass"),
        ("def check(c):\n  @d\n  def f(): pass", "def check(c):\n  c = c.a\n  @d\n  def f(): pass"),
        ("def check(): pass", "def check(): pass"),
        ("def other(c): pass", "def other(c): pass"),
    ],
)
def test_a_check_begins_with_what_its_candidate_has(test: str, expected: str) -> None:
    assert of_candidate(test, ".a") == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("def test_a():\n    assert f(1)", "from s import f\ndef test_a():\n    assert f(1)"),
        ("x = 1\ndef test_a(): g(f, x)", "from s import f, g; x = 1\ndef test_a(): g(f, x)"),
        ("'doc'\nfrom __future__ import annotations\nimport os\ndef test_a(): f(os, __file__)",
         "'doc'\nfrom __future__ import annotations\nfrom s import f; import os\ndef test_a(): f(os, __file__)"),
        ("def test_a():\n    assert 1", "def test_a():\n    assert 1"),
    ],
)  # fmt: skip
def test_a_file_without_an_import_gets_one(test: str, expected: str) -> None:
    assert importing(test, "s") == expected


WITHOUT = {
    "captures": "def test_a(capsys):\n    print(f(1))\n    assert capsys.readouterr().out == '2\\n'\n",
    "fixture": "import pytest\n@pytest.fixture\ndef two():\n    return f(1)\ndef test_a(two):\n    assert two == 2\n",
    "values": "def test_a():\n    assert f(1) == 2\n    assert f(4) == 5\n",
    "class": "class TestF:\n    def test_a(self, tmp_path):\n        assert f(1) == 2\n",
    "prompt": "def test_a(tmp_path):\n    assert Pair(f(1), 0).a == 2\n",
}


@pytest.mark.parametrize("name", WITHOUT)
async def test_pytest_s_files_need_not_import_the_answer(name: str, judge: Judge) -> None:
    prompt = "class Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n\ndef f(x):\n"
    row: dict[str, object] = {"entry_point": "f", "prompt": prompt, "test": WITHOUT[name]}
    found = [(await judge(f"def f(x):\n    return x + {n}", row)).reward for n in (1, 2)]
    assert found == [1.0, 0.0]
