"""An order may be of a class that has one operator alone: a variant asks no more of it than the test does."""

from __future__ import annotations

import operator
import unittest
from collections.abc import Callable

import pytest

from sandbox_gym.verifiers.inversion import edited, variants_of

NAMES = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}
ASSERTIONS = {"<": "Less", "<=": "LessEqual", ">": "Greater", ">=": "GreaterEqual"}
OPERATORS: dict[str, Callable[..., bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}  # fmt: skip


def thing(how: str, lies: bool) -> type:
    """A class of objects with one operator, which may hold for whatever it is given."""

    def compare(self: object, other: object) -> bool:
        return lies or OPERATORS[how](self.at, other.at)  # type: ignore[attr-defined]

    return type("Thing", (), {"__init__": lambda self, at: setattr(self, "at", at), NAMES[how]: compare})


def passes(source: str, cls: type) -> bool:
    """Whether the test holds. Raises what it raises but for AssertionError."""
    space: dict[str, object] = {"Thing": cls, "unittest": unittest}
    exec(source, space)
    case = space["TestIt"]("test_it")  # type: ignore[operator]
    try:
        case.test_it()
    except AssertionError:
        return False
    return True


def forms(how: str) -> list[str]:
    a, b = (1, 2) if "<" in how else (2, 1)
    pairs = [(f"Thing({a})", f"Thing({b})"), (f"[Thing({a})][-1]", f"max([Thing({b})], key=id)")]
    pairs += [("a", "b"), ("[a, b].pop(0)", "[b].pop()")]
    said = [f"assert {x} {how} {y}, 'why'" for x, y in pairs]
    said += [f"self.assertTrue(({x}) {how} ({y}))" for x, y in pairs]
    said += [f"self.assert{ASSERTIONS[how]}({x}, {y})" for x, y in pairs]
    said += [f"self.assert{ASSERTIONS[how]}(\n            {x},  # a, b\n            {y}, msg='why')" for x, y in pairs]
    head = "class TestIt(unittest.TestCase):\n    def test_it(self):\n        "
    return [f"import unittest\n{head}a, b = Thing({a}), Thing({b})\n        {one}\n" for one in said]


@pytest.mark.parametrize("how", NAMES)
def test_each_variant_fails_by_the_tests_own_operator(how: str) -> None:
    honest, lies = thing(how, lies=False), thing(how, lies=True)
    for source in forms(how):
        assert passes(source, honest), source
        found = [one for one in variants_of(source, "TestIt.test_it") if one.certain]
        for variant in found:
            other = edited(source, variant.edits)
            assert other.count("\n") == source.count("\n")
            assert not passes(other, honest), other
            # an object that says yes to everything is found where the variant asks it the other way round
            turned = how in ("<", ">") and not any(word in other for word in (".pop", "assertTrue", "assertFalse"))
            assert passes(other, lies) is turned, other


@pytest.mark.parametrize("how", NAMES)
def test_numbers_have_each_order(how: str) -> None:
    number = 3 if "<" in how else 1
    source = f"def check(f):\n    assert f(2) {how} {number}\n"
    (found,) = [one for one in variants_of(source, "check") if one.kind == "negated_assertion"]
    assert f"f(2) {how} {number}" not in edited(source, found.edits)
