"""Variants of tests that are made at random and executed, and of every test file of Python's own and of ours."""

from __future__ import annotations

import ast
import random
import sys
import sysconfig
import unittest
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox_gym.verifiers.inversion import Edit, Variant, edited, variants_of

OURS = sorted((Path(__file__).parents[2]).rglob("test_*.py"))
PYTHONS = sorted((Path(sysconfig.get_paths()["stdlib"]) / "test").glob("test_*.py"))


class Maker:
    """Random tests that pass: values, assertions and the statements around them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def leaf(self) -> object:
        r = self.random
        return r.choice(
            [
                r.randint(-200, 10**6),
                r.choice([0, 1, -1, 10**30]),
                r.choice([0.5, -3.25, 1e-7, 2e300, 0.0, 100.0, float(r.random())]),
                r.choice([True, False, None]),
                "".join(r.choice("ab Zé-0\\\n'\"\t😀") for _ in range(r.randint(0, 9))),
                r.choice(["the quick brown fox", "v1.20", "x", "日本", b"\x00ab", b""]),
            ]
        )

    def value(self, depth: int = 2) -> object:
        r = self.random
        if depth == 0 or r.random() < 0.5:
            return self.leaf()
        inner = [self.value(depth - 1) for _ in range(r.randint(0, 3))]
        keys = [str(self.leaf()) for _ in inner]
        hashable = {one for one in (self.leaf() for _ in inner) if one is not None}
        return r.choice([inner, tuple(inner), dict(zip(keys, inner, strict=True)), hashable or [1]])

    def text(self, value: object) -> str:
        """A literal's text in one of its spellings."""
        r = self.random
        if isinstance(value, str) and r.random() < 0.3 and "\\" not in value and value[-1:] != '"':
            return f'"""{value}"""' if '"""' not in value else repr(value)
        if isinstance(value, str) and r.random() < 0.2:
            cut = len(value) // 2
            return f"({value[:cut]!r} # a note\n            {value[cut:]!r})"
        if type(value) is int and value > 0 and r.random() < 0.2:
            return r.choice([hex(value), bin(value), oct(value)])
        if isinstance(value, list) and r.random() < 0.5:
            return "[" + "".join(f"\n  {self.text(one)},  # ü 😀" for one in value) + "\n]"
        return repr(value)

    def assertion(self) -> str:
        r, value = self.random, self.value()
        text, other = self.text(value), repr(value)
        forms = [
            f"assert same({other}) == {text}",
            f"assert ({text} == same({other})), 'message'",
            f"assert same({other}) == same({other}) == {text}  # note",
            f"assert not same({other}) != {text} and True",
            f"self.assertEqual(same({other}), {text}, 'm')",
            f"self.assertEqual({text}, second=same({other}))",
            f"assert same({other}) is not  not_there",
            "assert (same(1) < 2 or\\\n 1)",
            "assert same({}) in [3, {}]".format("3", other),
            f"assert same({other}) not\tin [not_there]",
            "self.assertAlmostEqual(same(3.00000001), 3.0)",
            "self.assertAlmostEqual(same(20.5), 21.0, delta=1)",
            "with self.assertRaises(ValueError): fails()",
            "self.assertRaisesRegex((ValueError, KeyError), 'some words', fails)",
            "self.assertTrue(same(3) == 3)",
            "self.assertIs(same(None), None)",
            "self.assertIn(2, {1: 1, 2: 2})",
            "assert (n := same(5)) and n",
            "assert [one for one in (1, 2) if same(one)]",
            f"expected = {text}\nassert same({other}) == expected",
            f"expected = {text}; assert expected == same(expected)",
            f"for given, wanted in [({other}, {text}), (1, 1)]:\n\tassert same(given) == wanted",
            f"rows = [({other}, {text}), (1, 1)]\nfor given, wanted in rows:\n    assert same(given) == wanted",
        ]
        return r.choice(forms)

    def statement(self, depth: int = 2) -> str:
        r = self.random
        if depth == 0 or r.random() < 0.55:
            return self.assertion()
        inner = "\n".join(self.statement(depth - 1) for _ in range(r.randint(1, 2)))
        head = r.choice(
            [
                "if same(0):",
                "if same(1):",
                "for each in []:",
                "for each in same([]):",
                "for each in [1, 2]:",
                "for each in (7,):\n  if each == 7: break",
                "while same(0):",
                "with self.subTest():",
                "with open_nothing() as each:",
                "with suppress(AssertionError):",
                "with self.assertRaises(ValueError):\n  fails()",
                "def never():",
                "try:\n  pass\nfinally:",
                "try:\n  fails()\nexcept ValueError:",
                "if same(0):\n  return\nif 1:",
                "match same(1):\n case 2:",
            ]
        )
        pad = "  " if "match" in head else " "
        return head + "".join(f"\n{pad}{line}" for line in inner.split("\n"))

    def source(self) -> str:
        """A test whose lines are not those of a multi-line string where they would be moved."""
        r = self.random
        while True:
            body = [self.statement() for _ in range(r.randint(1, 4))]
            if r.random() < 0.2:
                body.insert(r.randint(0, len(body)), "if same(1): return")
            lines = "\n".join(body).split("\n")
            text = "# -*- coding: utf-8 -*-\n\fclass A(TestCase):\n\n    def test_a(self):\n" + "".join(
                f"        {line}\n" for line in lines
            )
            text = r.choice(["", "\ufeff"]) + text.replace("\n", r.choice(["\n", "\r\n", "\r"]))
            if parses(text) and passes(text):
                return text


