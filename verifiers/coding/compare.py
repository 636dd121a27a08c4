"""Compares outputs: LiveCodeBench's rules for text, and values of functions. Pure; survives any input."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, InvalidOperation
from numbers import Integral, Real
from typing import Final, Literal

Comparison = Literal["exact", "code_gen"]
"""Of values that functions return: integers and text exactly, or as loosely as NeMo Gym's code_gen."""
COMPARISONS: Final[tuple[Comparison, ...]] = ("exact", "code_gen")
ABSOLUTE: Final = 1e-8
RELATIVE: Final = 1e-5
"""numpy.allclose's own, which code_gen takes."""
ABSOLUTE_BESIDE_INTEGERS: Final = 1e-5
"""LeetCode's: a float that should be an integer may have been rounded, and no more."""
_TOKEN_MAX = 10_000
_SAYS_NAN = re.compile(
    r"NaN|(?i:(?<![a-z])(?:is|[qs])?nan[fl]?(?![a-z]))"
    r"|(?<![a-z])nan(?:arg)?(?:max|min|sum|prod|mean|std|var|median|cum|quantile|percentile|_to_num)"
)
_SHOWN = 120


def explain_stdout(got: bytes, expected: str, float_tolerance: float | None = None) -> str:
    """Why `got` is not `expected`; empty where they match. Lines are stripped, then compared as text or as decimals.
    Source of the rules: LiveCodeBench's stdio grader. Work and memory are bounded by `expected`, beyond one pass over
    `got`. Bytes that are no UTF-8 match nothing."""
    try:
        expected.encode("utf-8")
    except UnicodeEncodeError:
        return "the expected output holds lone surrogates, which no output matches"
    output, wanted = got.decode("utf-8", "surrogateescape").strip(), expected.strip()
    if output == wanted:
        return ""
    count, wanted_count = output.count("\n") + 1, wanted.count("\n") + 1
    if count != wanted_count:
        return f"{count} lines of output, expected {wanted_count}"
    pairs = zip(output.split("\n"), wanted.split("\n"), strict=True)
    for number, (line, want) in enumerate(pairs, 1):
        line, want = line.strip(), want.strip()
        if line != want and not _tokens_equal(line, want, float_tolerance):
            return f"line {number}: got {shown(line)}, expected {shown(want)}"
    return ""


def says_nan(text: str) -> bool:
    """Whether a text or a program speaks of NaN, by itself or in a name of Python's, numpy's, C's or JavaScript's; a
    word that has these letters (`finance`) does not."""
    return _SAYS_NAN.search(text) is not None


def shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN // 2] + "…" + text[-_SHOWN // 2 :])


def _tokens_equal(line: str, wanted_line: str, float_tolerance: float | None) -> bool:
    wanted = wanted_line.split()
    got = line.split(None, len(wanted))  # one more than wanted is enough to know
    if len(got) != len(wanted):
        return False
    return all(_token_equal(mine, theirs, float_tolerance) for mine, theirs in zip(got, wanted, strict=True))


def _token_equal(got: str, wanted: str, float_tolerance: float | None) -> bool:
    left, right = _decimal(got), _decimal(wanted)
    if float_tolerance is None:
        return left is not None and right is not None and left == right
    if got == wanted:
        return True
    if float_tolerance == 0:
        return left is not None and left == right
    if left is None or right is None or not (left.is_finite() and right.is_finite()):
        return False
    mine, theirs = float(left), float(right)
    if not _finite(mine, theirs):
        return left == right
    return abs(mine - theirs) <= float_tolerance * max(1.0, abs(theirs))


def _decimal(token: str) -> Decimal | None:
    """The token's number; None for text, for NaN and for a very long token."""
    if len(token) > _TOKEN_MAX:
        return None
    try:
        value = Decimal(token)
    except (InvalidOperation, ValueError):
        return None
    return None if value.is_nan() else value


def _finite(*numbers: float) -> bool:
    return all(math.isfinite(number) for number in numbers)


