"""Variants of tests: each kind's form, and what is certain of it."""

from __future__ import annotations

import textwrap

import pytest

from sandbox_gym.verifiers.inversion import Edit, Variant, edited, variants_of


def variants(source: str, test: str = "test_a") -> tuple[Variant, ...]:
    return variants_of(textwrap.dedent(source), test)


def turned(source: str, variant: Variant) -> str:
    return edited(textwrap.dedent(source), variant.edits)


def one_line(assertion: str) -> set[tuple[str, str, bool]]:
    """(kind, the line's own change, certain) of each variant of a test of one line."""
    source = f"def test_a(self, x):\n    {assertion}\n"
    return {
        (one.kind, edited(source, one.edits).split("\n", 1)[1].strip(), one.certain)
        for one in variants_of(source, "test_a")
    }


@pytest.mark.parametrize(
    "assertion, kind, becomes",
    [
        ("assert f() == True", "expected_value", "assert f() == False"),
        ("assert f() is None", "expected_value", "assert f() is True"),
        ("assert f() == 0b1", "expected_value", "assert f() == 0b0"),
        ("assert f() == 'some words here'", "expected_value", "assert f() == 'words some here'"),
        ("assert f() == g() == b'\\x00-'", "expected_value", "assert f() == g() == b'\\x00_'"),
        ("assert f() == [0x1f, x]", "negated_assertion", "assert f() != [0x1f, x]"),
        ("assert f() < 3, 'm'", "negated_assertion", "assert f() >= 3, 'm'"),
        ("assert f() not  in x", "negated_assertion", "assert f() in x"),
        ("assert f() is not None", "negated_assertion", "assert f() is None"),
        ("assert not x", "negated_assertion", "assert x"),
        ("assert(not x)", "negated_assertion", "assert(x)"),
        ("assert (x, 1)", "negated_assertion", "assert not ((x, 1))"),
        ("assert (y := f(x)), y", "negated_assertion", "assert (not (y := f(x))), y"),
        ("assert x or f()", "negated_assertion", "assert not (x or f())"),
        ("assert x < f() < 3", "negated_assertion", "assert not x < f() < 3"),
        ("assert f(x)", "negated_assertion", "assert not f(x)"),
        ("assert lambda: x", "negated_assertion", "assert not (lambda: x)"),
        ("self.assertEqual(f(), True)", "expected_value", "self.assertEqual(f(), False)"),
        ("self.assertIsNone(x)", "opposite_assertion", "self.assertIsNotNone(x)"),
        ("self.assertLessEqual(x, 3)", "opposite_assertion", "self.assertGreater(x, 3)"),
        ("self.assertDictEqual({}, x)", "opposite_assertion", "self.assertNotEqual({}, x)"),
        ("mock.f.assert_called_once_with(1, 'a')", "mock", "mock.f.assert_not_called()"),
        ("mock.f.assert_not_called()", "mock", "mock.f.assert_called()"),
        ("assert abs(f() - 1.5) < 1e-6", "expected_value", "assert abs(f() - 1.4) < 1e-6"),
        ("assert abs(3 - f()) <= 0.5", "expected_value", "assert abs(5 - f()) <= 0.5"),
        ("assert np.allclose(f(), [1, 2])", "expected_value", "assert np.allclose(f(), [1, 1])"),
        ("assert (f() == np.array([1, 2])).all()", "expected_value", "assert (f() == np.array([1, 1])).all()"),
        ("assert np.isclose(f(), [1, 2]).all()", "expected_value", "assert np.isclose(f(), [1, 3]).all()"),
        ("assert np.linalg.norm(f() - [4.0]) < 1", "expected_value", "assert np.linalg.norm(f() - [9.0]) < 1"),
        ("assert math.isclose(f(), 3.25)", "expected_value", "assert math.isclose(f(), 3.15)"),
        ("assert operator.eq(f(), 3)", "expected_value", "assert operator.eq(f(), 2)"),
    ],
)
def test_a_line_becomes(assertion: str, kind: str, becomes: str) -> None:
    assert (kind, becomes, True) in one_line(assertion)


@pytest.mark.parametrize(
    "assertion",
    ["f(x)", "assert_that(x)", "pass", "self.log('x')", "with open(x): pass", "self.assertRaises(ValueError)"],
)
def test_what_asserts_nothing_has_no_variant(assertion: str) -> None:
    assert one_line(assertion) == set()