class Nothing:
    def __enter__(self) -> int:
        return 1

    def __exit__(self, *error: object) -> None:
        pass


def fails() -> None:
    raise ValueError("some words to match")


def parses(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def passes(source: str) -> bool:
    """Whether the test does, executed by unittest."""
    from contextlib import suppress

    same: Callable[[object], object] = lambda value: value  # noqa: E731 - the answer's function
    names = {"same": same, "not_there": object(), "fails": fails, "open_nothing": Nothing, "suppress": suppress}
    names |= {"TestCase": unittest.TestCase}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source.removeprefix("\ufeff"), "test", "exec"), names)
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(names["A"]).run(result)  # type: ignore[arg-type]
    return result.wasSuccessful() and result.testsRun == 1


@pytest.mark.parametrize("seed", range(40))
def test_what_is_certain_to_fail_fails(seed: int) -> None:
    maker = Maker(seed)
    for _ in range(10):
        source = maker.source()
        for variant in variants_of(source, "A.test_a"):
            text = edited(source, variant.edits)
            assert parses(text), text
            assert text != source
            assert text.count("\n") == source.count("\n")
            assert text.count("\r") == source.count("\r")
            if variant.certain:
                assert not passes(text), f"{variant}\n{source}"


def test_most_of_the_tests_made_have_something_certain() -> None:
    maker = Maker(1000)
    found = [variants_of(maker.source(), "A.test_a") for _ in range(100)]
    assert sum(any(one.certain for one in each) for each in found) > 60
    assert {one.kind for each in found for one in each} == {
        "expected_value",
        "other_operand",
        "negated_assertion",
        "opposite_assertion",
        "other_exception",
    }


def names_in(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test"):
                    yield f"{node.name}.{each.name}"


def checked(source: str, test: str) -> tuple[Variant, ...]:
    found = variants_of(source, test)
    for variant in found:
        other = edited(source, variant.edits)
        assert other != source
        assert other.count("\n") == source.count("\n")
    at: list[Edit] = []
    for edit in (edit for variant in found for edit in variant.edits):  # as many as don't touch, parsed at once
        if not any(edit.start <= one.end and one.start <= edit.end for one in at):
            at.append(edit)
    assert parses(edited(source, at)), test
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("files", [OURS, PYTHONS], ids=["ours", "pythons"])
def test_real_tests_stay_python(files: list[Path]) -> None:
    """A sample of the files that the run's seed does not change, a few tests of each."""
    assert len(files) > 20
    choice = random.Random(7)
    for path in choice.sample(files, min(45, len(files))):
        try:
            source = path.read_bytes().decode()
            tests = list(names_in(source))
        except (UnicodeDecodeError, SyntaxError, ValueError):
            continue
        for test in choice.sample(tests, min(4, len(tests))):
            assert len(checked(source, test)) <= 12


def test_most_real_tests_can_be_turned() -> None:
    source = (PYTHONS[0].parent / "test_textwrap.py").read_text(encoding="utf-8") if PYTHONS else ""
    tests = list(names_in(source))
    assert len(tests) > 30
    assert sum(bool(variants_of(source, test)) for test in tests) > 0.9 * len(tests)


def test_a_large_source_takes_no_longer_than_its_parse() -> None:
    row = "    assert f('abc', [1, 2, 3]) == {'k': [1.5, 'some words in a row', (True, None)]}\n"
    source = "def test_a():\n" + row * (1_900_000 // len(row))
    assert sys.getsizeof(source) < 2_000_000
    assert len(variants_of(source, "test_a")) <= 12
    assert variants_of("#" * 2_100_000, "test_a") == ()