def values_equal(
    got: object, expected: object, float_tolerance: float | None = None, comparison: Comparison = "exact"
) -> bool:
    """`got` was rebuilt from the wire, so it is an exact builtin value or a Fraction; `expected` is JSON. Tuples and
    ranges count as lists at any depth, and keys that JSON can't spell as the strings that it makes of them.

    `exact`: Python's `==`, but floats may be off: two of them by `RELATIVE` of the expected one or `ABSOLUTE`, a float
    and an integer by `ABSOLUTE_BESIDE_INTEGERS`; both by `float_tolerance` where there is one. `code_gen`: also numbers
    and numerals of any type that are close as numpy.allclose has it, outside containers.
    """
    got = _as_lists(got)
    if comparison == "code_gen":
        return _code_gen_equal(got, expected, float_tolerance)
    return _same(got, expected, float_tolerance)


def _same(got: object, expected: object, tolerance: float | None) -> bool:
    if isinstance(got, range) and isinstance(expected, list):
        got = None if got[len(expected) :] else list(got)  # its length may be any
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(
            _same(mine, theirs, tolerance) for mine, theirs in zip(got, expected, strict=True)
        )
    if isinstance(got, dict) and isinstance(expected, dict):
        spelled = {_spelled(key): value for key, value in got.items()}
        return (
            len(spelled) == len(got)
            and spelled.keys() == expected.keys()
            and all(_same(value, expected[key], tolerance) for key, value in spelled.items())
        )
    if isinstance(got, Real) and isinstance(expected, Real):
        return _numbers_same(got, expected, tolerance)
    return bool(got == expected)


def _spelled(key: object) -> object:
    """An object's key as JSON writes it."""
    if key is None or isinstance(key, bool | int | float):
        return json.dumps(key)
    return key


def _numbers_same(got: Real, expected: Real, tolerance: float | None) -> bool:
    if got == expected:
        return True
    if isinstance(got, Integral) and isinstance(expected, Integral):
        return False
    try:
        mine, theirs = float(got), float(expected)
    except OverflowError:
        return False
    if math.isnan(mine) and math.isnan(theirs):
        return True
    if not _finite(mine, theirs):
        return False
    off = abs(mine - theirs)
    if tolerance is not None:
        return tolerance > 0 and off <= tolerance * max(1.0, abs(theirs))
    if isinstance(got, Integral) or isinstance(expected, Integral):
        return off <= ABSOLUTE_BESIDE_INTEGERS
    return off <= ABSOLUTE + RELATIVE * abs(theirs)


def _code_gen_equal(got: object, expected: object, float_tolerance: float | None) -> bool:
    if got == expected:
        return True
    try:
        if _spells(got, json.dumps(expected)):
            return True
    except (TypeError, ValueError, RecursionError):
        pass  # no JSON value, so not equal in that way
    return _close(got, expected, float_tolerance)


def _spells(value: object, text: str) -> bool:
    """Whether `text` is the value's JSON, which is computed only up to the first difference."""
    end = 0
    for part in json.JSONEncoder().iterencode(value):
        if not text.startswith(part, end):
            return False
        end += len(part)
    return end == len(text)


def _as_lists(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_as_lists(item) for item in value]
    return {key: _as_lists(item) for key, item in value.items()} if isinstance(value, dict) else value


def _close(got: object, expected: object, float_tolerance: float | None) -> bool:
    if float_tolerance is not None and isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(
            mine == theirs or _close(mine, theirs, float_tolerance) for mine, theirs in zip(got, expected, strict=True)
        )
    if not isinstance(got, int | float | str) or not isinstance(expected, int | float | str):
        return False
    try:
        mine, theirs = float(got), float(expected)
    except (ValueError, OverflowError):
        return False
    if not _finite(mine, theirs):
        return False
    if float_tolerance is not None:
        return abs(mine - theirs) <= float_tolerance * max(1.0, abs(theirs))
    return abs(mine - theirs) <= ABSOLUTE + RELATIVE * abs(theirs)
