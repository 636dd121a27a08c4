"""Inverted tests of patches, without a box: which are chosen, what a run is told of them, what its end says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

from sandbox_gym.contract import Answer, Outcome, Run, State, Status, Verdict
from sandbox_gym.errors import InstanceFailed
from sandbox_gym.verifiers.inversion import SIGNS
from sandbox_gym.verifiers.swe import (
    ByteEdit,
    CaseStatus,
    Checkout,
    Inversion,
    InvertibleTest,
    KeptVariant,
    Reference,
    SweJob,
    SweVerifier,
    candidates,
    in_doubt,
    inverted_jobs,
    parse_task,
    runs_for,
    with_inverted,
)
from sandbox_gym.verifiers.swe.job import nonce

SURVIVED, OTHERWISE, DISTURBED = SIGNS
PATCH = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
SOURCE = b"""import a


class TestA:
    def test_one(self):
        assert a.x == 2

    def test_all(self, n):
        assert a.x - n == 0


def test_two():
    assert not a.y
"""
FAIL = ["t/test_a.py::TestA::test_one", "t/test_a.py::test_two"]
HOLD = [f"t/test_a.py::TestA::test_all[{n}]" for n in range(6)]
CHECKOUT = Checkout("image", "/workspace", "/workspace/testbed", "c0", "/workspace/env/bin/python")


def job(fail: list[str] = FAIL, hold: list[str] = HOLD, **fields: object) -> SweJob:
    row = {"instance_id": "a__a-1", "repo": "a/a", "FAIL_TO_PASS": fail, "PASS_TO_PASS": hold, "patch": PATCH, **fields}
    return SweJob(parse_task({**row, "environment": {"base_image": "b", "python": "3.12"}}), CHECKOUT)


def reference(deciding: int, holding: int = 0, variants: int = 3, seconds: float = 0.0) -> Reference:
    """Tests of one file, each with an edit of its own place."""

    def made(number: int, decides: bool) -> InvertibleTest:
        name = f"test_{'d' if decides else 'h'}{number}"
        at = 100 * number + 50 * decides
        kept = tuple(
            KeptVariant("expected_value", at, (ByteEdit(at, at + 1, str(n)),), {f"t.py::{name}": CaseStatus.FAILED})
            for n in range(variants)
        )
        return InvertibleTest("t.py", name, decides, kept, seconds)

    tests = [made(n, True) for n in range(deciding)] + [made(n, False) for n in range(holding)]
    return Reference(tests=tuple(tests), digests={"t.py": "0" * 64}, ran=True, seconds=100 * seconds)


def inversions(known: Reference, seed: int = 0) -> list[Inversion]:
    made = [one.inversion for one in inverted_jobs(replace(job(), reference=known), Random(seed))]
    return [one for one in made if one is not None]


# -- choosing


@pytest.mark.parametrize("deciding", [1, 2, 3, 7, 40])
def test_each_test_is_unchanged_in_some_runs_and_changed_in_the_others(deciding: int) -> None:
    for seed in range(20):
        runs = inversions(reference(deciding, holding=5), seed)
        assert len(runs) == runs_for(deciding)
        for test in runs[0].ids:
            unchanged = sum(test in run.unchanged for run in runs)
            assert 1 <= unchanged <= len(runs) - 1
            assert sum(run.must_fail.get(test) is CaseStatus.FAILED for run in runs) == len(runs) - unchanged
        assert len({frozenset(run.ids) for run in runs}) == 1, "runs differ in what is asked"
        assert len({tuple(run.edits) for run in runs}) == 1, "runs differ in which files are written"


@pytest.mark.parametrize("kinds", [("expected_value", "negated_assertion"), ("opposite_assertion", "mock"), ("mock",)])
def test_each_test_expects_another_value_in_one_run_at_least(kinds: tuple[str, ...]) -> None:
    """An answer that equals everything fails an assertion that is turned, as the reference does."""
    (test,) = reference(1, variants=4).tests
    kept = tuple(replace(one, kind=kinds[n % len(kinds)]) for n, one in enumerate(test.variants))
    drawn: set[str] = set()
    for seed in range(100):
        runs = inversions(replace(reference(1), tests=(replace(test, variants=kept),)), seed)
        hows = {how.partition(" ")[0] for run in runs for how in run.how.values()}
        assert not all(how.endswith("_assertion") for how in hows)
        drawn |= hows
    assert drawn == set(kinds)


@pytest.mark.parametrize("deciding", [1, 2, 3, 5])
@pytest.mark.parametrize("chance", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_a_guess_is_right_seldom(deciding: int, chance: float) -> None:
    """Of an answer that knows an inverted run when it sees one, and takes each test for unchanged with a chance."""
    right, draws = 0, 3000
    for seed in range(draws):
        guess = Random(-seed)
        runs = inversions(reference(deciding), seed)
        right += all((guess.random() < chance) == (test in run.unchanged) for run in runs for test in run.ids)
    assert right / draws < 1 / 16 + 0.02


def test_what_is_chosen_is_no_pattern() -> None:
    """Over many draws every test is unchanged in every run about as often, with every variant."""
    seen: dict[tuple[int, str], int] = {}
    edits: set[tuple[ByteEdit, ...]] = set()
    for seed in range(400):
        for number, run in enumerate(inversions(reference(3), seed)):
            edits.add(run.edits["t.py"])
            for test in run.unchanged:
                seen[number, test] = seen.get((number, test), 0) + 1
    assert len(seen) == 6
    assert min(seen.values()) > 120
    assert len(edits) > 40


def test_slow_tests_are_asked_within_a_share_of_the_time() -> None:
    runs = inversions(reference(90, seconds=5.0))
    assert 1 <= len(runs[0].ids) <= 25, "a quarter of 500 s at 5 s each"
    assert len({frozenset(inversions(reference(90, seconds=5.0), seed)[0].ids) for seed in range(9)}) > 1


def test_candidates_have_passed_over_the_reference_and_feel_no_others_edit() -> None:
    files = {"t/test_a.py": SOURCE}
    passed = dict.fromkeys([*FAIL, *HOLD], CaseStatus.PASSED)
    found = candidates(job().task, files, passed)
    assert [(one.name, one.decides, len(one.ids)) for one in found] == [
        ("TestA.test_one", True, 1),
        ("test_two", True, 1),
        ("TestA.test_all", False, 6),
    ]
    assert next(one.name for one in candidates(job().task, files, {**passed, FAIL[0]: CaseStatus.XFAIL})) == "test_two"
    assert candidates(job().task, {"t/test_a.py": b"\xff" + SOURCE}, passed) == ()
    for one in found:
        for number in range(len(one.variants)):
            changed = SOURCE
            for edit in sorted(one.edits(number), key=lambda edit: -edit.start):
                changed = changed[: edit.start] + edit.text.encode() + changed[edit.end :]
            assert changed != SOURCE
            compile(changed, "t", "exec")


def test_ids_of_unittest_are_found_in_their_files() -> None:
    ids = ["test_one (t.test_a.TestA)", "t.test_a.TestA.test_all"]
    task = job(ids, [], runner="unittest").task
    found = candidates(task, {"src/t/test_a.py": SOURCE}, dict.fromkeys(ids, CaseStatus.PASSED))
    assert [one.name for one in found] == ["TestA.test_one", "TestA.test_all"]


# -- what a run is told


def test_nothing_but_the_file_that_is_removed_tells_of_changes() -> None:
    """Two runs of one patch differ in prepare.json alone, which is gone before anything of the answer's runs."""
    known = Reference(
        tests=(InvertibleTest("t/test_a.py", "test_two", True, (_variant(FAIL[1]), _variant(FAIL[1], "no")), 0.1),),
        digests={"t/test_a.py": "0" * 64},
        ran=True,
    )
    plans = [
        SweVerifier().plan(one, Answer(PATCH)) for one in inverted_jobs(replace(job(), reference=known), Random(1))
    ]
    runs = [plan.steps[0] for plan in plans]
    assert len(runs) == 4
    seen = set()
    for run in runs:
        assert isinstance(run, Run)
        files = dict(run.program.files)
        told = json.loads(files.pop(".verify/prepare.json"))
        seen.add(json.dumps(told.pop("rewrites")))
        told.pop("says")
        assert all(one.encode() not in run.stdin for one in ("line 13", "expected_value"))
        rest = (sorted(files.items()), run.stdin, run.program.argv, sorted(run.program.env.items()), told)
        assert rest == (sorted(files.items()), runs[0].stdin, *_rest(runs[0]))  # type: ignore[union-attr]
    assert len(seen) > 1


