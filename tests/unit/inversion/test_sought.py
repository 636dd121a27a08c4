"""What is looked for in a value becomes what no right answer has there: not a neighbour, which another one may have."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox_gym.verifiers.inversion import edited, frame_of, said_by, variants_of

LETTERS = "".join(map(chr, range(ord("a"), ord("z") + 1)))
LINES = "\n".join(f"line {number}" for number in range(20))
SOUGHT: dict[str, list[Any]] = {
    "1": [[1], [1, 2], {0: 0, 1: 1, 2: 2}, range(20), (2, 1), {1.0, 2.0}],
    "10": [[10], [9, 10, 11], range(100)],
    "-1": [[-1], range(-20, 20)],
    "'a'": ["a", "cab", ["a", "e", "i"], LETTERS, dict.fromkeys(LETTERS)],
    "'ab'": ["ab", LETTERS, ["aa", "ab", "ac", "eb"]],
    "b'a'": [b"a", LETTERS.encode()],
    "'line 3'": ["line 3", LINES, LINES.splitlines()],
    "404": [[404], [403, 404, 405]],
    "100": [[100], range(200)],
    "1.5": [[1.5], [0.5, 1.4, 1.5, 1.6, 2.5]],
    "'v1.2'": ["v1.2", "v1.1 v1.2 v1.3 v2.2"],
    "'2024-01-02'": ["2024-01-02", [f"2024-01-{day:02}" for day in range(1, 32)]],
    "'test_1'": [["test_1"], ["test_0", "test_1", "test_2"]],
    "'--v'": ["--v", "--a --v --w --e --b"],
    "'<b>'": ["<b>", "<a><b><c><d>"],
    "'GET'": [["GET"], ["GET", "GOT", "SET", "PUT"]],
    "','": [",", "a,b.c;d"],
    "'x[1]'": ["x[1]", "x[0] x[1] x[2]"],
    "'a\\n1'": ["a\n1", "a\n1\n2"],
    "(1, 2)": [[(1, 2)], [(1, 1), (1, 2), (1, 3), (2, 2), (0, 2)]],
}
FORMS = ["assert {} in f()", "self.assertIn({}, f())", "assert f() and {} in f()"]


class Unittest:
    def assertIn(self, member: object, container: object) -> None:
        assert member in container  # type: ignore[operator]


class Everything(list[object]):
    def __contains__(self, one: object) -> bool:
        return True


def error_of(source: str, answer: object) -> str:
    """How the test ends: empty where it passes."""
    names: dict[str, object] = {"f": lambda: answer, "self": Unittest()}
    exec(source, names)
    try:
        names["test_a"]()  # type: ignore[operator]
    except AssertionError as error:
        return str(error) or "failed"
    return ""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("literal", SOUGHT)
def test_every_right_answer_fails_where_another_is_sought(literal: str, form: str) -> None:
    source = f"def test_a():\n    {form.format(literal)}\n"
    turned = [edited(source, one.edits) for one in variants_of(source, "test_a") if one.kind == "expected_value"]
    assert turned
    for answer in SOUGHT[literal]:
        assert error_of(source, answer) == ""
        assert all(error_of(one, answer) for one in turned[: 2 - (literal == "(1, 2)")]), answer
    for one in turned:
        compile(one, "t", "exec")
        assert error_of(one, Everything([1])) == ""  # which passes: so it is seen


@pytest.mark.parametrize("literal", SOUGHT)
def test_a_frame_says_the_same_of_every_right_answer(literal: str) -> None:
    source = f"def test_a():\n    assert {literal} in f()\n    assert len(f()) > 0\n    assert {literal} in f()\n"
    frame = frame_of(source, "test_a")
    assert frame is not None
    for place in (one for one in frame.places if one.site != 1):
        for way in place.ways:
            text = edited(source, (*way.edits, *frame.edits))
            said = [said_by(error_of(text, answer)) for answer in SOUGHT[literal]]
            assert {one[place.site] for one in said if one} == {"0"}, text
            assert None not in said


def test_texts_of_which_no_piece_is_short_change_as_elsewhere() -> None:
    source = "def test_a():\n    assert 'must be positive' in f()\n"
    (first, *_) = variants_of(source, "test_a")
    assert len(edited(source, first.edits)) == len(source)
