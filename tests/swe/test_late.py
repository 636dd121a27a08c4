"""Tests that the clock ends: an answer's doing where it had its CPU, the machine's where others had it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from random import Random

import pytest

from sandbox_gym.contract import Answer, FollowUp, Judgement, Outcome, Plan, State, Status, Verdict
from sandbox_gym.errors import Starved
from sandbox_gym.limits import PATIENCE, STARVED_SHARE
from sandbox_gym.verifiers.swe import SweJob, SweVerifier, rerun_of
from sandbox_gym.verifiers.swe.job import Purpose, nonce
from tests.swe.test_inverted import PATCH, job

IDS = ["t/test_a.py::test_two", "t/test_a.py::test_three"]
LIMIT_S = 60.0
LEAST_S = STARVED_SHARE * LIMIT_S


def ran(
    task: SweJob, *, status: str = "TIMEOUT", waited_s: float = 0.0, starved_s: float | None = 0.0, cpu_s: float = 1.0
) -> State:
    """A run whose first test the clock ended, unless `status` says otherwise."""
    lines: list[dict[str, object]] = [
        {"kind": "begin", "python": "3.12.1"},
        {"kind": "done", "id": IDS[0], "status": status, "detail": "", "wall_s": LIMIT_S, "waited_s": waited_s},
        {"kind": "done", "id": IDS[1], "status": "PASSED", "detail": "", "wall_s": 0.1},
        {"kind": "end", "complete": True, "exit_code": 0, "rounds": 2},
    ]
    outcome = Outcome(
        Status.OK, 0, channel=_channel(task, lines), cpu_time_s=cpu_s, wall_time_s=200.0, starved_s=starved_s
    )
    return State((outcome,), "namespace", "local")


def _channel(task: SweJob, lines: list[dict[str, object]]) -> bytes:
    secret = nonce(task, PATCH.encode())
    return "".join(f"{secret} {json.dumps({**line, 'n': at})}\n" for at, line in enumerate(lines)).encode()


def is_late(task: SweJob, state: State) -> bool:
    return SweVerifier().is_late(task, Answer(PATCH), state)


TASK = job(IDS[:1], IDS[1:])


def test_only_who_waited_for_others_is_late() -> None:
    """A test that sleeps, one that its own threads keep waiting, and one that says by itself that it was late have met
    their limit."""
    times = (0.0, LEAST_S - 0.1, LEAST_S, 50.0)
    for waited_s, starved_s in itertools.product(times, (None, *times)):
        wanted = waited_s >= LEAST_S and (starved_s or 0.0) >= LEAST_S
        assert is_late(TASK, ran(TASK, waited_s=waited_s, starved_s=starved_s)) is wanted
    patient = replace(TASK, patient=True)
    for waited_s, cpu_s in itertools.product((LEAST_S, PATIENCE * LEAST_S), (1.0, LIMIT_S)):
        state = ran(patient, waited_s=waited_s, starved_s=waited_s, cpu_s=cpu_s)
        assert is_late(patient, state) is (waited_s > LEAST_S and cpu_s < LIMIT_S)


@pytest.mark.parametrize("second", ["PASSED", "FAILED", "TIMEOUT"])
def test_who_was_late_is_run_again_and_that_counts(second: str) -> None:
    verifier, answer = SweVerifier(), Answer(PATCH)
    plan, state = verifier.plan(TASK, answer), ran(TASK, waited_s=30.0, starved_s=30.0)
    follow_up = verifier.follow_up(
        TASK, answer, Judgement(plan, state, verifier.judge(TASK, answer, plan, state)), Random(0)
    )
    (again,) = next(follow_up)
    assert again == replace(TASK, patient=True)
    assert again_has_time(verifier.plan(again, answer)) == PATIENCE * LIMIT_S
    state = ran(again, status=second)
    judged = Judgement(plan, state, verifier.judge(again, answer, plan, state))
    with pytest.raises(StopIteration) as end:
        follow_up.send([judged])
    assert end.value.value.reward == float(second == "PASSED")


def out_of_time(task: SweJob, starved_s: float, cpu_s: float = 1.0) -> State:
    """A run that the watcher ended at the time of all tests, in the second of many."""
    lines: list[dict[str, object]] = [
        {"kind": "done", "id": task.task.ids[0], "status": "PASSED", "detail": "", "wall_s": 1700.0},
        {"kind": "done", "id": task.task.ids[1], "status": "TIMEOUT", "detail": "", "wall_s": 3.0, "waited_s": 2.0},
        {"kind": "end", "complete": False, "exit_code": -9, "rounds": 1},
    ]
    said, wall_s = _channel(task, lines), task.task.limits.run_time_s + 1
    outcome = Outcome(Status.OK, 0, channel=said, cpu_time_s=cpu_s, wall_time_s=wall_s, starved_s=starved_s)
    return State((outcome,), "namespace", "local")


def test_tests_that_had_no_time_together_are_run_again() -> None:
    """Each met its own limit; those that are left are too many for a rerun."""
    task = job(IDS[:1], [f"t/test_a.py::test_{number}" for number in range(100)])
    run_s = task.task.limits.run_time_s
    for share in (0.0, STARVED_SHARE / 2, STARVED_SHARE, 0.9):
        assert is_late(task, out_of_time(task, share * run_s)) is (share >= STARVED_SHARE)
    patient = replace(task, patient=True)
    assert is_late(patient, out_of_time(patient, 0.9 * run_s))
    assert not is_late(patient, out_of_time(patient, 0.9 * run_s, cpu_s=run_s)), "no machine has time for it"


def test_what_is_run_once_more_after_a_starved_run_has_patience() -> None:
    """A test's short programs, one after the other, wait where the watcher does not see."""
    report = SweVerifier().report(TASK, Answer(PATCH), ran(TASK))
    assert report is not None
    again = [rerun_of(replace(TASK, patient=before), report, starved=True) for before in (False, True)]
    assert [one is not None and one.patient for one in again] == [True, True]


