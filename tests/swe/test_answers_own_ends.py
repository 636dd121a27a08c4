"""Ends that an answer brings about are its own: it hangs, it ends its sandboxes, it works where its repository does."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import pytest

from sandbox_gym.contract import Answer, Judgement, Outcome, Run, State, Status
from sandbox_gym.swe.judging import timed as timed_by
from sandbox_gym.verifiers.swe import (
    CaseStatus,
    Reference,
    SweJob,
    SweVerifier,
    extract_patch,
    inverted_jobs,
    normalised,
)
from sandbox_gym.verifiers.swe.follow_up import further_runs
from sandbox_gym.verifiers.swe.job import nonce
from tests.swe.test_inverted import PATCH, job, reference

KILLED = Outcome(Status.MEMORY_LIMIT, detail="ended 2 sandboxes, each at its memory cap", tamper=("sandbox_killed",))


def wall_s(found: SweJob) -> float:
    (run,) = SweVerifier().plan(found, Answer(PATCH)).steps
    assert isinstance(run, Run)
    return run.limits.wall_time_s


def known(wall: float, *, ran: bool = True) -> SweJob:
    return replace(job(), reference=Reference(ran=ran, seconds=1.0, wall_s=wall))


@pytest.mark.parametrize(
    ("given", "deadline_s", "most_s"),
    [
        (known(2), 600, 240),
        (known(59), 600, 240),
        (known(61), 600, 1800),  # too slow for this deadline by itself
        (known(2), 200, 1800),  # a short deadline is the caller's affair
        (known(2), 6000, 1800),
        (known(2, ran=False), 600, 1800),
        (job(), 600, 1800),
    ],
)
def test_what_hangs_has_its_verdict_before_the_deadline(given: SweJob, deadline_s: float, most_s: float) -> None:
    timed = timed_by(given, deadline_s)
    assert timed.task.limits.run_time_s == most_s
    assert wall_s(timed) == wall_s(given) - 1800 + most_s
    if most_s < 1800:
        assert 2 * most_s < deadline_s
    assert nonce(timed, b"") == nonce(given, b"")


def test_what_ended_its_sandboxes_is_wrong_and_no_fault_of_ours() -> None:
    given = replace(job(), reference=reference(3))
    for one in (given, *inverted_jobs(given, Random(1))):
        verifier, state = SweVerifier(), State((KILLED,), "none", "local")
        answer = Answer(PATCH)
        verdict = verifier.judge(one, answer, verifier.plan(one, answer), state)
        assert verdict.reward == 0.0
        assert verdict.tamper
        assert KILLED.detail in str(verdict.evidence)
    first = Judgement(verifier.plan(given, answer), state, verdict)
    again = further_runs(given, first, SweVerifier().report(given, answer, state), Random(1))
    with pytest.raises(StopIteration):
        next(again)  # and is not run once more


def test_a_file_that_looks_about_over_the_reference_may_be_changed() -> None:
    """Of a debugger's own tracer, which the row's fix does not touch."""
    given = job()
    hooks = {name: f"reaching {name} {given.checkout.workdir}/a.py" for name in ("sys.settrace", "gc.get_objects")}
    for own, signs in (((), {"channel_reached"}), ((hooks["sys.settrace"],), set())):
        one = replace(given, reference=Reference(ran=True, signs={"channel_reached": own} if own else {}))
        assert _signs_of(one, hooks["sys.settrace"]) == signs
        assert _signs_of(one, hooks["gc.get_objects"]) == {"channel_reached"}


def _signs_of(given: SweJob, hook: str) -> set[str]:
    said: list[dict[str, object]] = []
    if given.reference is not None:
        own = {name: list(seen) for name, seen in given.reference.signs.items()}
        said.append({"kind": "reference", "ran": True, "statuses": {}, "signs": own, "runs": 0, "why_none": ""})
    said.append({"kind": "begin", "python": "3.12.0"})
    said += [{"kind": "done", "id": test, "status": "PASSED"} for test in given.task.ids]
    name, _, path = hook.rpartition(" ")
    said += [{"kind": "hook", "hook": name, "file": path}, {"kind": "end", "complete": True, "rounds": 1}]
    verifier, answer = SweVerifier(), Answer(PATCH)
    channel = channel_of(given, said)
    state = State((Outcome(Status.OK, exit_code=0, channel=channel),), "namespace", "local")
    verdict = verifier.judge(given, answer, verifier.plan(given, answer), state)
    assert all(test.reason.endswith(CaseStatus.PASSED) for test in verdict.tests)
    return set(verdict.tamper)


def channel_of(given: SweJob, said: list[dict[str, object]]) -> bytes:
    secret = nonce(given, PATCH.encode())
    return b"".join(f"{secret} {json.dumps({**line, 'n': n})}\n".encode() for n, line in enumerate(said))


@pytest.mark.parametrize("code", [0xD800, 0xD83D, 0xDBFF, 0xDC00, 0xDC7F, 0xDC80, 0xDCFF, 0xDD00, 0xDFFF])
@pytest.mark.parametrize("place", ["a/{}.txt", "a/x.txt"])
def test_half_an_emoji_is_a_patchs_own_affair(code: int, place: str) -> None:
    text = chr(code)
    path = place.format(text)
    patch = f"diff --git {path} {path}\nnew file mode 100644\n--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+x{text}\n"
    verifier, answer = SweVerifier(), Answer(normalised(patch))
    plan = verifier.plan(job(), answer)
    assert plan.steps
    state = State((Outcome(Status.RUNTIME_ERROR, exit_code=1),), "none", "local")
    assert verifier.judge(job(), answer, plan, state).reward == 0.0
    found = extract_patch(f"So:\n```diff\n{patch}```\n")
    assert found is not None
    verifier.plan(job(), Answer(found.text))
