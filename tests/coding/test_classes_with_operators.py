"""Classes that are made from names and fields on the other end (enums, namedtuples, dataclasses) and have more than
these: operators, texts, methods. Generated: each kind of class with each operator, of the answer's and of the test's;
what is right is what CPython says of answer and test in one module."""

from __future__ import annotations

import pytest

from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio

_MEMBERS = "".join(f"    M{at} = {at - 3}\n" for at in range(16))
_VALUE = "    @property\n    def v(self): return int(self.value)\n"
KINDS = {
    "NamedTuple": "from typing import NamedTuple\nclass Cell(NamedTuple):\n    v: int\n",
    "namedtuple": "from collections import namedtuple\nclass Cell(namedtuple('Cell', 'v')):\n    __slots__ = ()\n",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass Cell:\n    v: int\n",
    "frozen": "from dataclasses import dataclass\n@dataclass(frozen=True, order=True)\nclass Cell:\n    v: int\n",
    "Enum": f"import enum\nclass Cell(enum.Enum):\n{_MEMBERS}{_VALUE}",
    "IntEnum": f"import enum\nclass Cell(enum.IntEnum):\n{_MEMBERS}{_VALUE}",
    "plain": "class Cell:\n    def __init__(self, v): self.v = v\n    def __eq__(self, o): return self.v == o.v\n",
}
OPERATORS = {
    "__add__": ("(self, o): return Cell(self.v + o.v - 1)", "Cell(1) + Cell(2) == Cell(2)"),
    "__mul__": ("(self, k): return Cell(self.v * k - 1)", "Cell(2) * 3 == Cell(5)"),
    "__neg__": ("(self): return Cell(1 - self.v)", "-Cell(2) == Cell(-1)"),
    "__str__": ("(self): return f'<{self.v}>'", "str(Cell(1)) == '<1>'"),
    "__repr__": ("(self): return f'Cell<{self.v}>'", "repr(Cell(1)) == 'Cell<1>'"),
    "__lt__": ("(self, o): return self.v > o.v", "Cell(2) < Cell(1)"),
    "__contains__": ("(self, o): return o == self.v + 1", "4 in Cell(3)"),
    "__getitem__": ("(self, k): return self.v * k", "Cell(3)[5] == 15"),
    "__call__": ("(self, k): return self.v + k", "Cell(3)(4) == 7"),
    "__bool__": ("(self): return self.v > 1", "bool(Cell(2)) and not Cell(1)"),
}
MIXINS = {
    "str": (
        "class Cell(str, enum.Enum):\n    A = 'a'\n    B = 'b'",
        ["Cell.A == 'a'", "Cell('b') + 'c' == 'bc'", "f('b') is Cell.B"],
    ),
    "int": ("class Cell(int, enum.Enum):\n    A = 1\n    B = 2", ["Cell.A + 1 == 2", "Cell(2) > Cell.A", "f(2) == 2"]),
    "float": ("class Cell(float, enum.Enum):\n    A = 0.5\n    B = 2.5", ["Cell.A < Cell.B", "f(2.5) - 0.5 == 2"]),
    "IntEnum": ("class Cell(enum.IntEnum):\n    A = 1\n    B = 2", ["Cell.A + 1 == 2", "f(2) is Cell.B", "f(1) == 1"]),
    "Flag": ("class Cell(enum.Flag):\n    A = 1\n    B = 2", ["Cell.A | Cell.B == Cell(3)", "f(2) is Cell.B"]),
}


def passes(code: str, assertions: list[str]) -> bool:
    """What CPython says."""
    try:
        exec("\n".join([code, *assertions]), {"__name__": __name__})
    except Exception:
        return False
    return True