def again_has_time(plan: Plan) -> float:
    told = json.loads(plan.steps[0].stdin)  # type: ignore[union-attr]  # it is a run
    return float(told["test_time_s"])


@pytest.mark.parametrize("purpose", ["verdict", "reference", "rerun"])
def test_who_is_late_twice_has_no_verdict(purpose: Purpose) -> None:
    """Nor does what the row's own fix did then become its reference."""
    task = replace(TASK, purpose=purpose, patient=True)
    verifier, answer = SweVerifier(), Answer(PATCH)
    with pytest.raises(Starved, match="wanted CPU that others had"):
        verifier.judge(task, answer, verifier.plan(task, answer), ran(task, waited_s=100.0, starved_s=100.0))


@pytest.mark.parametrize(("starved_s", "second", "reward"), [
    (50.0, "PASSED", 1.0), (50.0, "FAILED", 0.0), (39.0, "PASSED", 0.0), (0.0, "PASSED", 0.0), (None, "PASSED", 0.0),
])  # fmt: skip
def test_what_fails_in_a_starved_run_is_run_once_more(starved_s: float | None, second: str, reward: float) -> None:
    """Frameworks have limits of their own (5 s of a test in jest, 2 s in mocha), and so have tests."""
    verifier, answer = SweVerifier(), Answer(PATCH)
    plan, state = verifier.plan(TASK, answer), ran(TASK, status="FAILED", starved_s=starved_s)
    first = Judgement(plan, state, verifier.judge(TASK, answer, plan, state))
    follow_up = verifier.follow_up(TASK, answer, first, Random(0))
    assert _ended(follow_up, plan, second).reward == reward


def _ended(follow_up: FollowUp[SweJob], plan: Plan, second: str) -> Verdict:
    """The verdict, where each further run ends so."""
    verifier, answer, sent = SweVerifier(), Answer(PATCH), None
    while True:
        try:
            (again,) = next(follow_up) if sent is None else follow_up.send(sent)
        except StopIteration as end:
            found: Verdict = end.value
            return found
        assert again.ids == (IDS[0],)
        state = ran(again, status=second)
        sent = [Judgement(plan, state, verifier.judge(again, answer, plan, state))]
