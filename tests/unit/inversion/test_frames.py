"""Framed tests run here, in this process: what each says unchanged, changed in any of its places, and of a liar."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator
from random import Random

import pytest

from sandbox_gym.verifiers.inversion import Edit, Frame, edited, frame_of, said_by, variants_of

ASSERTIONS = [
    "assert f({n}) == {twice}",
    "assert {twice} == f({n}), 'message'",
    "assert f({n}) == (\n        {twice}\n    )  # over lines",
    "assert [f({n}), 0] == [{twice}, 0]",
    "assert f({n}) == {twice} and True",
    "assert f({n}) is not None and f({n}) == {twice}",
    "expected_{n} = {twice}\n    assert f({n}) == expected_{n}",
    "for n, want in [({n}, {twice}), ({more}, {most})]:\n        assert f(n) == want",
    "for n, want in [({n}, {twice}), ({more}, {most})]:\n        if n:\n            assert f(n) == want",
    "with raises(ValueError):\n        f(-{n})",
    "with raises(ValueError) as told:\n        f(-{n})\n    assert told.value.args == ({n},)",
    "if True:\n        assert f({n}) == {twice}",
    "def inner():\n        assert f({n}) == {twice}\n    inner()",
    "assert abs(f({n}) - {twice}) < 0.5",
    'assert f({n}) == {twice}, """a text\n    of lines"""',
]
UNFRAMED = [
    "def test_a(): assert f(1) == 2; assert f(2) == 4",
    "def test_a():\n    assert f(1) == 2; assert f(2) == 4",
    "def test_a():\n    assert f(1) == 2",
    "def test_a():\n    pass",
    "class A:\n    def test_a(self):\n        assert f(1) == 2\n        assert f(2) == 4\n",
    "def test_a(:",
    "def test_a():\n    assert f(1) == 2\n    assert f(2) == 4\n\n\ntest_a()",
    "@given(st.integers())\ndef test_a(n):\n    assert f(n) == 2 * n\n    assert f(1) == 2",
]


class Equal:
    """Equals everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __sub__(self, other: object) -> Equal:
        return self

    def __abs__(self) -> int:
        return 0


class Raises:
    """As pytest's."""

    def __init__(self, kind: type[Exception]) -> None:
        self.kind, self.value = kind, Exception()

    def __enter__(self) -> Raises:
        return self

    def __exit__(self, kind: type[Exception] | None, value: Exception, trace: object) -> bool:
        assert kind is not None, "did not raise"
        self.value = value
        return issubclass(kind, self.kind)


def true(n: int) -> object:
    if n < 0:
        raise ValueError(-n)
    return 2 * n


def liar(about: int) -> Callable[[int], object]:
    return lambda n: Equal() if n == about else true(n)


def made(seed: int) -> str:
    """A test of two to six assertions."""
    random = Random(seed)
    lines = [
        random.choice(ASSERTIONS).format(n=n, twice=2 * n, more=n + 500, most=2 * n + 1000)
        for n in random.sample(range(2, 400), random.randint(2, 6))
    ]
    return "def test_a():\n    " + "\n    ".join(["'''Doc.'''", *lines]) + "\n"


def said(source: str, edits: Iterator[Edit] | tuple[Edit, ...], f: Callable[..., object]) -> tuple[str, ...] | None:
    """What it says; None where it passes."""
    namespace: dict[str, object] = {"f": f, "raises": Raises}
    exec(compile(edited(source, edits), "test_a.py", "exec"), namespace)
    try:
        namespace["test_a"]()  # type: ignore[operator]
    except AssertionError as error:
        return said_by(f"E   AssertionError: {error}\n\ntest_a.py:9: AssertionError") or ("failed",)
    return None


def frames() -> Iterator[tuple[str, Frame]]:
    found = [(source, frame_of(source, "test_a")) for source in map(made, range(150))]
    kept = [(source, frame) for source, frame in found if frame is not None]
    assert len(kept) > 100
    yield from kept


def changing(frame: Frame, chosen: dict[int, int]) -> tuple[Edit, ...]:
    return (*(edit for at, way in chosen.items() for edit in frame.places[at].ways[way].edits), *frame.edits)


def zeros(ends: tuple[str, ...] | None) -> set[tuple[int, int]]:
    assert ends is not None
    return {(site, n) for site, one in enumerate(ends) for n, end in enumerate(one) if end == "0"}


def test_what_is_unchanged_holds_and_what_is_changed_fails_each_in_its_place() -> None:
    for source, frame in frames():
        unchanged = said(source, frame.edits, true)
        assert unchanged is not None, source
        assert all(one.strip("1") == "" for one in unchanged), source
        random = Random(source)
        for _ in range(4):
            places = random.sample(range(len(frame.places)), random.randint(1, len(frame.places)))
            chosen = {at: random.randrange(len(frame.places[at].ways)) for at in places}
            if not all(frame.places[at].ways[way].certain for at, way in chosen.items()):
                continue
            expected = {
                (frame.places[at].site, n)
                for at in places
                for n in range(len(unchanged[frame.places[at].site]))
                if frame.places[at].row in (None, n)
            }
            assert zeros(said(source, changing(frame, chosen), true)) == expected, source