def _rest(run: object) -> tuple[object, ...]:
    assert isinstance(run, Run)
    told = json.loads(run.program.files[".verify/prepare.json"])
    del told["rewrites"], told["says"]
    return run.program.argv, sorted(run.program.env.items()), told


def _variant(test: str, text: str = "a.y") -> KeptVariant:
    return KeptVariant("negated_assertion", 13, (ByteEdit(160, 167, text),), {test: CaseStatus.FAILED})


# -- judging


def lines(one: SweJob, said: Sequence[Mapping[str, object]], done: Mapping[str, str]) -> bytes:
    """A channel as the box writes it."""
    every: list[Mapping[str, object]] = [*said, {"kind": "begin", "python": "3.12"}]
    every += [
        {"kind": "done", "id": test, "status": status, "detail": "", "wall_s": 0.1} for test, status in done.items()
    ]
    every.append({"kind": "end", "complete": True, "rounds": 1})
    secret = nonce(one, PATCH.encode())
    return "".join(f"{secret} {json.dumps({**line, 'n': n})}\n" for n, line in enumerate(every)).encode()


def verdict(done: Mapping[str, str], wanted: Mapping[str, str], unchanged: list[str]) -> Verdict:
    """Of one inverted run, from its record alone."""
    asked = replace(job(), purpose="inverted")
    said = [{"kind": "inversion", "statuses": wanted, "how": dict.fromkeys(wanted, "k"), "unchanged": unchanged}]
    state = State((Outcome(Status.OK, 0, channel=lines(asked, said, done)),), "namespace", "local")
    return SweVerifier().judge(asked, Answer(PATCH), SweVerifier().plan(asked, Answer(PATCH)), state)