@pytest.mark.parametrize(
    "assertion",
    [
        "assert f(x) == pytest.approx(1.0, rel=x)",
        "assert {'a': pytest.approx(1.0)} == {'a': 1.0}",
        "assert 'a' in f(x)",
        "assert f(x) == Decimal('1.5')",
        "self.assertRenders(x, 'text')",
        "assert_allclose(f(x), 1.0)",
        "self.assertAlmostEqual(f(x), 1.0, places=x)",
        "self.assertCountEqual(f(x), {'a': 1})",
        "assert np.allclose(f(x), 3.0)",
        "assert np.allclose(f(x), [3.0], atol=x)",
        "assert f(x).startswith('abc')",
        "assert (f(x) == np.array([1, 2], dtype=bool)).all()",
        "assert np.all(f(x) == 5)",
        "assert abs(g(f(x) - 1.5)) < 1e-6",
        "assert np.linalg.norm(f(x) - 1.5) < 1e-6",
        "assert f(x).equals(pd.DataFrame({'a': [1, 2]}))",
        "assert f(x) == x",
    ],
)
def test_a_changed_constant_that_may_pass_is_not_certain(assertion: str) -> None:
    assert not any(kind == "expected_value" and certain for kind, _, certain in one_line(assertion))


def test_frames_that_are_compared_have_another_value() -> None:
    found = one_line("assert_frame_equal(f(x), pd.DataFrame({'a': [1, 2]}))")
    assert ("expected_value", "assert_frame_equal(f(x), pd.DataFrame({'a': [2, 2]}))", False) in found


def test_what_no_constant_tells_is_compared_with_a_pair() -> None:
    assert ("other_operand", "assert f(x) == (x, None)", True) in one_line("assert f(x) == x")
    assert ("other_operand", "assert f(x).dtype == (int, None)", False) in one_line("assert f(x).dtype == int")
    assert ("other_operand", "self.assertEqual(f(x), (y, None))", True) in one_line("self.assertEqual(f(x), y)")


@pytest.mark.parametrize(
    "assertion, tolerance",
    [
        ("assert f() == pytest.approx(3.25, rel=0.2)", 0.2 * 3.25),
        ("assert f() == pytest.approx(100, abs=7)", 7),
        ("self.assertAlmostEqual(f(), 100, delta=20)", 20),
        ("self.assertAlmostEqual(f(), 8, None, None, 2)", 2),
    ],
)
def test_a_number_changes_by_more_than_its_tolerance(assertion: str, tolerance: float) -> None:
    namespace: dict[str, list[float]] = {}
    for kind, text, certain in one_line(assertion):
        if kind == "expected_value" and certain:
            numbers = [
                float(word)
                for word in text.replace("(", " ").replace(",", " ").replace(")", " ").split()
                if word[:1].isdigit()
            ]
            namespace.setdefault("new", []).append(numbers[0])
    old = 3.25 if "3.25" in assertion else 8 if " 8," in assertion else 100
    assert all(abs(new - old) > 2 * tolerance for new in namespace.get("new", []))
    assert namespace.get("new") or "None" in assertion


REACHED = """
    import pytest
    def test_a(x):
        with open(x):
            assert f() == 1
        for y, z in [(1, 2), (3, 4)]:
            assert y == z + 1
        try:
            assert f() == 3
        finally:
            close()
    """
NOT_REACHED = [
    "if x:\n        assert f() == 1",
    "for y in x:\n        assert f() == 1",
    "while x:\n        assert f() == 1",
    "for y in []:\n        assert f() == 1",
    "for y in [1, 2]:\n        if y: continue\n        assert f() == 1",
    "try:\n        assert f() == 1\n    except AssertionError:\n        pass",
    "def inner():\n        assert f() == 1",
    "if x: return\n    assert f() == 1",
    "with pytest.raises(ValueError):\n        assert f() == 1",
    "with contextlib.suppress(AssertionError):\n        assert f() == 1",
    "assert f() == 1\n    yield",
    "match x:\n        case 1:\n            assert f() == 1",
    "if x:\n        pytest.skip('x')\n    assert f() == 1",
    "with self.assertRaises(x), y:\n        assert f() == 1",
]


def test_what_a_passing_test_must_have_reached_is_certain() -> None:
    assert {one.line for one in variants(REACHED) if one.certain} == {5, 6, 7, 9}


@pytest.mark.parametrize("body", NOT_REACHED)
def test_what_a_passing_test_may_not_have_reached_is_not_certain(body: str) -> None:
    found = [one for one in variants_of(f"def test_a(x):\n    {body}\n", "test_a") if one.kind != "other_exception"]
    assert found
    assert not any(one.certain for one in found)


