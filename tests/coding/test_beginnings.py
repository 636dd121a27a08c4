"""Tests that go through what an answer gave beside what is expected: a beginning of that is not enough. Generated: each
form of such a test with answers that end early; and right answers that come close."""

from __future__ import annotations

import pytest

from tests.coding.conftest import Judge
from tests.coding.test_strict import FORMS, LOOPS, REPEAT, row

pytestmark = pytest.mark.anyio

EARLY = {
    "list": "def f(n): return [n] * (n - 1)",
    "generator": "def f(n):\n    for _ in range(n - 1):\n        yield n",
    "tuple": "def f(n): return (n,) * (n > 0)",
    "range": "def f(n): return range(n, n + 1)",
}
NODES = """class Node:
    def __init__(self, val=0, next=None):
        self.val, self.next = val, next

def made(items):
    first = None
    for item in reversed(items):
        first = Node(item, first)
    return first

"""
CHAIN = f"{NODES}def f(n): return made([n, n + 1, n + 2])"
CHAINS = {
    "none": f"{NODES}def f(n): return None",
    "first": f"{NODES}def f(n): return made([n])",
    "two": f"{NODES}def f(n): return made([n, n + 1])",
}
WHILES = {
    "index": ["node, i = f(3), 0", "want = [3, 4, 5]", "while node:", "    assert node.val == want[i]", "    i += 1",
              "    node = node.next"],
    "not none": ["node = f(3)", "want = (3, 4, 5)", "i = 0", "while node is not None:",
                 "    assert node.val == want[i], i", "    node = node.next", "    i += 1"],
    "cases": ["for n, want in ((3, [3, 4, 5]), (1, [1, 2, 3])):", "    node, at = f(n), 0", "    while node:",
              "        assert want[at] == node.val", "        node, last = node.next, node", "        at += 1"],
    "raise": ["node, i = f(3), 0", "want = [3, 4, 5]", "while node:", "    if node.val != want[i]:",
              "        raise AssertionError", "    node = node.next", "    i += 1"],
}  # fmt: skip


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
@pytest.mark.parametrize("name", [name for name in LOOPS if name != "helper"])
async def test_a_beginning_earns_nothing(judge: Judge, name: str, apart: bool) -> None:
    for form in FORMS:
        given = row(form, LOOPS[name], apart)
        for code in EARLY.values():
            verdict = await judge(code, given)
            assert verdict.reward == 0.0, (code, given["test"], verdict)


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
@pytest.mark.parametrize("name", WHILES)
async def test_a_chain_that_ends_early_earns_nothing(judge: Judge, name: str, apart: bool) -> None:
    for form in FORMS:
        given = row(form, WHILES[name], apart)
        for code in CHAINS.values():
            verdict = await judge(code, given)
            assert verdict.reward == 0.0, (code, given["test"], verdict)
        assert (await judge(CHAIN, given)).reward == 1.0, given["test"]


RIGHT = {
    "longer": (REPEAT, ["for a, b in zip(f(4), [4, 4]):", "    assert a == b"]),
    "a table for two": (REPEAT, ["many = [2, 2, 2]", "for a, b in zip(f(2), many): assert a == b", "assert many"]),
    "asked for its length": (REPEAT, ["w = [2, 2]", "assert len(f(2)) == len(w)", "assert list(f(2)) == w"]),
    "the shortest of three": (REPEAT, ["for a, b, c in zip(f(2), [2, 2], 'abc'):", "    assert a == b and c"]),
    "left before the end": (REPEAT, ["for a, b in zip(f(2), [2, 2, 9]):", "    assert a == b", "    if b: break"]),
    "any": (REPEAT, ["assert any(a == b for a, b in zip(f(2), [2, 7, 9]))"]),
    "not all": (REPEAT, ["assert not all(a == b for a, b in zip(f(2), [1, 7, 9]))"]),
    "neighbours": (
        "def f(n): return list(range(n))",
        ["got = f(4)", "for a, b, d in zip(got, got[1:], [1, 1, 1]): assert b - a == d"],
    ),
    "by steps": (REPEAT, ["got, w = f(4), [4, 0, 4, 0]", "for i in range(0, len(got), 2): assert got[i] == w[i]"]),
    "but the last": (REPEAT, ["got, want = f(3), [3, 3, 9]", "for i in range(len(got) - 1): assert got[i] == want[i]"]),
    "keys": (
        "def f(n): return {'a': n}",
        ["got, want = f(3), {'a': 3, 'b': 4}", "for key in got: assert got[key] == want[key]"],
    ),
    "an input": ("def f(x): return x[:1]", ["x = [4, 5]", "for a, b in zip(f(x), x): assert a == b"]),
    "an iterator": (REPEAT, ["for a, b in zip(f(2), iter([2, 2, 5])): assert a == b"]),
    "a helper for both": (
        REPEAT,
        ["pairs = [(f(2), [2, 2]), ([1], [1])]", "for got, want in pairs: same(got, want)", "same([5], f(5))"],
    ),
    "a chain from the second": (
        CHAIN,
        ["node, i = f(3).next, 1", "want = [3, 4, 5]", "while node:", "    assert node.val == want[i]", "    i += 1",
         "    node = node.next"],
    ),
    "counted before": (
        CHAIN,
        ["node, i = f(3), -1", "want = [3, 4, 5]", "while node:", "    i += 1", "    assert node.val == want[i]",
         "    node = node.next"],
    ),
    "a chain and a bound": (
        CHAIN,
        ["node, i = f(3), 0", "want = [3, 4]", "while node and i < len(want):", "    assert node.val == want[i]",
         "    i += 1", "    node = node.next"],
    ),
    "until one is found": (
        CHAIN,
        ["node, i = f(3), 0", "want = [3, 4, 9]", "while node:", "    assert node.val == want[i]", "    i += 1",
         "    node = node.next", "    if i == 2: break"],
    ),
    "none is right": (
        f"{NODES}def f(n): return made([])",
        ["node, i = f(3), 0", "want = []", "while node:", "    assert node.val == want[i]", "    i += 1",
         "    node = node.next"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
@pytest.mark.parametrize("name", RIGHT)
async def test_right_answers_that_come_close(judge: Judge, name: str, apart: bool) -> None:
    code, lines = RIGHT[name]
    for form in FORMS:
        given = row(form, lines, apart)
        verdict = await judge(code, given)
        assert verdict.reward == 1.0, (given["test"], verdict)
