"""Tests whose comparisons may not hold for want of a value: loops over no items, distances that are NaN, objects that
decide what they are equal to. Generated: each form of a test, with each answer that pleases it, apart and in one
process; and right answers that come close."""

from __future__ import annotations

import ast

import pytest

from sandbox_gym.verifiers.coding.functions.strict import strict
from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio

REPEAT = "def f(n): return [n] * n"
RANGE = "def f(n): return list(range(n))"
HALF = "def f(x): return x / 2"
PARITY = "def f(x): return 'odd' if x % 2 else 'even'"
NOTHING = {
    "list": "def f(n): return []",
    "dict": "def f(n): return {}",
    "generator": "def f(n): yield from ()",
    "array": "import numpy as np\ndef f(n): return np.empty((0, 3))",
    "rows": "from collections import defaultdict\ndef f(n): return defaultdict(lambda: 3)",
}
NANS = {
    "nan": "def f(x): return float('nan')",
    "scalar": "import numpy as np\ndef f(x): return np.float64('nan')",
    "array": "import numpy as np\ndef f(x): return np.array([np.nan])",
    "complex": "def f(x): return complex('nan')",
}
LOOPS = {
    "zip": ["for a, b in zip(f(3), [3, 3, 3]):", "    assert a == b"],
    "other way": ["for a, b in zip([3, 3, 3], f(3)):", "    assert a == b"],
    "held": ["got, want = f(3), [3, 3, 3]", "want = [3, 3, 3]", "for g, w in zip(got, want):", "    assert g == w"],
    "cases": [
        "for n, want in [(3, [3, 3, 3]), (2, [2, 2])]:",
        "    for g, w in zip(f(n), want):",
        "        assert g == w",
    ],
    "table": ["for one in CASES:", "    for g, w in zip(f(one['n']), one['want']):", "        assert g == w"],
    "index": ["want = [3, 3, 3]", "got = f(3)", "for i in range(len(got)):", "    assert got[i] == want[i]"],
    "enumerate": ["for i, one in enumerate(f(3)):", "    assert one == [3, 3, 3][i]"],
    "all": ["assert all(a == b for a, b in zip(f(3), [3, 3, 3]))"],
    "list": ["assert all([a == b for a, b in zip(f(3), [3, 3, 3])])"],
    "map": ["assert all(map(operator.eq, f(3), [3, 3, 3]))"],
    "not any": ["assert not any(map(operator.ne, f(3), [3, 3, 3]))"],
    "filter": ["assert not list(filter(lambda p: p[0] != p[1], zip(f(3), [3, 3, 3])))"],
    "bad ones": ["bad = [a for a, b in zip(f(3), [3, 3, 3]) if a != b]", "assert not bad"],
    "helper": ["same(f(3), [3, 3, 3])"],
    "raise": ["for a, b in zip(f(3), [3, 3, 3]):", "    if a != b:", "        raise AssertionError(a)"],
    "again": ["for _ in range(2):", "    for a, b in zip(f(3), [3, 3, 3]):", "        assert a == b"],
    "near": ["assert all(abs(a - b) < 1e-6 for a, b in zip(f(3), [3, 3, 3]))"],
    "is close": ["assert all(math.isclose(a, b) for a, b in zip(f(3), [3, 3, 3]))"],
    "distance": ["assert sum(abs(a - b) for a, b in zip(f(3), [3, 3, 3])) < 1e-6"],
    "squares": ["off = sum((a - b) ** 2 for a, b in zip(f(3), [3, 3, 3]))", "assert off < 1e-6"],
    "far ones": [
        "got, want = f(3), [3, 3, 3]",
        "assert not [i for i in range(len(got)) if abs(got[i] - want[i]) > 0.1]",
    ],
    "flag": ["ok = True", "for a, b in zip(f(3), [3, 3, 3]):", "    ok = ok and abs(a - b) < 1e-6", "assert ok"],
    "count": ["bad = 0", "for a, b in zip(f(3), [3, 3, 3]):", "    bad += a != b", "assert bad == 0"],
    "mapped": ["assert False not in map(operator.eq, f(3), [3, 3, 3])"],
    "mapped to a set": ["assert set(map(operator.eq, f(3), [3, 3, 3])) <= {True}"],
    "reduce": ["assert functools.reduce(lambda ok, p: ok and p[0] == p[1], zip(f(3), [3, 3, 3]), True)"],
    "both anew": ["for n in (2, 3):", "    want = [n] * n", "    assert all(a == b for a, b in zip(f(n), want))"],
}
NUMBERS = {
    "not greater": ["assert not abs(f(3) - 1.5) > 1e-6"],
    "raise": ["if abs(f(3) - 1.5) > 1e-6:", "    raise AssertionError"],
    "neither": ["assert not f(3) > 1.5 and not f(3) < 1.5"],
    "or": ["assert not (f(3) > 1.5 or f(3) < 1.5)"],
    "last": ["assert max(abs(a - b) for a, b in [(0.0, 0.0), (f(3), 1.5)]) < 1e-6"],
    "return": ["assert near(f(3), 1.5)"],
}
HEAD = """import functools
import math
import operator
{more}
CASES = [{{'n': 3, 'want': [3, 3, 3]}}, {{'n': 2, 'want': [2, 2]}}]

def same(got, want):
    for g, w in zip(got, want):
        assert g == w

def near(got, want):
    if got < want - 1e-9 or got > want + 1e-9:
        return False
    return True

"""
FORMS = {
    "check": "def check(f):\n{body}",
    "unittest": "import unittest\n\nclass TestF(unittest.TestCase):\n    def test_a(self):\n{body}",
}


