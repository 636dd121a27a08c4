"""Values of functions: integers and text exactly, floats within a tolerance, at any depth; code_gen's rule by name."""

from __future__ import annotations

import math
from itertools import product
from typing import get_args

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import open_engine
from sandbox_gym.errors import RequestError
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from sandbox_gym.verifiers.coding.compare import COMPARISONS, Comparison, explain_stdout, says_nan, values_equal

SAME: list[tuple[object, object]] = [
    (7, 7), (True, 1), (0, False), (2, 2.0), (2.0, 2), (0.1 + 0.2, 0.3), (1e300, 1e300 * (1 + 1e-6)),
    (2.9999999999999996, 3), (3.000001, 3), (3, 3.000001), (123456.7, 123456.8), (math.inf, math.inf),
    (math.nan, math.nan), ("", ""), ("000101", "000101"), (None, None), (10**400, 10**400), ((1, (2,)), [1, [2]]),
    (-0.0, 0), ({}, {}), ({"a": (1,)}, {"a": [1]}), ({1: 2}, {"1": 2}), ({2: "b", 1: "a"}, {"1": "a", "2": "b"}),
    ({None: 1, True: 2, 1.5: 3}, {"null": 1, "true": 2, "1.5": 3}),
]  # fmt: skip
OTHER: list[tuple[object, object]] = [
    (1000000012, 1000000007), (1000000012.0, 1000000007), (1000000012, 1000000007.0), (10**18 + 1, 10**18),
    ("000101", "101"), (101, "101"), ("101", 101), ("1.0", "1"), (1, "1"), (True, "true"), (None, 0), ("", 0),
    (3.0001, 3), (2, 2.5), (0.5, 0.6), (math.nan, 1.0), (math.inf, 1e308), (math.inf, -math.inf), (10**400, 1.0),
    ([1], [1, 1]), ([1], [2]), ({1, 2}, [1, 2]), ({"a": 1}, {"b": 1}), ({1: 1, "1": 2}, {"1": 2}), ([1], {"0": 1}),
    (2, 1), (False, None), (1 + 1e-3j, 1),
]  # fmt: skip
PAID_BY_CODE_GEN = [(1000000012, 1000000007), ("000101", "101"), (101, "101"), ("101", 101), ("1.0", "1")]


def wrapped(value: object) -> list[object]:
    return [value, [value], [[0, value]], {"k": value}, [{"k": [value]}]]


@pytest.mark.parametrize(("got", "expected"), SAME)
def test_the_same(got: object, expected: object) -> None:
    for mine, theirs in zip(wrapped(got), wrapped(expected), strict=True):
        assert values_equal(mine, theirs)


@pytest.mark.parametrize(("got", "expected"), OTHER)
def test_not_the_same(got: object, expected: object) -> None:
    for mine, theirs in zip(wrapped(got), wrapped(expected), strict=True):
        assert not values_equal(mine, theirs)


def test_integers_of_all_sizes_are_as_python_has_them() -> None:
    numbers = [sign * (10**power + off) for power in range(0, 24, 3) for off in (-1, 0, 1) for sign in (1, -1)]
    for got, expected in product(numbers, numbers):
        assert values_equal(got, expected) is (got == expected)
        assert values_equal([got], [expected], 0.5) is (got == expected)


def test_a_tolerance_of_the_rows_own() -> None:
    assert values_equal([1.05], [1.0], 0.1)
    assert values_equal(1.05, 1, 0.1)
    assert not values_equal(2, 1, 5.0)
    assert not values_equal(0.1 + 0.2, 0.3, 0)
    assert values_equal(2, 2.0, 0)
    assert explain_stdout(b"50000000000000001", "50000000000000000", 0)
    assert explain_stdout(b"0.30000000000000004", "0.3", 0)
    assert explain_stdout(b"0.50", "0.5", 0) == ""


def test_code_gens_rule_by_its_name() -> None:
    for got, expected in PAID_BY_CODE_GEN:
        assert values_equal(got, expected, None, "code_gen")
    assert not values_equal([0.1 + 0.2], [0.3], None, "code_gen")
    assert get_args(Comparison) == COMPARISONS


def row(**fields: object) -> dict[str, object]:
    return {"unit_tests": {"fn_name": "f", "inputs": ["1"], "outputs": ["1000000007"]}, **fields}


def test_the_row_says_which_over_the_server() -> None:
    def parsed(given: dict[str, object], comparison: Comparison = "exact") -> str:
        return parse_task(given, limits=Limits(), early_stop=True, comparison=comparison).comparison

    assert parsed(row()) == "exact"
    assert parsed(row(), "code_gen") == "code_gen"
    assert parsed(row(comparison="exact"), "code_gen") == "exact"
    assert parsed(row(comparison="code_gen")) == "code_gen"
    with pytest.raises(RequestError, match="comparison"):
        parsed(row(comparison="loose"))
    zero = parse_task(row(float_tolerance=0), limits=Limits(), early_stop=True)
    assert zero.tolerance == 0


@pytest.mark.anyio
async def test_in_a_verify() -> None:
    settings = Settings(provider="local")
    answer = Answer("```python\ndef f(x):\n    return 1000000012\n```")
    rewards = []
    async with open_engine(settings) as engine:
        for given in (row(), row(comparison="code_gen")):
            task = parse_task(given, limits=settings.limits(), early_stop=True)
            rewards.append((await engine.verify(CodingVerifier(), task, answer)).verdict.reward)
    assert rewards == [0.0, 1.0]


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        *((f"x = {name}(y)", True) for name in ("math.isnan", "isnan", "np.nanmax", "nanargmin", "Number.isNaN")),
        *((word, True) for word in ("nan", "NAN", "Nan", "-nan", "float('nan')", "quiet_NaN", "equal_nan=True")),
        *((word, False) for word in ("finance", "banana", "BANANA", "nanny", "nano", "Nancy", "covenant", "dominance")),
    ],
)  # fmt: skip
def test_who_speaks_of_nan(text: str, speaks: bool) -> None:
    assert says_nan(text) is speaks
