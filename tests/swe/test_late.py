"""Tests that the clock ends: an answer's doing where it had its CPU, the machine's where others had it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from random import Random

import pytest

from sandbox_gym.contract import Answer, Judgement, Outcome, Plan, State, Status
from sandbox_gym.errors import Starved
from sandbox_gym.limits import PATIENCE, STARVED_SHARE
from sandbox_gym.verifiers.swe import SweJob, SweVerifier
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
    said = "".join(
        f"{nonce(task, PATCH.encode())} {json.dumps({**line, 'n': number})}\n" for number, line in enumerate(lines)
    )
    outcome = Outcome(Status.OK, 0, channel=said.encode(), cpu_time_s=cpu_s, wall_time_s=200.0, starved_s=starved_s)
    return State((outcome,), "namespace", "local")


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
