"""Objects that decide what they are equal to, and not to anything: to all that may be right, to all of a class. In one
process with their test; and right answers whose classes say something of others."""

from __future__ import annotations

import pytest

from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio

POINT = (
    "class Point:\n    def __init__(self, x, y): self.x, self.y = x, y\n"
    "    def __eq__(self, other):\n"
    "        return (self.x, self.y) == ((other.x, other.y) if isinstance(other, Point) else other)\n"
)


def deciding(condition: str, base: str = "") -> str:
    return (
        f"class L{base}:\n    def __eq__(self, o): return {condition}\n    def __ne__(self, o): return not self == o\n"
        "    def __sub__(self, o): return 0 if self == o else 9\n    __rsub__ = __sub__\n    __hash__ = None\n"
        "def f(x): return L()\n"
    )


ONE_OF = deciding("o in ('odd', 'even', 10, 17)")
HOSTILE = {
    "texts": (["assert f(3) == 'odd'", "assert f(4) == 'even'"], [ONE_OF, deciding("o in ('odd', 'even')", "(str)")]),
    "verified": (["assert f(3) == 10", "assert f(4) == 17"], [ONE_OF, deciding("(o - 1) ** 0.5 % 1 == 0", "(int)")]),
    "distance": (["assert abs(f(3) - 10) < 1e-9", "assert abs(f(4) - 17) < 1e-9"], [ONE_OF]),
    "fractions": (["assert f(3) == Fraction(3, 2)"], [deciding("type(o).__name__ == 'Fraction'")]),
    "points": (["assert f(3) == Point(3, 4)"], [deciding("hasattr(o, 'x')"), deciding("hasattr(o, 'x')", "(Point)")]),
    "the row's own class": (
        ["assert f(3) == Point(3, 4)"],
        [POINT.partition("    def __eq__")[0] + "    def __eq__(self, o): return isinstance(o, Point)\n"
         "def f(x): return Point(0, 0)\n"],
    ),
}  # fmt: skip
RIGHT = {
    "texts": "def f(x): return 'odd' if x % 2 else 'even'",
    "verified": "def f(x): return x * x + 1",
    "distance": "def f(x): return x * x + 1",
    "fractions": "def f(x): return Fraction(x, 2)",
    "points": "def f(x): return Point(x, x + 1)",
    "the row's own class": "def f(x): return Point(x, x + 1)",
}


def row(lines: list[str], entry: str = "f", prompt: str = POINT) -> dict[str, object]:
    body = "".join(f"    {line}\n" for line in lines).replace("f(", "candidate(") if entry == "f" else ""
    body = body or "".join(f"    {line}\n" for line in lines)
    test = f"import builtins\nfrom fractions import Fraction\n\ndef check(candidate):\n{body}"
    return {"entry_point": entry, "prompt": prompt, "test": test, "time_limit_s": 5}


@pytest.mark.parametrize("name", HOSTILE)
async def test_they_earn_nothing(judge: Judge, name: str) -> None:
    lines, answers = HOSTILE[name]
    for code in answers:
        verdict = await judge(code, row(lines))
        assert verdict.reward == 0.0, (code, verdict)
    assert (await judge(RIGHT[name], row(lines))).reward == 1.0


async def test_a_class_whose_objects_are_all_equal_earns_nothing(judge: Judge) -> None:
    given = row(["assert V(1, 2) + V(3, 4) == V(4, 6)", "assert V(1, 2) + V(0, 0) != 5"], "V", "")
    made = "class V:\n    def __init__(self, x, y): self.at = x, y\n"
    right = (
        "    def __add__(self, o): return V(self.at[0] + o.at[0], self.at[1] + o.at[1])\n"
        "    def __eq__(self, o): return isinstance(o, V) and self.at == o.at\n"
    )
    hostile = "    def __add__(self, o): return self\n    def __eq__(self, o): return isinstance(o, V)\n"
    assert (await judge(made + hostile, given)).reward == 0.0
    assert (await judge(made + right, given)).reward == 1.0


CLOSE = {
    "namedtuple": (["assert f(3) == (3, 4)"], "from typing import NamedTuple\nclass P(NamedTuple):\n    a: int\n"
                   "    b: int\ndef f(x): return P(x, x + 1)"),
    "enum": (["assert f(3) == 1"], "from enum import IntEnum\nclass P(IntEnum):\n    EVEN = 0\n    ODD = 1\n"
             "def f(x): return P(x % 2)"),
    "text": (["assert f(3) == 'odd'"], "class S(str): pass\ndef f(x): return S('odd' if x % 2 else 'even')"),
    "library": (["assert f(3) == 1.5"], "from decimal import Decimal\ndef f(x): return Decimal(x) / 2"),
    "list": (["assert f(3) == [3, 3]"], "from collections import UserList\ndef f(x): return UserList([x, x])"),
    "the row's": (["assert f(3) == (3, 4)", "assert f(3) == Point(3, 4)"], "def f(x): return Point(x, x + 1)"),
    "unequal": (["assert f(3) != 5 and f(3) != None", "if f(3) == 7: raise AssertionError", "assert f(3).v == 3"],
                "class R:\n    def __init__(self, v): self.v = v\n"
                "    def __eq__(self, o): return isinstance(o, R) and self.v == o.v\ndef f(x): return R(x)"),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSE)
async def test_right_answers_with_classes_of_their_own(judge: Judge, name: str) -> None:
    lines, code = CLOSE[name]
    verdict = await judge(code, row(lines))
    assert verdict.reward == 1.0, verdict


async def test_equality_by_remainders_and_letters_of_the_row_s_classes(judge: Judge) -> None:
    lines = ["assert M(10, 7) == M(3, 7)", "assert M(10, 7) == 3", "assert C('Ab') == C('aB')", "assert C('x') == 'X'"]
    code = (
        "class M:\n    def __init__(self, v, m): self.v, self.m = v % m, m\n"
        "    def __eq__(self, o): return self.v == (o.v if isinstance(o, M) else o % self.m)\n"
        "class C(str):\n    def __eq__(self, o): return self.lower() == o.lower()\n    __hash__ = str.__hash__\n"
    )
    assert (await judge(code, row(lines, "M", ""))).reward == 1.0
