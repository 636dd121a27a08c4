"""What a test reads of what the answer gave, and where its operators have the answer's objects as operands."""

from __future__ import annotations

import ast

import pytest

from sandbox_gym.verifiers.coding.functions.reads import (
    attributes_read,
    operates,
    read_of_classes,
    read_of_results,
    reads_of_made,
    suspected,
)


@pytest.mark.parametrize(
    ("test", "groups"),
    [
        ("x = Fraction(3, 4)\nassert x.numerator == 3\nassert f(1).startswith('a')", (("startswith",),)),
        ("got = f(1)\nassert got.left.value == 3", (("left",), ("value",))),
        ("c = f(2)\nc.put(1)\nassert c.get(1) == 1", (("get", "put"),)),
        ("for one in f(2):\n    assert one.name", (("name",),)),
        ("with pytest.raises(ValueError) as e:\n    f(1)\nassert e.value.code == 3", (("code",),)),
        ("def same(a):\n    return a.size\nassert same(f(1)) == 3", (("size",),)),
        ("x = f(1)\nassert hasattr(x, 'area') and getattr(x, 'side', 0) == 3", (("area", "side"),)),
    ],
)
def test_attributes_are_grouped_by_what_they_are_read_of(test: str, groups: tuple[tuple[str, ...], ...]) -> None:
    assert attributes_read(ast.parse(test), {"f"}, set()) == groups


@pytest.mark.parametrize(
    ("test", "does"),
    [
        ("assert Vector(1) + Vector(2) == Vector(3)", True),
        ("v = Vector(1)\nassert (v * 2).x == 2", True),
        ("vs = [Vector(1)]\nfor v in vs:\n    assert v < 3", True),
        ("s = Vector()\nassert abs(s.size(3) - 4.0) < 0.1", False),
        ("assert abs(Vector().size(3) - 4.0) < 0.1", False),
        ("assert f(3) - 1 == 2", False),
    ],
)
def test_an_operand_is_what_the_test_constructs_itself(test: str, does: bool) -> None:
    assert operates(ast.parse(test), {"Vector"}) is does


def test_what_methods_gave_is_told_from_what_they_are_called_on() -> None:
    test = ast.parse("s = Stack()\ns.pop()\nt = s.text()\nassert t.strip() == s.name().upper()")
    assert read_of_results(test, {"Stack"}) == {"strip", "upper"}


@pytest.mark.parametrize(
    ("test", "does"),
    [
        ("d = DSU(3)\nassert d.find(1) == 1", True),
        ("assert DSU(3).count == 3", True),
        ("class T:\n    def setUp(self):\n        self.d = DSU(3)\n    def test(self):\n        self.d.find(1)", True),
        ("d = {'a': DSU(3)}\nd['a'].find(1)", True),
        ("ds = [DSU(1), DSU(2)]\nds[0].find(1)", True),
        ("class T:\n    def test(self):\n        self.n = DSU(3, 6)\n        self.assertEqual(self.n, 3)", False),
        ("assert DSU(2) == DSU(2)", True),
        ("assert DSU(2) < DSU(3)", False),
        ("assert DSU(3, 6) == 3", False),
        ("n = DSU(3, 6)\nassert n > 2 and f.name == 3", False),
    ],
)
def test_a_class_in_capitals_is_told_from_a_function_by_attributes(test: str, does: bool) -> None:
    assert reads_of_made(ast.parse(test), {"DSU"}) is does


def test_suspected() -> None:
    looks = ["type(f(1)).__name__ == 'A'", "f(1).__class__ is A", "not callable(f(1))", "hasattr(f(1), '__iter__')"]
    for said in (*looks, "isinstance(f(1), Iterable)", "issubclass(A, (B, abc.Sized))"):
        assert "classes" in suspected(ast.parse(f"assert {said}")), said
    assert "classes" in suspected(ast.parse("match f(1):\n    case A(x=0): pass"))
    for said in (
        "isinstance(f(1), A) and f.__name__ == 'f'",
        "hasattr(f(1), 'x')",
        "getattr(f, 'x', None)",
        "hasattr()",
    ):
        assert not suspected(ast.parse(f"assert {said}\nA = type('A', (), {{}})")), said
    assert "time" in suspected(ast.parse("at = time.time()\nassert f(1) and time.time() - at < 1"))


def test_what_is_read_of_a_class_is_told_from_what_is_read_of_its_instances() -> None:
    test = ast.parse("c = Calc(1)\nc.pop()\nassert Calc.add(1, 2) == solution.Calc.get(3).index(4)\nother.sort()")
    assert read_of_classes(test, {"Calc"}) == {"add", "get"}
