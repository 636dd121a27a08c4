"""Right answers whose test compares parts of them, or of what it has: none is refused for having fewer items."""

from __future__ import annotations

import pytest

from tests.coding.conftest import Judge
from tests.coding.test_strict import FORMS, REPEAT, row

pytestmark = pytest.mark.anyio

FIRST = "def f(n): return [2, 3, 5, 7, 11, 13][:n]"
TABLE = "primes = [2, 3, 5, 7, 11, 13]"
RIGHT = {
    "sliced": (REPEAT, ["for a, b in zip(f(5)[:2], [5, 5, 9]): assert a == b"]),
    "sliced before": (REPEAT, ["got = f(5)[:2]", "for a, b in zip(got, [5, 5, 9]): assert a == b"]),
    "by steps": (REPEAT, ["for a, b in zip(f(5)[::2], [5, 5, 5, 9]): assert a == b"]),
    "islice": (
        "def f(n):\n    while True:\n        yield n",
        ["from itertools import islice", "for a, b in zip(islice(f(5), 2), [5, 5, 9]): assert a == b"],
    ),
    "all, sliced": (REPEAT, ["assert all(a == b for a, b in zip(f(5)[:2], [5, 5, 9]))"]),
    "a table in a loop, zip": (
        FIRST,
        [TABLE, "for n in (1, 3, 6):", "    for a, b in zip(f(n), primes): assert a == b"],
    ),
    "a table in a loop, places": (
        FIRST,
        [TABLE, "for n in (1, 3, 6):", "    for i, p in enumerate(f(n)): assert p == primes[i]"],
    ),
    "a table in a loop, range": (
        FIRST,
        [TABLE, "for n in range(1, 6):", "    got = f(n)", "    for i in range(len(got)): assert got[i] == primes[i]"],
    ),
    "a table, all": (FIRST, [TABLE, "for n in range(6): assert all(a == b for a, b in zip(f(n), primes))"]),
    "a table, in a comprehension": (
        FIRST,
        [TABLE, "assert all(all(a == b for a, b in zip(f(n), primes)) for n in range(6))"],
    ),
    "a table beside a length": (
        FIRST,
        [TABLE, "got = f(3)", "assert len(got) == 3", "for a, b in zip(got, primes): assert a == b"],
    ),
    "a table, an answer that stops": (
        "def f(n): return [p for p in [2, 3, 5, 7, 11, 13] if p < n]",
        [TABLE, "got = f(6)", "assert max(got) == 5", "for i, p in enumerate(got): assert p == primes[i]"],
    ),
    "three at once": (REPEAT, ["for i, a, b in zip(range(2), f(5), [5, 5, 9, 9]): assert a == b"]),
    "a helper with a table": (
        FIRST,
        ["def same(got):", "    for a, b in zip(got, [2, 3, 5, 7, 11, 13]): assert a == b", "same(f(2))", "same(f(4))"],
    ),
    "a helper that begins": (
        FIRST,
        ["def begins(got, w):", "    return all(a == b for a, b in zip(got, w))", TABLE, "assert begins(f(3), primes)"],
    ),
    "while, a table": (
        FIRST,
        [TABLE, "for n in (1, 4):", "    got, i = f(n), 0", "    while got:", "        assert got.pop(0) == primes[i]",
         "        i += 1"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
@pytest.mark.parametrize("name", RIGHT)
async def test_parts_of_a_table_are_enough(judge: Judge, name: str, apart: bool) -> None:
    code, lines = RIGHT[name]
    for form in FORMS:
        given = row(form, lines, apart)
        verdict = await judge(code, given)
        assert verdict.reward == 1.0, (given["test"], verdict)