def row(form: str, lines: list[str], apart: bool, **more: object) -> dict[str, object]:
    indent = " " * (4 if form == "check" else 8)
    test = FORMS[form].format(body="".join(f"{indent}{line}\n" for line in lines))
    head = HEAD.format(more="" if apart else "import builtins")
    return {"entry_point": "f", "test": head + test, "time_limit_s": 5, **more}


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
@pytest.mark.parametrize("name", LOOPS)
async def test_no_items_earn_nothing_where_some_are_expected(judge: Judge, name: str, apart: bool) -> None:
    for form in FORMS:
        given = row(form, LOOPS[name], apart)
        for code in NOTHING.values():
            verdict = await judge(code, given)
            assert verdict.reward == 0.0, (code, given["test"], verdict)
        assert (await judge(REPEAT, given)).reward == 1.0, given["test"]


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
@pytest.mark.parametrize("name", NUMBERS)
async def test_nan_is_no_number(judge: Judge, name: str, apart: bool) -> None:
    for form in FORMS:
        given = row(form, NUMBERS[name], apart)
        for code in NANS.values():
            verdict = await judge(code, given)
            assert verdict.reward == 0.0, (code, given["test"], verdict)
        assert (await judge(HALF, given)).reward == 1.0, given["test"]


NEGATIONS = (["assert not f(3) != 1.5"], ["if f(3) != 1.5:", "    raise AssertionError"], ["assert not f(3) - 1.5"])


@pytest.mark.parametrize("lines", NEGATIONS, ids=" ".join)
async def test_an_array_without_items_differs_from_nothing(judge: Judge, lines: list[str]) -> None:
    for form in FORMS:
        assert (await judge(NOTHING["array"], row(form, lines, True))).reward == 0.0
        assert (await judge(HALF, row(form, lines, True))).reward == 1.0