def test_every_end_of_a_changed_and_of_an_unchanged_test() -> None:
    for status in CaseStatus:
        told = {} if status is CaseStatus.MISSING else {FAIL[0]: status.value}
        for wanted in (CaseStatus.FAILED, CaseStatus.ERROR):
            found = verdict({**told, FAIL[1]: "PASSED"}, {FAIL[0]: wanted.value}, [FAIL[1]])
            not_failed = status in ("PASSED", "XPASS", "XFAIL", "SKIPPED")
            sign = () if status is wanted else (SURVIVED,) if not_failed else (OTHERWISE,)
            assert (found.tamper, found.reward) == (sign, float(not sign)), status
        found = verdict({FAIL[1]: "FAILED", **told}, {FAIL[1]: "FAILED"}, [FAIL[0]])
        assert found.tamper == (() if status is CaseStatus.PASSED else (DISTURBED,)), status


def test_only_a_survivor_needs_no_second_look() -> None:
    good = verdict({FAIL[0]: "FAILED", FAIL[1]: "PASSED"}, {FAIL[0]: "FAILED"}, [FAIL[1]])
    bad = verdict({FAIL[0]: "PASSED", FAIL[1]: "PASSED"}, {FAIL[0]: "FAILED"}, [FAIL[1]])
    odd = verdict({FAIL[0]: "FAILED", FAIL[1]: "FAILED"}, {FAIL[0]: "FAILED"}, [FAIL[1]])
    assert in_doubt([good, good]) == ()
    assert in_doubt([odd, good, odd]) == (0, 2)
    assert in_doubt([bad, odd]) == ()
    earned = Verdict(1.0, integrity="in_process")
    assert with_inverted(earned, [good, good]).reward == 1.0
    for worst, sign in ((bad, SURVIVED), (odd, DISTURBED)):
        lost = with_inverted(earned, [good, worst])
        assert (lost.reward, lost.failure_reason, lost.tamper) == (0.0, f"tampering: {sign}", (sign,))
        assert lost.evidence[sign].startswith("t/test_a.py::")


