"""Framed tests of patches, without a box: what is learned over the reference, drawn for an answer, and made of its
end."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

import pytest

from sandbox_gym.contract import Answer, Outcome, State, Status, Verdict
from sandbox_gym.verifiers.inversion import SIGNS, Edit, Frame, byte_edits, frame_of
from sandbox_gym.verifiers.swe import (
    TRIALS,
    ByteEdit,
    CaseReport,
    CaseStatus,
    ChannelReport,
    Choice,
    Inversion,
    InvertibleTest,
    KeptFrame,
    KeptVariant,
    Reference,
    SweVerifier,
    candidates,
    differs,
    drawn,
    inverted_jobs,
    learned,
    log_candidates,
    said_in,
    trial,
    tried,
)
from tests.swe.test_inverted import FAIL, PATCH, job, lines

SURVIVED, OTHERWISE, DISTURBED = SIGNS
SOURCE = """from a import f


def test_a():
    assert f(1) == 2
    for n, want in [(2, 4), (3, 6), (4, 8)]:
        assert f(n) == want
    assert f(5) == 10
    assert f(6) == 12
"""
TEST = "t/test_a.py::test_a"


@cache
def frame() -> Frame:
    found = frame_of(SOURCE, "test_a")
    assert found is not None
    assert len(found.places) == 6
    return found


def ends(choice: Choice, *, deaf: int = -1) -> tuple[str, ...]:
    """What a right fix says: each changed place fails, but for one that feels no change."""
    sites = [["1"], ["1", "1", "1"], ["1"], ["1"]]
    for at in choice:
        place = frame().places[at]
        sites[place.site][place.row or 0] = "1" if at == deaf else "0"
    return tuple("".join(one) for one in sites)


def trials(**more: int) -> list[tuple[Choice, dict[str, tuple[str, ...]]]]:
    choices = [trial(frame(), number, changed=number == 0) for number in range(TRIALS)]
    return [(choice, {TEST: ends(choice, **more)}) for choice in choices]


@cache
def kept() -> KeptFrame:
    found = learned(SOURCE, frame(), trials())
    assert found is not None
    return found


# -- over the reference


def test_every_place_is_learned_that_fails_where_it_is_changed() -> None:
    assert [one.site for one in kept().places] == [one.site for one in frame().places]
    every = dict.fromkeys(range(6), 0)
    assert kept().said(TEST, every) == ("0", "000", "0", "0")
    assert kept().said(TEST, {}) == ("1", "111", "1", "1")
    assert kept().said(TEST, {2: 0, 5: 0}) == ("1", "101", "1", "0")


@pytest.mark.parametrize("deaf", range(6))
def test_a_place_that_feels_no_change_is_left_out(deaf: int) -> None:
    found = learned(SOURCE, frame(), trials(deaf=deaf))
    assert found is not None
    number, site = deaf, frame().places[deaf].site
    assert len(found.places) == 5
    assert sum(one.site == site for one in found.places) == sum(one.site == site for one in frame().places) - 1, number


@pytest.mark.parametrize("broken", [1, 2, 3])
def test_a_change_that_shows_elsewhere_makes_no_frame(broken: int) -> None:
    told = trials()
    choice, said = told[broken]
    changed = {frame().places[at].site for at in choice}
    clean = next(site for site in range(4) if site not in changed)
    sites = [ended.replace("1", "0") if site == clean else ended for site, ended in enumerate(said[TEST])]
    told[broken] = (choice, {TEST: tuple(sites)})
    assert learned(SOURCE, frame(), told) is None


@pytest.mark.parametrize("missing", range(TRIALS))
def test_a_test_that_does_not_say_all_each_time_makes_no_frame(missing: int) -> None:
    short: list[dict[str, tuple[str, ...]]] = [{}, {TEST: ("1",)}, {TEST: ()}]
    for said in short:
        told = trials()
        told[missing] = (told[missing][0], said)
        assert learned(SOURCE, frame(), told) is None


def test_edits_of_a_trial_are_those_of_the_text() -> None:
    source = SOURCE.replace("test_a", "test_ä").replace("== 10", "== 10 != 'ä'")
    found = frame_of(source, "test_ä")
    assert found is not None
    data = source.encode()
    for edit in sorted(tried(source, found, trial(found, 0, changed=True)), key=lambda one: -one.start):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    compile(data, "t", "exec")


@pytest.mark.parametrize("text", ["plain text, some words", "ä 日本 𝄞 x ä", "\ufeffä\r\n"])
def test_bytes_are_counted_as_the_file_has_them(text: str) -> None:
    random = Random(text)
    for _ in range(50):
        start, end = sorted(random.choices(range(len(text) + 1), k=2))
        edits = [Edit(start, end, "é"), Edit(0, 0, ""), Edit(end, end, "x")]
        expected = [(len(text[: one.start].encode()), len(text[: one.end].encode()), one.text) for one in edits]
        assert [(one.start, one.end, one.text) for one in byte_edits(text, edits)] == expected


def test_candidates_have_frames_and_copies_where_a_log_tells_of_them() -> None:
    ids = ["t/test_a.py::test_a"]
    passed = dict.fromkeys(ids, CaseStatus.PASSED)
    (one,) = candidates(job(ids, []).task, {"t/test_a.py": SOURCE.encode()}, passed)
    assert one.frame is not None
    logged = job(ids, [], runner="log", log_parser="parse_log_pytest", test_command="x").task
    whole, *copies = log_candidates(logged, {"t/test_a.py": SOURCE.encode()}, passed, Random(1))
    assert (whole.ids, whole.plain) == (tuple(ids), ())
    assert len(copies) == len({place.site for place in one.frame.places if place.row is None})
    assert [copy.ids for copy in copies] == [(f"{ids[0]}_copy_{letter}",) for letter in "abcdefgh"[: len(copies)]]


# -- an answer


@cache
def framed(count: int) -> Reference:
    tests = []
    for number in range(count):
        name = f"test_{number}"
        test = f"t.py::{name}"
        places = tuple(
            replace(one, ways=tuple(replace(way, fails={test: way.fails[TEST]}) for way in one.ways))
            for one in kept().places
        )
        own = replace(kept(), holds={test: kept().holds[TEST]}, places=places)
        tests.append(InvertibleTest("t.py", name, True, (), 0.1, own))
    return Reference(tests=tuple(tests), digests={"t.py": "0" * 64}, ran=True)


@pytest.mark.parametrize("deciding", [1, 2, 5])
def test_a_liar_that_equals_everything_in_one_place_never_passes(deciding: int) -> None:
    """It holds there, changed or not."""
    for seed in range(60):
        runs = [one.inversion for one in inverted_jobs(replace(job(), reference=framed(deciding)), Random(seed))]
        for site, row in ((0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (3, 0)):
            caught = 0
            for run in runs:
                assert run is not None
                assert not run.unchanged
                assert not run.must_fail
                sites = [list(one) for one in run.must_say["t.py::test_0"]]
                sites[site][row] = "1"
                survived, disturbed = differs(run.must_say["t.py::test_0"], ["".join(one) for one in sites])
                assert not disturbed
                caught += survived
            assert 1 <= caught < len(runs)


@pytest.mark.parametrize("chance", [0.0, 0.3, 0.5, 0.7, 1.0])
def test_one_place_is_guessed_seldom(chance: float) -> None:
    right, draws = 0, 2000
    for seed in range(draws):
        guess = Random(-seed)
        right += all((3 in choice) == (guess.random() < chance) for choice in drawn(kept(), 4, Random(seed)))
    assert right / draws < 1 / 14 + 0.02


def test_runs_look_alike_but_for_what_is_expected() -> None:
    runs = [one.inversion for one in inverted_jobs(replace(job(), reference=framed(2)), Random(5))]
    own = kept().edits
    for run in runs:
        assert run is not None
        assert [edit for edit in run.edits["t.py"] if edit in own] == [*own, *own]


@pytest.mark.parametrize(
    ("expected", "said", "signs"),
    [
        (("1", "0"), ("1", "0"), (False, False)),
        (("1", "0"), ("1", "1"), (True, False)),
        (("1", "0"), ("0", "0"), (False, True)),
        (("1", "0"), ("0", "1"), (True, True)),
        (("1", "0"), None, (False, True)),
        (("1", "0"), ("1",), (False, True)),
        (("1", "0"), ("1", ""), (False, True)),
        (("1", "0"), ("", "0"), (False, False)),
        (("111", "000"), ("11111", "00"), (False, False)),
        (("111", "000"), ("111", "001"), (True, False)),
        (("101",), ("101",), (False, False)),
        (("101",), ("1011",), (False, True)),
        (("101",), ("111",), (True, False)),
        (("101",), ("10",), (False, True)),
    ],
)
def test_what_a_test_says_is_compared_end_by_end(
    expected: tuple[str, ...], said: tuple[str, ...] | None, signs: tuple[bool, bool]
) -> None:
    assert differs(expected, said) == signs


def verdict(status: str, detail: str) -> Verdict:
    """Of a run in which one test must say `1|0`, from its record alone."""
    asked = replace(job([FAIL[0]], []), purpose="inverted")
    said = [{"kind": "inversion", "statuses": {}, "how": {}, "unchanged": [], "says": {FAIL[0]: ["1", "0"]}}]
    channel = lines(asked, said, {FAIL[0]: status}).replace(b'"detail": ""', f'"detail": "{detail}"'.encode())
    state = State((Outcome(Status.OK, 0, channel=channel),), "namespace", "local")
    return SweVerifier().judge(asked, Answer(PATCH), SweVerifier().plan(asked, Answer(PATCH)), state)


@pytest.mark.parametrize(
    ("status", "detail", "sign"),
    [
        ("FAILED", "assertions ended 1|0.", ""),
        ("FAILED", "assertions ended 1|1.", SURVIVED),
        ("FAILED", "assertions ended 0|0.", DISTURBED),
        ("FAILED", "", OTHERWISE),
        ("FAILED", "assertions ended 1.", DISTURBED),
        ("ERROR", "assertions ended 1|0.", ""),
        ("TIMEOUT", "", OTHERWISE),
        ("PASSED", "assertions ended 1|0.", SURVIVED),
        ("SKIPPED", "", SURVIVED),
    ],
)
def test_every_end_of_a_framed_test(status: str, detail: str, sign: str) -> None:
    found = verdict(status, detail)
    assert (found.tamper, found.reward) == ((sign,) if sign else (), float(not sign))
    assert found.inverted is not None
    assert (found.inverted.variants, found.inverted.failed) == (1, int(not sign))


def test_unittests_names_are_the_rows() -> None:
    ids = ["test_one (t.test_a.TestA)"]
    told = CaseReport(CaseStatus.FAILED, detail="assertions ended 1|.")
    report = ChannelReport(cases={"t.test_a.TestA.test_one": told})
    assert said_in(job(ids, [], runner="unittest").task, report) == {ids[0]: ("1", "")}


@pytest.mark.parametrize(("wall_s", "runs"), [(1.0, 3), (500.0, 2)])
def test_a_log_runs_twice_and_as_it_is_where_it_is_quick(wall_s: float, runs: int) -> None:
    made = tuple(Inversion(must_fail={f"t.py::test_{number}": CaseStatus.FAILED}) for number in range(3))
    asked = replace(job(), reference=replace(framed(3), rounds=made, wall_s=wall_s))
    assert len(inverted_jobs(asked, Random(1))) == runs


def _variant(test: InvertibleTest, number: int) -> KeptVariant:
    edit = ByteEdit(number, number + 1, "x")
    return KeptVariant("expected_value", 1, (edit,), {f"t.py::{test.name}": CaseStatus.FAILED})