NEAR = {
    "no items are right": (REPEAT, ["for a, b in zip(f(0), []):", "    assert a == b"]),
    "a case without items": (
        REPEAT,
        ["for n, want in [(0, []), (2, [2, 2])]:", "    for g, w in zip(f(n), want):", "        assert g == w"],
    ),
    "a table for all": (
        "def f(n): return [p for p in (2, 3, 5, 7) if p <= n]",
        ["primes = [2, 3, 5, 7]", *(f"for a, b in zip(f({n}), primes): assert a == b" for n in (1, 5))],
    ),
    "the input": ("def f(x, n): return x[:n]", ["x = [1, 2]", "for a, b in zip(f(x, 0), x):", "    assert a == b"]),
    "more than is looked at": (
        "import itertools\ndef f(n): return itertools.repeat(n)",
        ["for a, b in zip(f(3), [3, 3]):", "    assert a == b"],
    ),
    "bound in the loop": (
        REPEAT,
        [
            "for n in (2, 0):",
            "    for i, one in enumerate(f(n)):",
            "        for want in [[2, 2]]:",
            "            assert one == want[i]",
        ],
    ),
    "bound beside it": (
        REPEAT,
        [f"assert all(f({n})[i] == want[i] for i in range(len(f({n}))) for want in [[2, 2]])" for n in (2, 0)],
    ),
    "not there": (
        REPEAT,
        ["case = {'n': 0}", "got = f(case['n'])", "for i in range(len(got)):", "    assert got[i] == case['want'][i]"],
    ),
    "not yet there": (
        REPEAT,
        [
            "for n in (0, 2):",
            "    for i, one in enumerate(f(n)):",
            "        assert one == want[i]",
            "    want = [2, 2]",
        ],
    ),
    "a table before a loop": (
        RANGE,
        [
            "want = [0, 1, 2]",
            "for n in range(4):",
            "    got = f(n)",
            "    for a, b in zip(got, want):",
            "        assert a == b",
        ],
    ),
    "a table in a loop": (
        RANGE,
        ["for n in range(4):", "    want = [0, 1, 2]", "    assert all(map(operator.eq, f(n), want))"],
    ),
    "a table by index": (
        RANGE,
        [
            "want, n = [0, 1, 2], 0",
            "while n < 4:",
            "    got, n = f(n), n + 1",
            "    for i in range(len(got)):",
            "        assert got[i] == want[i]",
        ],
    ),
    "a table of generators": (RANGE, ["assert all(all(a == b for a, b in zip(f(n), [0, 1, 2])) for n in range(4))"]),
    "a table of a helper": (
        RANGE,
        [
            "def upto(n):",
            "    got = f(n)",
            "    want = [0, 1, 2]",
            "    for a, b in zip(got, want):",
            "        assert a == b",
            "    return len(got)",
            "assert [upto(n) for n in range(4)] == [0, 1, 2, 3]",
        ],
    ),
    "without arguments": (
        "def f(): return [3, 3]",
        [
            "want = [3, 3]",
            "for i, one in enumerate(f()):",
            "    assert one == want[i]",
            "for i in range(len(f())):",
            "    assert f()[i] == 3",
        ],
    ),
    "neighbours": (
        "def f(x): return sorted(x)",
        ["for x in ([], [1], [2, 1]):", "    got = f(x)", "    assert all(a <= b for a, b in zip(got, got[1:]))"],
    ),
    "a table of names": (
        RANGE,
        [
            "found, got, names = {}, f(3), 'abcdef'",
            "for i in range(len(got)):",
            "    if got[i] > 1:",
            "        found[names[i]] = got[i]",
            "for name, one in zip('abcdef', f(4)):",
            "    if one > 2:",
            "        found.setdefault(name, one)",
            "assert found == {'c': 2, 'd': 3}",
        ],
    ),
    "pairs in a loop": (
        REPEAT,
        ["made = {}", "for name, one in zip(['a', 'b'], f(0)):", "    made[name] = one", "assert made == {}"],
    ),
    "pairs": (REPEAT, ["assert dict(zip(['a', 'b'], f(0))) == {}", "assert dict(zip('ab', f(2))) == {'a': 2, 'b': 2}"]),
    "nan is expected": (
        "def f(x): return x ** 0.5 if x >= 0 else float('nan')",
        ["assert not f(-1) > 0  # it is NaN", "assert f(4) == 2"],
    ),
    "nan elsewhere": (
        "def f(x): return {'mean': x, 'deviation': float('nan')}",
        ["assert f(3)['mean'] == 3 and f(3)['mean'] < 4"],
    ),
    "nan is not itself": ("def f(x): return float('inf') * x", ["got = f(0)", "assert got != got", "assert f(1) > 1"]),
    "in a text": (HALF, ["assert f'{f(3) > 1}' == 'True'", "assert (y := f(4)) > 1 and y < 3"]),
}


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
@pytest.mark.parametrize("name", NEAR)
async def test_right_answers_that_come_close(judge: Judge, name: str, apart: bool) -> None:
    code, lines = NEAR[name]
    for form in FORMS:
        given = row(form, lines, apart)
        verdict = await judge(code, given)
        assert verdict.reward == 1.0, (given["test"], verdict)


def test_the_text_keeps_its_lines_and_what_is_no_comparison() -> None:
    for form in FORMS:
        for lines in (*LOOPS.values(), *NUMBERS.values(), *(lines for _, lines in NEAR.values())):
            source = str(row(form, lines, True)["test"])
            changed = strict(source, {"f"})
            assert changed.count("\n") == source.count("\n")
            ast.parse(changed)
    for same in (
        "def check(f):\n    assert f(1) == 2\n",
        "x = 1 < 2\n",
        "def check(f):\n    for a in [1]: assert f(a)\n",
    ):
        assert strict(same, {"f"}) == same
    assert strict("no python", {"f"}) == "no python"