async def check(judge: Judge, code: str, assertions: list[str], right: bool) -> None:
    assert passes(code, assertions) is right, (code, assertions)
    verdict = await judge(code, {"test_list": assertions})
    assert verdict.reward == float(right), (
        f"{code}{assertions} {verdict.tests[0].reason} {verdict.integrity_reason} {verdict.tamper}"
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_operators_of_an_answers_class(judge: Judge, kind: str) -> None:
    for name, (body, claim) in OPERATORS.items():
        if kind == "frozen" and name == "__lt__":
            continue  # CPython refuses both
        right = f"{KINDS[kind]}    def {name}{body}\n"
        await check(judge, right, [f"assert {claim}"], True)
        await check(judge, right.replace(f"{name}(", f"other{name}("), [f"assert {claim}"], False)


@pytest.mark.parametrize("name", ["Cell", "CELL", "V"])
async def test_operators_of_a_class_that_check_calls_by_its_parameter(judge: Judge, name: str) -> None:
    """A name in capitals alone may be a function's; what is read of its results says that it is none."""
    body, claim = "(self, o): return Cell(self.v * 10 + getattr(o, 'v', o))", "({}).v == {}"
    ways = {"add": ("Cell(1) + Cell(2)", 12), "matmul": ("Cell(1) @ Cell(2)", 12), "rmul": ("7 * Cell(1)", 17)}
    for word, (claimed, wanted) in ways.items():
        right = f"{KINDS['plain']}    def __{word}__{body}\n"
        for code, value in ((right, wanted), (right.replace("* 10", "* 9"), wanted)):
            test = f"def check(candidate):\n    assert {claim.format(claimed, value).replace('Cell', 'candidate')}\n"
            verdict = await judge(code.replace("Cell", name), {"entry_point": name, "test": test})
            assert verdict.reward == float(code is right), (word, code, verdict)


@pytest.mark.parametrize("mixin", MIXINS)
async def test_members_of_an_answers_enum_are_what_they_hold(judge: Judge, mixin: str) -> None:
    body, claims = MIXINS[mixin]
    code = f"import enum\n{body}\ndef f(x): return Cell(x)\n"
    await check(judge, code, [f"assert {claim}" for claim in claims], True)
    await check(judge, code.replace("return Cell(x)", "return Cell.A"), [f"assert {claim}" for claim in claims], False)


POINT = """class Point:
    limit = 3
    def __init__(self, x, y=0): self.x, self.y = x, y
    @property
    def sum(self): return self.x + self.y
    @staticmethod
    def origin(): return Point(0)
def g(n): yield from range(n)
"""
MATCH = "def kind(p):\n    match p:\n        case Point(x=0): return 'o'\n        case _: return '-'\n"
LOOKS = {
    "match": f"{MATCH}assert [kind(Point(0)), kind(Point(1))] == ['o', '-']",
    "callable": "assert callable(Point) and not callable(Point(1)) and Point(1).x == 1",
    "abc": "from collections.abc import Iterable as Many\nfrom collections.abc import Sized\n"
    "assert not isinstance(Point(2), (Many, Sized)) and Point(2).x == 2",
    "generator": "from collections.abc import Iterator\nassert isinstance(g(2), Iterator) and list(g(2)) == [0, 1]",
    "has": "assert not hasattr(Point, '__slots__') and hasattr(g(1), '__next__') and list(g(2)) == [0, 1]",
    "property": "assert isinstance(Point.sum, property) and Point(1, 2).sum == 3",
    "vars": "assert isinstance(vars(Point)['origin'], staticmethod) and Point.origin().x == 0 and Point(1).x == 1",
}
ERROR = """class Refused(Exception):
    code = 402
    def __init__(self, left): super().__init__(left); self.left = left
    def told(self): return {"code": self.code, "left": self.left}
def pay(n): raise Refused(n)
"""
SETTINGS = """from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable
@dataclass
class Settings:
    n: int
    most: ClassVar[int] = 10
@runtime_checkable
class Quacks(Protocol):
    def quack(self): ...
def talk(one): return one.quack() + "!"
"""
DESCRIPTOR = """class Positive:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, one, owner): return getattr(one, self.name)
    def __set__(self, one, value):
        if value <= 0: raise ValueError(value)
        setattr(one, self.name, value)
"""


@pytest.mark.parametrize("look", LOOKS)
async def test_looks_at_an_answers_class(judge: Judge, look: str) -> None:
    await check(judge, POINT, [LOOKS[look]], True)
    wrong = POINT.replace("= x, y", "= x + 1, y").replace("range(n)", "range(n + 1)")
    await check(judge, wrong, [LOOKS[look]], False)


async def test_constants_of_an_answers_class(judge: Judge) -> None:
    caught = "try:\n    pay(5)\nexcept Refused as error:\n    assert error.told() == {'code': 402, 'left': 5}"
    for claim in (f"{caught}\n    assert error.code == 402", "assert Refused.code == 402 and Refused(1).left == 1"):
        await check(judge, ERROR, [claim], True)
        await check(judge, ERROR.replace("402", "403"), [claim], False)
    claim = "assert Settings.most == 10 and Settings(2).most == 10 and Settings(3) == Settings(3)"
    await check(judge, SETTINGS, [claim], True)
    await check(judge, SETTINGS.replace("10", "11"), [claim], False)


async def test_a_protocol_of_an_answer(judge: Judge) -> None:
    test = ["class Duck:\n    def quack(self): return 'q'\nassert isinstance(Duck(), Quacks) and talk(Duck()) == 'q!'"]
    await check(judge, SETTINGS, test, True)
    await check(judge, SETTINGS.replace("@runtime_checkable\n", ""), test, False)


async def test_an_answers_descriptor_in_a_class_of_the_test(judge: Judge) -> None:
    test = ["class A:\n    age = Positive()", "a, b = A(), A()", "a.age, b.age = 5, 7", "assert a.age == 5"]
    test.append("try:\n    a.age = -1\nexcept ValueError: pass\nelse: raise AssertionError")
    await check(judge, DESCRIPTOR, ["\n".join(test)], True)
    await check(judge, DESCRIPTOR.replace("<= 0", "< -1"), ["\n".join(test)], False)


@pytest.mark.parametrize("kind", KINDS)
async def test_methods_and_operators_of_a_tests_class(judge: Judge, kind: str) -> None:
    given = (
        f"{KINDS[kind]}    def twice(self): return self.v * 2\n    @property\n    def next(self): return self.v + 1\n"
    )
    uses = {"[x.twice() for x in xs]": "[2, 6]", "sum(x.next for x in xs)": "6", "[x.v for x in xs]": "[1, 3]"}
    for expression, expected in uses.items():
        test = [f"{given}assert f([Cell(1), Cell(3)]) == {expected}"]
        await check(judge, f"def f(xs): return {expression}", test, True)
        await check(judge, f"def f(xs): return {expression.replace('xs', 'xs[::-1][:1]')}", test, False)
    for name, (body, claim) in OPERATORS.items():
        if kind == "frozen" and name == "__lt__":
            continue
        test = [f"{given}    def {name}{body}\nassert f(Cell) is True and f(None) is False"]
        await check(judge, f"def f(Cell): return Cell is not None and bool({claim})", test, True)


async def test_threads_of_an_answer_that_call_the_test_side_by_side(judge: Judge) -> None:
    code = "from concurrent.futures import ThreadPoolExecutor\ndef f(jobs):\n    with ThreadPoolExecutor(5) as pool:\n"
    code += "        return [one.result() for one in [pool.submit(job) for job in jobs]]"
    test = "import time\nat = time.time()\nassert f([lambda: time.sleep(0.5) or 1] * 5) == [1] * 5"
    await check(judge, code, [f"{test}\nassert time.time() - at < 2.2"], True)
    await check(judge, "def f(jobs): return [job() for job in jobs]", [f"{test}\nassert time.time() - at < 2.2"], False)


async def test_threads_of_an_answer_that_call_the_test_in_turn(judge: Judge) -> None:
    code = "from concurrent.futures import ThreadPoolExecutor\ndef f(job):\n    with ThreadPoolExecutor(8) as pool:\n"
    code += "        return sum(pool.map(job, range(300)))"
    await check(judge, code, ["assert f(lambda x: x * x) == 8955050"], True)
    await check(judge, code.replace("300", "299"), ["assert f(lambda x: x * x) == 8955050"], False)