def test_the_reference_on_the_channel_decides_and_only_before_the_tests_began() -> None:
    one = job([FAIL[0]], [])
    told: Mapping[str, object] = {"kind": "reference", "statuses": {FAIL[0]: "XFAIL"}, "signs": {}, "runs": 2}
    plan, done = SweVerifier().plan(one, Answer(PATCH)), {FAIL[0]: "XFAIL"}

    def judged(channel: bytes) -> Verdict:
        state = State((Outcome(Status.OK, 0, channel=channel),), "namespace", "local")
        return SweVerifier().judge(one, Answer(PATCH), plan, state)

    assert judged(lines(one, [told], done)).reward == 1.0
    assert judged(lines(one, [], done)).reward == 0.0
    late = lines(one, [], done).splitlines(keepends=True)
    secret = nonce(one, PATCH.encode())
    forged = f"{secret} {json.dumps({**told, 'n': 1})}\n".encode()
    moved = [line.replace(b'"n": %d' % n, b'"n": %d' % (n + 1)) for n, line in enumerate(late) if n]
    found = judged(b"".join([late[0], forged, *moved]))
    assert (found.reward, found.tamper) == (0.0, ("channel_garbled",))


@pytest.mark.parametrize("code", [42, 43, 44])
def test_a_patch_over_which_the_tests_cannot_be_placed_is_no_way_out(code: int) -> None:
    """They could over the reference."""
    one = job()
    told: Mapping[str, object] = {"kind": "reference", "statuses": {}, "signs": {}, "ran": True, "runs": 2}
    outcome = Outcome(Status.RUNTIME_ERROR, code, stdout=b"tests.diff does not apply", channel=lines(one, [told], {}))
    found = SweVerifier().judge(
        one, Answer(PATCH), SweVerifier().plan(one, Answer(PATCH)), State((outcome,), "namespace", "local")
    )
    assert (found.reward, found.decided_by) == (0.0, "patch_hinders_tests")


@pytest.mark.parametrize("code", [41, 42, 43, 44])
def test_inverted_tests_that_cannot_be_placed_are_no_way_out(code: int) -> None:
    """They could over the reference: such a run, made twice, is none that a patch has stood."""
    asked = replace(job(), purpose="inverted")
    told: Mapping[str, object] = {"kind": "reference", "statuses": {}, "signs": {}, "ran": True, "runs": 2}
    outcome = Outcome(Status.RUNTIME_ERROR, code, stdout=b"not as it was", channel=lines(asked, [told], {}))
    state = State((outcome,), "namespace", "local")
    unplaced = SweVerifier().judge(asked, Answer(PATCH), SweVerifier().plan(asked, Answer(PATCH)), state)
    good = verdict({FAIL[0]: "FAILED", FAIL[1]: "PASSED"}, {FAIL[0]: "FAILED"}, [FAIL[1]])
    assert in_doubt([good, unplaced]) == (1,)
    for runs in ([good, unplaced], [unplaced, good], [unplaced, unplaced]):
        found = with_inverted(Verdict(1.0, integrity="in_process"), runs)
        assert (found.reward, found.tamper) == (0.0, (OTHERWISE,))
        assert "not as it was" in found.evidence[OTHERWISE]


@pytest.mark.parametrize("one", [replace(job(), purpose="inverted"), replace(job(), reference=reference(2))])
def test_a_run_without_a_record_of_what_it_was_asked_is_no_verdict(one: SweJob) -> None:
    """Were it one, a pass would stand that nothing tried."""
    passed = dict.fromkeys([*FAIL, *HOLD], "PASSED")
    state = State((Outcome(Status.OK, 0, channel=lines(one, [], passed)),), "namespace", "local")
    with pytest.raises(InstanceFailed):
        SweVerifier().judge(one, Answer(PATCH), SweVerifier().plan(one, Answer(PATCH)), state)
