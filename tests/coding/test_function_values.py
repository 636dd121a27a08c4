"""Values of functions that are no builtins count as what they hold; so do long integers and calls without arguments."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding import parse_task
from sandbox_gym.verifiers.coding.functions.wire import BadReply, decode
from tests.coding.conftest import Judge

IMPORTS = """
import array, collections, decimal, enum, fractions, types
import numpy as np, sympy
"""
EQUAL: list[tuple[str, object]] = [
    ("fractions.Fraction(1, 2)", 0.5), ("[fractions.Fraction(6, 2)]", [3]), ("decimal.Decimal('2.50')", 2.5),
    ("decimal.Decimal('1e3')", 1000), ("decimal.Decimal('-Infinity')", float("-inf")), ("sympy.binomial(4, 2)", 6),
    ("sympy.Rational(1, 4)", 0.25), ("sympy.Float('0.25')", 0.25), ("{'b': 1, 'a': 2}.keys()", ["b", "a"]),
    ("{'a': [1]}.values()", [[1]]), ("{'a': 1}.items()", [["a", 1]]), ("range(3)", [0, 1, 2]), ("[range(0)]", [[]]),
    ("array.array('d', [0.5])", [0.5]), ("collections.UserList('ab')", ["a", "b"]), ("np.arange(2)", [0, 1]),
    ("collections.ChainMap({'a': 1}, {'b': 2})", {"b": 2, "a": 1}), ("types.MappingProxyType({'a': 1})", {"a": 1}),
    ("enum.IntEnum('E', 'A')(1)", 1), ("10**5000", 10**5000),
]  # fmt: skip
DIFFERENT: list[tuple[str, object]] = [
    ("fractions.Fraction(1, 3)", 0.5), ("decimal.Decimal('0.6')", 0.5), ("decimal.Decimal('sNaN')", 0.5),
    ("decimal.Decimal('1e999999999')", 1), ("fractions.Fraction(7**200000, 3**200000)", 1), ("range(10**30)", [0]),
    ("range(1)", [0, 1]), ("{1, 2}", [1, 2]), ("(x for x in [1])", [1]), ("object()", 1), ("10**5000", 10**5000 + 1),
]  # fmt: skip


@pytest.fixture
def long_integers() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(60_000)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.anyio
@pytest.mark.usefixtures("long_integers")
async def test_values_count_as_what_they_hold(judge: Judge) -> None:
    for cases, reward in ((EQUAL, 1.0), (DIFFERENT, 0.0)):
        for code, expected in cases:
            row: dict[str, object] = {"unit_tests": {"inputs": [""], "outputs": [json.dumps(expected)], "fn_name": "f"}}
            verdict = await judge(f"{IMPORTS}\ndef f():\n    return {code}", row)
            assert verdict.reward == reward, (code, verdict.tests)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["json.dumps", "json.loads", "os.read", "os.write"])
async def test_an_answer_may_replace_what_a_library_has(judge: Judge, name: str) -> None:
    source = f"import json, os\n{name} = print\ndef f(x):\n    return [x, {{'a': x}}]"
    row: dict[str, object] = {"unit_tests": {"inputs": ["1"], "outputs": ['[1, {"a": 1}]'], "fn_name": "f"}}
    assert (await judge(source, row)).reward == 1.0
    test = "def check(candidate):\n    assert candidate(abs)[0](-2) == 2"
    assert (await judge(source, {"test": test, "entry_point": "f"})).reward == 1.0


def test_an_integer_may_have_as_many_digits_as_in_livecodebench() -> None:
    for digits, fits in ((50_000, True), (50_001, False)):
        row = {"unit_tests": {"inputs": ["9" * digits], "outputs": ["1"], "fn_name": "f"}}
        if fits:
            parse_task(row, limits=Settings().limits(), early_stop=True)
        else:
            with pytest.raises(RequestError, match=r"inputs\[0\]"):
                parse_task(row, limits=Settings().limits(), early_stop=True)


@pytest.mark.parametrize("wire", [["q", "0x1", "0x0"], ["q", "0x1"], ["q", 1, 2], ["q", "f" * 9000, "0x2"]])
def test_malformed_rational_numbers(wire: object) -> None:
    with pytest.raises(BadReply):
        decode(wire)
