"""Tests of languages that are not parsed: where they are found, and what is changed in them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from sandbox_gym.verifiers.inversion.edits import edited
from sandbox_gym.verifiers.inversion.lexical import definitions, lexical_variants
from sandbox_gym.verifiers.swe import (
    ByteEdit,
    CaseStatus,
    Checkout,
    Inversion,
    Reference,
    SweJob,
    SweTask,
    inverted_jobs,
    is_lexical,
    lexical_files,
    log_candidates,
    parse_task,
    stood,
)
from sandbox_gym.verifiers.swe.inverted import runs_of
from tests.swe.polyglot import go, javascript

LOGS = Path(__file__).parent / "logs"
PROJECTS = {"gotest": "go", "cargo": "rust"}
LEAST = {
    "gotest": 2, "jest": 5, "cargo": 2, "maven": 3, "gradle": 5, "phpunit": 4, "rspec": 5, "mocha": 5, "tap": 3,
    "vitest": 6,
}  # fmt: skip


def sample(framework: str) -> tuple[SweTask, dict[str, bytes], dict[str, CaseStatus]]:
    """A project that printed the logs, as a row of it."""
    root = LOGS / "projects" / PROJECTS.get(framework, framework)
    told = json.loads((LOGS / framework / "passing.json").read_text())
    row = {"instance_id": "a__b-1", "repo": "a/b", "runner": "log", "log_parser": framework, "test_command": "x"}
    files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    environment = {"environment": {"files": {"a": ""}}, "test_files": sorted(files), "test_patch": ""}
    task = parse_task({**row, **environment, "FAIL_TO_PASS": list(told)})
    return task, files, {test: CaseStatus(word) for test, word in told.items()}


@pytest.mark.parametrize("framework", LEAST)
def test_tests_are_found_in_what_frameworks_run(framework: str) -> None:
    task, files, statuses = sample(framework)
    found = log_candidates(task, files, statuses, Random(1))
    assert len(found) >= LEAST[framework]
    for one in found:
        assert one.plain or all(statuses[test] is CaseStatus.PASSED for test in one.ids)
        texts = {edited(one.source, variant.edits) for variant in one.variants}
        assert one.source not in texts
        assert len(texts) == len(one.variants)


VALUES = [
    ("a.js", "test('t', () => {\n  expect(add(2, 3)).toBe(5);\n});\n", ["5"]),
    ("a.ts", "it('t', async () => {\n  await expect(f('in')).resolves.toEqual(['out', 7]);\n});\n", ["'out'", "7"]),
    ("a.js", "test('t', () => assert.deepStrictEqual(f(1), { a: 2, b: 'x' }));\n", ["2", "'x'"]),
    ("a.test.tsx", "it('t', () => {\n  expect(() => f(1)).toThrow('no luck');\n});\n", ["'no luck'"]),
    ("a.js", "it('t', function () {\n  // expect(1).toBe(3)\n  expect(f('it\\'s')).to.equal(true);\n});\n", ["true"]),
    ("a_test.go", 'func TestT(t *testing.T) {\n\tif got := f(1); got != "a b" {\n\t\tt.Fail()\n\t}\n}\n', ['"a b"']),
    ("a_test.go", "func TestT(t *testing.T) {\n\tassert.Equal(t, 12, f(3))\n}\n", ["12"]),
    ("a_test.go", 'func TestT(t *testing.T) {\n\tcases := []c{{in: "x", want: "y"}}\n\trun(cases)\n}\n', ['"y"']),
    ("a_test.go", "func (s *S) TestT() {\n\ts.Require().Len(f(1), 4)\n}\n", ["4"]),
    ("a_test.go", 'func TestT(t *testing.T) {\n\tall := []c{\n\t\t{"in", 1},\n\t\t{"on", 2},\n\t}\n}\n', ["1", "2"]),
    ("a.js", "test('t', () => {\n  for (const [a, b] of [{ a: 1, b: 2 }]) check(a, b);\n});\n", ["2"]),
    ("a.rs", "fn t() {\n    for (a, b) in [(1, 'x'), (2, 'y')] {\n        run(a, b);\n    }\n}\n", ["'x'", "'y'"]),
    ("a_test.rb", "def test_t\n  assert_equal 5, f(1)\nend\n", ["5"]),
    ("ATests.swift", "  func t() {\n    XCTAssertEqual(f(1), 5)\n  }\n", ["5"]),
    ("a_test.dart", "  test('t', () {\n    expect(f(1), 5);\n  });\n", ["5"]),
    ("ASpec.scala", '  test("t") {\n    f(1) should be (4)\n  }\n', ["4"]),
    ("ATest.java", "  void t() {\n    assertThat(f(2)).isEqualTo(\"b\");\n  }\n", ['"b"']),
    ("a.rs", "fn t<'a>() {\n    assert_eq!(f(1u8), 200u8, \"{}\", 'x');\n}\n", ["200u8"]),
    ("a.rs", 'fn t() {\n    let expected = "ab";\n    check(&f(), expected);\n}\n', ['"ab"']),
    ("ATest.java", "  void t() {\n    assertEquals(30L, f(1));\n    assertThat(f).isEqualTo(\"b\");\n  }\n", ["30L"]),
    ("ATest.kt", "  fun `t`() {\n    f(1) shouldBe 3\n  }\n", ["3"]),
    ("ATest.php", "  public function t(): void\n  {\n    $this->assertSame('abc', f(1));\n  }\n", ["'abc'"]),
    ("ATest.cs", "  public async Task T()\n  {\n    Assert.Equal(7, f(1));\n  }\n", ["7"]),
    ("a_spec.rb", "  it 't' do\n    # eq 4\n    expect(f(1)).to eq 2.5\n  end\n", ["2.5"]),
    ("a_spec.rb", "  it 't' do\n    expect(f).to eq \"a #{1} b\"\n  end\n", ["to"]),
    ("a_test.cc", 'TEST(S, t) {\n  EXPECT_EQ(f(1), 5);\n  EXPECT_STREQ(g(), "abc");\n}\n', ["5"]),
    ("a.js", "test('t', () => {\n  const x = f(1, 'a');\n  check(x);\n});\n", []),
    ("a.js", "test('t', () => {\n  expect(f(`a ${b}`)).toBe(`c ${d}`);\n});\n", [""]),
    ("a.go", "func TestT(t *testing.T) {\n\tf(2)\n}\n", []),
    ("a.js", "it.each([[1, 'a'], [2, 'b']])('t %i', (n, want) => {\n  expect(f(n)).toBe(want);\n});\n", ["'a'", "'b'"]),
    ("a.js", "test('t', () => {\n  expect(f(1)).toBeGreaterThan(3);\n});\n", ["GreaterThan"]),
    ("a.js", "test('t', () => {\n  expect(f(1)).not.toBe(3);\n  assert(f(2) > 4);\n  assert(f(2) !== 4);\n});\n", []),
    ("a.js", "test('t', () => {\n  expect(f(1)).toBeCloseTo(0.25, 5);\n});\n", ["0.25"]),
    ("a_spec.rb", "  it 't' do\n    expect(f).not_to eq 2\n    expect(f).not_to eq(3)\n  end\n", []),
    ("ATest.java", "  void t() {\n    assertNotEquals(3, f(1));\n    assertEquals(want, f(2));\n  }\n", [""]),
    ("a.rs", "fn t() {\n    assert_ne!(f(1), 3);\n    assert_eq!(f(2), want());\n}\n", ["eq"]),
    ("a_test.go", "func TestT(t *testing.T) {\n\tif got := f(1); got != want {\n\t\tt.Fail()\n\t}\n}\n", ["!"]),
    ("a_test.go", "func TestT(t *testing.T) {\n\tif !reflect.DeepEqual(f(1), want) {\n\t\tt.Fail()\n\t}\n}\n", ["!"]),
    ("ATest.php", "  public function testT(): void {\n    $this->assertSame($want, f(1));\n  }\n", [""]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "source", "wanted"), VALUES)
def test_what_is_expected_is_changed(path: str, source: str, wanted: list[str]) -> None:
    (one,) = definitions(source)
    found = lexical_variants(source, path, one)
    changed = [source[variant.edits[0].start : variant.edits[0].end] for variant in found]
    assert changed[: len(wanted)] == wanted
    assert bool(changed) is bool(wanted)
    for variant in found:
        (edit,) = variant.edits
        assert edit.text or source[edit.start : edit.end] == "!"
        assert (
            edit.text[:1] == source[edit.start] or source[edit.start].isalnum() or variant.kind == "opposite_assertion"
        )


@pytest.mark.parametrize(
    ("source", "other"),
    [("toContain(3)", r"toContain\(\d3\)"), ("toThrow('no luck in 3')", r"toThrow\('no luck in \d3'\)"),
     ("toThrow('no luck')", r"toThrow\('luck no'\)"), ("toContain('id')", r"toContain\('id\w'\)")],
)  # fmt: skip
def test_what_is_looked_for_has_no_neighbour_in_its_place(source: str, other: str) -> None:
    text = f"test('t', () => {{\n  expect(f()).{source};\n}});\n"
    (one,) = definitions(text)
    (variant, *_) = lexical_variants(text, "a.js", one)
    assert re.search(other, edited(text, variant.edits))


@pytest.mark.parametrize(
    ("test", "there"),
    [("G > reads b=2", True), ("G > reads b=2 > twice", True), ("G > rereads b=2", False),
     ("names many", True), ("adds 1 and 2", True), ("adds 1 or 2", False)],
)  # fmt: skip
def test_titles_have_places_for_the_values_of_a_row(test: str, there: bool) -> None:
    text = (
        "for (const t of all) {\n  it(`reads ${t}`, () => {\n    expect(f(t)).toBe(1);\n  });\n}\n"
        "it('names many', () => {\n  expect(g()).toBe(2);\n});\n"
        "it.each([[1, 2]])('adds %i and $b', (a, b) => {\n  expect(g(a)).toBe(b);\n});\n"
    )
    task = parse_task({**javascript(), "FAIL_TO_PASS": [test]})
    found = log_candidates(task, {"a.test.js": text.encode()}, {test: CaseStatus.PASSED}, Random(1))
    assert bool(found) is there


def test_opposites_where_no_value_is() -> None:
    source = "  void t() {\n    assertTrue(f(1).isEmpty());\n  }\n"
    (one,) = definitions(source)
    (variant,) = lexical_variants(source, "ATest.java", one)
    assert edited(source, variant.edits) == source.replace("assertTrue", "assertFalse")


@pytest.mark.parametrize(
    ("test", "there"),
    [("TestA/one_case", True), ("pkg.A > testA()", True), ("group of tests A", True), ("org.x.A", True),
     ("A > TestA[1, 2]", True), ("tests::a", True), ("TestB", False), ("", False), ("> ::", False)],
)  # fmt: skip
def test_a_test_is_told_by_its_id(test: str, there: bool) -> None:
    task = parse_task({**go(), "FAIL_TO_PASS": [test or " "]})
    files = {"a_test.go": b"func TestA(t *testing.T) {\n\tassert.Equal(t, 1, f())\n}\n"}
    assert bool(log_candidates(task, files, dict.fromkeys(task.ids, CaseStatus.PASSED), Random(1))) is there


@pytest.mark.parametrize(
    ("path", "test", "there"),
    [("tests/t_add.cpp", "add", True), ("tests/add_test.cpp", "add", True), ("test/test-add.c", "unit.add", True),
     ("tests/AddTest.cpp", "add", True), ("tests/add.cpp", "add", True), ("tests/adder.cpp", "add", False)],
)  # fmt: skip
def test_a_test_may_be_a_program_of_a_file(path: str, test: str, there: bool) -> None:
    row = {**javascript(), "FAIL_TO_PASS": [test], "PASS_TO_PASS": ["other"], "test_files": [path, "tests/other.cpp"]}
    text = b"int main() {\n  EXPECT_EQ(add(1, 2), 3);\n  if (add(2, 2) != 4) return 1;\n  return 0;\n}\n"
    passed = dict.fromkeys((test, "other"), CaseStatus.PASSED)
    found = log_candidates(parse_task(row), {path: text, "tests/other.cpp": text}, passed, Random(1))
    assert [one.ids for one in found] == [*[(test,)] * there, ("other",)]
    assert all([variant.line for variant in one.variants] == [2, 3] for one in found)


def test_what_two_tests_may_be_is_none() -> None:
    task = parse_task({**go(), "FAIL_TO_PASS": ["TestA"], "PASS_TO_PASS": ["Outer"]})
    text = b"func TestA(t *testing.T) {\n\tassert.Equal(t, 1, f())\n}\n"
    passed = dict.fromkeys(task.ids, CaseStatus.PASSED)
    assert len(log_candidates(task, {"a_test.go": text}, passed, Random(1))) == 1
    assert log_candidates(task, {"a_test.go": text, "b_test.go": text}, passed, Random(1)) == ()
    assert log_candidates(task, {"a_test.go": b"\xff" + text}, passed, Random(1)) == ()
    nested = b"class Outer {\n  void testA() {\n    assertEquals(1, f());\n  }\n}\n"
    assert [one.name for one in log_candidates(task, {"A.java": nested}, passed, Random(1))] == ["testA"]


def test_python_is_parsed_and_others_are_not() -> None:
    task = parse_task(javascript())
    assert (is_lexical(task), lexical_files(task)) == (True, ("test/sums.test.js",))
    assert not is_lexical(replace(task, test_files=("tests/test_a.py",)))
    assert not is_lexical(replace(task, runner="pytest"))
    assert is_lexical(replace(task, test_files=("a.test.js", "b.test.js", "tests/make.py")))
    assert not is_lexical(replace(task, test_files=("tests/test_a.py", "static/a.test.js")))


def round_of(number: int) -> Inversion:
    edit = {"a.test.js": (ByteEdit(number, number, "1"),), "b.test.js": ()}
    digests = dict.fromkeys(edit, "digest")
    return Inversion(edit, digests, {"adds up": CaseStatus.FAILED}, {}, (f"unchanged {number}", "skipped"))


@pytest.mark.parametrize(("wall_s", "kept", "asked"), [(2.0, 3, 2), (2.0, 1, 1), (200.0, 3, 1), (200.0, 0, 0)])
def test_an_answer_goes_through_runs_that_the_reference_did(wall_s: float, kept: int, asked: int) -> None:
    known = Reference(ran=True, wall_s=wall_s, rounds=tuple(map(round_of, range(kept))))
    assert known.asked == asked
    job = SweJob(parse_task(javascript()), Checkout("i", "/w", "/w/t", "c", "python"), reference=known)
    found = inverted_jobs(job, Random(1)) if asked else ()
    assert len({one.inversion.unchanged for one in found if one.inversion and one.inversion.must_fail}) == asked
    assert all(one.purpose == "inverted" for one in found)
    assert runs_of(known) == len(found)
    again = inverted_jobs(replace(job, reference=None), Random(1), on_record=len(found))
    assert [one.inversion for one in again] == [None] * len(found)


@pytest.mark.parametrize(("wall_s", "asked"), [(2.0, 2), (200.0, 1)])
def test_the_true_tests_are_among_changed_ones(wall_s: float, asked: int) -> None:
    """Else an answer that prints what its first run must, and knows a later one from that, could let it fail."""
    known = Reference({"skipped": CaseStatus.SKIPPED}, ran=True, wall_s=wall_s, rounds=tuple(map(round_of, range(3))))
    job = SweJob(parse_task(javascript()), Checkout("i", "/w", "/w/t", "c", "python"), reference=known)
    places = set[int]()
    for seed in range(60):
        asked_for = [one.inversion for one in inverted_jobs(job, Random(seed)) if one.inversion]
        (place,) = (number for number, one in enumerate(asked_for) if not one.must_fail)
        true = asked_for.pop(place)
        others = {test for one in asked_for for test in one.ids}
        assert set(true.unchanged) == others - {"skipped"}
        assert "adds up" in true.unchanged
        assert not any(true.edits.values())
        assert all((true.edits.keys(), true.digests) == (one.edits.keys(), one.digests) for one in asked_for)
        places.add(place)
    assert places == set(range(asked + 1))


def test_where_only_failures_are_named_absence_stands() -> None:
    task = parse_task(javascript())
    assert not stood(task, CaseStatus.MISSING)
    assert stood(replace(task, rule="fail_only"), CaseStatus.MISSING)
    assert not stood(replace(task, rule="fail_only"), CaseStatus.FAILED)
