"""Copies of a test, one for each of its assertions: each fails if its own value is changed, alone."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from sandbox_gym.verifiers.inversion.copies import Copy, copies_in, copies_of
from sandbox_gym.verifiers.inversion.edits import Edit, edited
from sandbox_gym.verifiers.inversion.frames import frame_of
from sandbox_gym.verifiers.inversion.lexical import definitions

PYTHON = """import pytest

class TestA:
    @staticmethod
    def test_a():
        '''Doc.'''
        assert f(1) == 2
        got = f(2)
        assert got == (
            4
        )
        with pytest.raises(ValueError):
            f(-1)
        for _ in range(2):
            assert f(3) == 6

    def test_b(self):
        assert f(1) == 2
"""
OTHERS = {
    "a.test.js": """it('t', async () => {
  expect(f(1)).toBe(2);
  const x = f(3);
  await expect(g()).resolves.toEqual({
    a: 'b',
  });
  all.forEach((one) => {
    expect(one).toBe(4)
  })
});
""",
    "a_test.go": """func TestA(t *testing.T) {
	if got := f(1); got != 2 {
		t.Fatal("x")
	}
	assert.Equal(t, 5, g())
}
""",
    "a.rs": """    #[test]
    fn adds() {
        assert_eq!(f(1), 2);
        assert_eq!(
            g(),
            "x",
        );
    }
""",
    "a_spec.rb": """  it 't' do
    expect(f).to eq(1)
    expect(g).to eq 'a' => 2
  end
""",
    "ATest.java": """    @Test
    void adds() {
        assertEquals(2, f(1));
        assertThat(g())
            .isEqualTo("b");
    }
""",
    "ATest.php": """    public function testA(): void
    {
        $this->assertSame(2, f(1));
        self::assertCount(3, g());
    }
""",
}
COUNTS = {"a.test.js": 3}


def lexical(path: str, source: str, seed: int, fresh: frozenset[int] = frozenset()) -> tuple[Copy, ...]:
    return copies_of(source, path, definitions(source)[0], fresh, Random(seed))


def text_of(edits: tuple[Edit, ...]) -> str:
    return edits[-1].text


@pytest.mark.parametrize("path", OTHERS)
def test_each_assertion_has_a_copy_that_differs_in_its_own_value_alone(path: str) -> None:
    source = OTHERS[path]
    made = lexical(path, source, 1)
    assert len(made) == COUNTS.get(path, 2)
    assert [copy.plain[0] == Edit(0, len(source), "") for copy in made] == [True, *([False] * (len(made) - 1))]
    for copy in made:
        plain, changed = text_of(copy.plain).split("\n"), text_of(copy.changed.edits).split("\n")
        assert len(plain) == len(changed)
        assert sum(one != other for one, other in zip(plain, changed, strict=True)) == 1
        assert (copy.name in plain[1]) or (copy.name in plain[2])


@pytest.mark.parametrize("path", OTHERS)
def test_how_often_a_value_is_there_does_not_tell_which_is_the_true_one(path: str) -> None:
    """Of an assertion that is kept from failing each of two values is there as often as the other."""
    for at in range(COUNTS.get(path, 2)):
        seen = [text_of(lexical(path, OTHERS[path], seed)[at].plain) for seed in range(200)]
        kinds = sorted({*seen}, key=seen.count)
        assert len(kinds) == 2 ** (COUNTS.get(path, 2) - 1)
        assert seen.count(kinds[0]) > 200 / len(kinds) / 2


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.test.js", "it('t', () => {\n  expect(f(1)).toBe(2);\n  check(f(2));\n});\n"),
        ("a.test.js", "it('t', () => expect(f(1)).toBe(2));\n"),
        ("a.test.js", "it.each([[1, 2]])('t %i', (a, b) => {\n  expect(f(a)).toBe(1);\n  expect(f(b)).toBe(2);\n});\n"),
        ("a.test.js", "it('t', () => {\n  g(() =>\n    expect(f(1)).toBe(2));\n  return expect(f(2)).toBe(3);\n});\n"),
        ("ATest.java", "class A {\n  void a() {\n    assertEquals(2, f(1));\n    assertEquals(3, f(2));\n  }\n}\n"),
        ("a.swift", "func testA() {\n    XCTAssertEqual(f(1), 2)\n    XCTAssertEqual(f(2), 3)\n}\n"),
    ],
)  # fmt: skip
def test_what_has_no_two_assertions_of_their_own_has_no_copies(path: str, source: str) -> None:
    assert lexical(path, source, 1) == ()


def test_only_lines_that_a_test_patch_brings_have_copies_where_there_are_such() -> None:
    (copy,) = lexical("a.test.js", OTHERS["a.test.js"], 1, frozenset({2}))
    assert copy.changed.line == 2


class Equal:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


def true(n: int) -> object:
    if n < 0:
        raise ValueError(n)
    return 2 * n


def passes(source: str, edits: tuple[Edit, ...], name: str, f: Callable[[int], object]) -> bool:
    namespace: dict[str, object] = {"f": f}
    exec(compile(edited(source, edits), "test_a.py", "exec"), namespace)
    try:
        getattr(namespace["TestA"], name)()
    except (AssertionError, ValueError, pytest.fail.Exception):
        return False
    return True


@pytest.mark.parametrize("seed", range(12))
def test_a_copy_in_python_tells_of_its_own_assertion(seed: int) -> None:
    frame = frame_of(PYTHON, "TestA.test_a")
    assert frame is not None
    made = copies_in(PYTHON, "TestA.test_a", frame, Random(seed))
    assert [copy.name for copy in made] == ["_copy_a", "_copy_b", "_copy_c", "_copy_d"][: len(made)]
    assert len(made) >= 3
    first = made[0].plain[:1]
    for copy in made:
        name = f"test_a{copy.name}"
        plain, changed = ((*first, edits[-1]) for edits in (copy.plain, copy.changed.edits))
        assert passes(PYTHON, plain, name, true)
        assert not passes(PYTHON, changed, name, true)
    # right in all but one of them, and there equal to everything: the copy of that one is not met
    lies = [sum(passes(PYTHON, (*first, copy.changed.edits[-1]), f"test_a{copy.name}",
                       lambda n, about=about: Equal() if n == about else true(n))  # type: ignore[misc]
                for copy in made) for about in (1, 2, 3)]  # fmt: skip
    assert lies.count(1) >= 2