def test_a_liar_in_one_place_is_told_wherever_that_changes() -> None:
    told = 0
    for source, frame in frames():
        chosen = {at: 0 for at, place in enumerate(frame.places) if place.ways[0].kind == "expected_value"}
        right = zeros(said(source, changing(frame, chosen), true))
        for about in range(2, 900):
            if f"({about})" in source and said(source, (), liar(about)) is None:
                told += zeros(said(source, changing(frame, chosen), liar(about))) != right
    assert told > 100


def test_of_many_rounds_that_end_alike_it_says_few_and_is_quick() -> None:
    source = "def test_a():\n    for n in range(300_000):\n        assert f(n) == n * 2\n    assert f(3) == 6\n"
    frame = frame_of(source, "test_a")
    assert frame is not None
    assert said(source, frame.edits, true) == ("1" * 24, "1")
    assert said(source, frame.edits, lambda n: 0 if n == 9 else true(n)) == ("failed",)  # more than it may say


def test_a_return_at_the_end_is_no_way_out() -> None:
    source = "def test_a():\n    assert f(1) == 2\n    assert f(2) == 4\n    return\n"
    frame = frame_of(source, "test_a")
    assert frame is not None
    assert said(source, frame.edits, true) == ("1", "1")


def test_nothing_is_turned_where_another_value_can_be_expected() -> None:
    """An object that equals everything fails `!=` by itself."""
    for source, frame in frames():
        kinds = [{way.kind for way in place.ways} for place in frame.places]
        assert all(not kind & {"negated_assertion", "opposite_assertion"} for kind in kinds), source


@pytest.mark.parametrize("form", ["f() in {}", "f().startswith({})", "f().issubset({})", "f().endswith({}) and True"])
def test_no_right_answer_among_several_passes_where_they_are_changed(form: str) -> None:
    """Another right fix may give another of them than the row's own does."""
    random = Random(form)
    seen = 0
    for _ in range(200):
        given: list[object] = random.sample([f"{word}{n}" for word in ("ab", "c_", "x") for n in range(4)], 3)
        if "with" not in form:
            given = random.choice([given, random.sample(range(12), 3), random.sample([1.5, 2.5, 10.5, 0.5], 2)])
        display = repr(tuple(given)) if "with" in form else random.choice([repr(tuple(given)), repr(given)])
        source = f"def test_a():\n    assert {form.format(display)}\n"
        for variant in variants_of(source, "test_a"):
            for one in given if variant.kind == "expected_value" else ():
                seen += 1
                assert said(source, variant.edits, lambda one=one: {one} if "issubset" in form else one) == ("failed",)
    assert seen > 100


@pytest.mark.parametrize("source", UNFRAMED)
def test_what_is_not_whole_lines_is_left_alone(source: str) -> None:
    frame = frame_of(source, "test_a")
    assert frame is None


def test_a_case_of_unittest_keeps_its_docstring_and_says_all() -> None:
    source = (
        "import unittest\n\n\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        '''Doc.'''\n"
        "        self.assertEqual(1 + 1, 2)\n        self.assertTrue(3)\n"
        "        with self.assertRaises(KeyError):\n            {}[1]\n"
    )
    frame = frame_of(source, "TestA.test_a")
    assert frame is not None
    assert len(frame.places) == 3
    for chosen, ends in (({}, ("1", "1", "1")), ({0: 0, 2: 0}, ("0", "1", "0")), ({1: 0}, ("1", "0", "1"))):
        namespace: dict[str, type[unittest.TestCase]] = {}
        exec(compile(edited(source, changing(frame, chosen)), "test_a.py", "exec"), namespace)
        case, result = namespace["TestA"]("test_a"), unittest.TestResult()
        case.run(result)
        assert case.shortDescription() == "Doc."
        assert [said_by(text) for _, text in result.failures] == [ends]
        assert not result.errors


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ("assertions ended 1|011|.", ("1", "011", "")),
        ("E   AssertionError: assertions ended 1|0.\n\nt.py:3: AssertionError", ("1", "0")),
        ('>   raise AssertionError("assertions ended " + x)\nE   AssertionError: assertions ended 0|0.', ("0", "0")),
        ("Doc.\n\n    More.\nE   AssertionError: assertions ended 1|1.\n\nt.py:9: AssertionError", ("1", "1")),
        ("assertions ended 1|2.", None),
        ("assertions ended " + "1|" * 400 + ".", None),
        ("", None),
    ],
)
def test_a_failures_text_is_read_strictly(detail: str, expected: tuple[str, ...] | None) -> None:
    assert said_by(detail) == expected