@pytest.mark.parametrize(
    "head",
    [
        "@pytest.mark.skipif(x, reason='')",
        "@unittest.skip('x')",
        "@pytest.fixture(autouse=True)\ndef f(): pytest.skip()\n",
    ],
)
def test_a_test_that_may_be_skipped_has_nothing_certain(head: str) -> None:
    found = variants_of(f"{head}\ndef test_a():\n    assert f() == 1\n", "test_a")
    assert found
    assert not any(one.certain for one in found)


@pytest.mark.parametrize("mark", ["pytest.mark.xfail", "unittest.expectedFailure", "pytest.mark.xfail(strict=True)"])
def test_a_test_that_must_fail_already_has_no_variant(mark: str) -> None:
    assert variants_of(f"@{mark}\ndef test_a():\n    assert f() == 1\n", "test_a") == ()


def test_a_method_of_an_own_class_is_not_taken_for_unittests() -> None:
    source = """
    class T(TestCase):
        def assertEqual(self, a, b): pass
        def test_a(self):
            self.assertEqual(f(), 1)
    """
    assert not any(one.certain for one in variants(source, "T.test_a"))


def test_names_find_their_function() -> None:
    source = """
    def test_a(): assert 1 == f()
    class A:
        class B(Base):
            def test_b(self): assert 2 == f()
        def test_a(self): assert 3 == f()
    class C(A): pass
    if x:
        def test_c(): assert 5 == f()
    """
    lines = {"test_a": 2, "A.B.test_b": 5, "A.test_a": 6, "C.test_a": 6, "test_c": 9}
    for name, line in lines.items():
        assert {one.line for one in variants(source, name)} == {line}, name
    assert variants(source, "A.test_c") == ()
    assert variants(source, "D.test_a") == ()


def test_an_expected_value_is_found_where_it_is_written() -> None:
    source = """
    @pytest.mark.parametrize("x, y", [(1, [2]), (3, [4])])
    @pytest.mark.parametrize("z", [1, 2])
    def test_a(x, y, z):
        expected = {"a": "word"}
        assert f() == expected
        for p, q in [(1, 77)]:
            assert f(p) == q
        assert f(x) == y
        assert f(x) == z
        check_it(x, "abc", "def")
    """
    texts = {turned(source, one) for one in variants(source) if one.kind == "expected_value"}
    changes = {text.replace(" ", "").replace("\n", "") for text in texts}
    assert any("(1,[2])" not in text and "(3,[4])" not in text for text in changes), "every row that is compared"
    assert not any('"z",[1,2]' not in text for text in changes), "no id of a parameter changes"
    assert any('"word"' not in text for text in changes)
    assert any("77" not in text for text in changes)
    assert any('"def"' not in text and '"abc"' in text for text in changes)


def test_another_exception_is_unrelated() -> None:
    source = """
    def test_a(self):
        with pytest.raises(LookupError, match="no such key"):
            f()
        with self.assertRaises((KeyError, ValueError)):
            f()
        self.assertRaisesRegex(TypeError, "words", f)
    """
    found = [one for one in variants(source) if one.kind == "other_exception"]
    assert {one.line for one in found} >= {3, 5, 7} - {0}
    for one in found:
        text = turned(source, one)
        assert text.count("IndexError") == 0
        if one.certain:
            assert text != textwrap.dedent(source)


def test_every_exception_has_none_that_is_unrelated() -> None:
    assert [
        one.kind for one in variants_of("def test_a():\n    with raises(Exception):\n        f()\n", "test_a")
    ] == []


@pytest.mark.parametrize(
    "source",
    [
        "def test_a(:\n",
        "def test_a(): assert '\ud800' == f()",
        "def test_a():\n    assert f() == " + "(" * 5000 + ")" * 5000,
        "def test_a():\n    assert f() == " + "-" * 20000 + "1",
        "def test_a():\n    assert f() == 1\0",
        "x = 1\n",
        "",
    ],
)
def test_what_can_not_be_read_has_no_variant(source: str) -> None:
    assert variants_of(source, "test_a") == ()


def test_deep_nesting_is_no_fault() -> None:
    deep = "".join(" " * level + "if x:\n" for level in range(1, 90)) + " " * 90 + "assert f() == 1\n"
    assert not any(one.certain for one in variants_of("def test_a(x):\n" + deep, "test_a"))
    chain = " + ".join(["1"] * 900)
    assert all(one.line == 2 for one in variants_of(f"def test_a():\n  assert f() == {chain}\n", "test_a"))


def test_edits_that_overlap_or_leave_the_text_are_refused() -> None:
    for edits in ([Edit(0, 2, ""), Edit(1, 3, "")], [Edit(3, 9, "")], [Edit(2, 1, "")]):
        with pytest.raises(ValueError, match="overlaps"):
            edited("abcd", edits)
