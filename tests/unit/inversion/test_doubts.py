"""The doubting test: it fails every object that claims to be what it is not, and passes every honest answer."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from sandbox_gym.verifiers.inversion import doubted

FORMS = [
    "assert f(3) == 10",
    "assert 10 == f(3), 'no'",
    "assert not (f(3) != 10)",
    "from operator import eq\n    assert eq(f(3), 10)",
    "match f(3):\n        case 10 | 11:\n            pass\n        case _:\n            raise AssertionError",
    "match f(3):\n        case 10 if True:\n            pass\n        case _:\n            raise AssertionError",
    "assert (f(3) == 10) is True",
    "assert f(3) in (10,)",
    "assert f(3).__eq__(10)",
    "assert f(3) - 10 == 0",
    "assert round(f(3) - 10, 6) == 0",
    "assert (f(3) - 10) ** 2 < 1e-9",
    "assert -1e-6 < f(3) - 10 < 1e-6",
    "assert abs(f(3) - 10) <= 1e-6",
    "assert [f(3), 1] == [10, 1]",
    "assert {'a': (f(3), 1)} == {'a': (10, 1)}",
    "ok = f(3) == 10\n    assert ok",
    "got, expected = f(3), 10\n    assert got == expected, f'{got} {expected}'",
    "if f(3) != 10:\n        raise AssertionError",
    "assert all(f(x) == y for x, y in [(3, 10)])",
    "assert all(map(lambda t: f(t[0]) == t[1], [(3, 10)]))",
    "assert not any(f(x) != y for x, y in [(3, 10)])",
    "assert sum(f(x) == y for x, y in [(3, 10)]) == 1",
    "assert [f(x) == 10 for x in (3,)] == [True]",
    "for x, y in [(3, 10)]:\n        assert f(x) == y and f(x) == y",
    "t = __import__('unittest').TestCase()\n    t.assertEqual(f(3), 10)",
    "t = __import__('unittest').TestCase()\n    t.assertAlmostEqual(10, f(3), places=3)",
    "t = __import__('unittest').TestCase()\n    t.assertTrue(f(3) == 10)",
]


def _same(self: object, *_others: object) -> object:
    return self


def _yes(*_others: object) -> bool:
    return True


def _no(*_others: object) -> bool:
    return False


SAME = ("sub", "rsub", "add", "radd", "mul", "pow", "truediv", "abs", "round", "neg")
OPERATORS: dict[str, object] = {f"__{name}__": _same for name in SAME}
OPERATORS |= {f"__{name}__": _yes for name in ("eq", "lt", "le", "gt", "ge", "bool")}
OPERATORS |= {"__ne__": _no, "__hash__": object.__hash__}


def once() -> Callable[..., bool]:
    """True for what is asked first, and false from then on."""
    asked: list[object] = []

    def equal(_self: object, other: object) -> bool:
        asked.append(other)
        return len(asked) == 1

    return equal


def liars() -> Iterator[Any]:
    yield type("Liar", (), OPERATORS)()
    yield type("Liar", (int,), OPERATORS)(1)
    yield type("Liar", (float,), OPERATORS)(1)


def always(value: object) -> Callable[[int], object]:
    return lambda _x: value


def check_of(body: str) -> Callable[[Callable[[int], object]], None]:
    space: dict[str, Any] = {}
    text = doubted(f"def check(f):\n    {body}\n")
    assert text
    exec(text, space)
    check: Callable[[Callable[[int], object]], None] = space["check"]
    return check


@pytest.mark.parametrize("form", FORMS)
def test_an_object_that_equals_everything_fails_and_the_right_number_passes(form: str) -> None:
    check = check_of(form)
    for right in (10, 10.0, Fraction(10), Decimal(10)):
        check(always(right))
    for liar in liars():
        with pytest.raises(AssertionError):
            check(always(liar))


def test_the_first_question_is_about_what_is_wrong() -> None:
    space: dict[str, Any] = {}
    exec("def check(f):\n    assert f(3) == 10\n", space)
    space["check"](lambda _x: type("Once", (), {"__eq__": once(), "__hash__": None})())
    with pytest.raises(AssertionError):
        check_of("assert f(3) == 10")(lambda _x: type("Once", (), {"__eq__": once(), "__hash__": None})())


class Colour(str, Enum):  # noqa: UP042 - as answers write it
    RED = "red"


class Pair(NamedTuple):
    x: int
    y: int


@dataclass
class Point:
    x: int
    y: int


class Vector:
    def __init__(self, *parts: int) -> None:
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return self.parts == (other.parts if isinstance(other, Vector) else other)

    def __hash__(self) -> int:
        return hash(self.parts)


class Query:
    """What it equals is an expression, no truth."""

    def __init__(self, *parts: object) -> None:
        self.parts = parts

    def __eq__(self, other: object) -> Query:  # type: ignore[override]
        return Query(self, other)

    __hash__ = None  # type: ignore[assignment]


HONEST: list[tuple[Any, str]] = [
    (Colour.RED, "assert f(3) == 'red'"),
    (Pair(1, 2), "assert f(3) == (1, 2)"),
    (Point(1, 2), "assert f(3) == f(4)"),
    (Vector(1, 2), "assert f(3) == (1, 2)"),
    ([Vector(1), 2], "assert f(3) == [(1,), 2]"),
    (Query(1), "assert (f(3) == 5).parts[1] == 5"),
    (Counter("aab"), "assert f(3) == {'a': 2, 'b': 1} and f(3)['a'] == 2"),
    (OrderedDict(a=1), "assert f(3) == {'a': 1}"),
    (defaultdict(list, a=[1]), "assert f(3) == {'a': [1]}"),
    (Fraction(1, 2), "assert f(3) == 0.5 and f(3) >= 0.5 and f(3) - 1 < 0"),
    ([Decimal(3)] * 1000, "assert f(3) == [3] * 1000"),
    (frozenset({1, 2}), "assert f(3) == {1, 2}"),
    (float("inf"), "assert f(3) == float('inf')"),
    (None, "assert f(3) is None"),
    (True, "assert f(3) == 1 and f(3) is True"),
    ([], "assert f(3) == [] and not f(3)"),
    (Decimal(50), "assert f(3) >= 10 and f(3) != 10 and f(3) - 10 > -1"),
    (Decimal(19), "assert (f(3) - 10) ** 2 < 100"),
]


@pytest.mark.parametrize("value, form", HONEST, ids=[form for _, form in HONEST])
def test_honest_objects_pass(value: object, form: str) -> None:
    check_of(form)(always(value))


def test_what_is_expected_to_fail_is_left_alone() -> None:
    for body in (
        "with pytest.raises(AssertionError):\n        assert f(3) == 11",
        "try:\n        assert f(3) == 11\n    except AssertionError:\n        pass",
        "pass",
    ):
        assert doubted(f"def check(f):\n    {body}\n") == ""
    assert doubted("@pytest.mark.xfail\ndef test_f():\n    assert f(3) == 11\n") == ""


def test_each_call_is_made_once() -> None:
    calls: list[int] = []

    def f(x: int) -> Fraction:
        calls.append(x)
        return Fraction(x)

    check_of("assert f(1) == 1\n    assert abs(f(2) - 2) < 1e-6\n    assert f(3) == f(4) - 1")(f)
    assert calls == [1, 2, 3, 4]
