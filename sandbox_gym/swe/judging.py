"""The verdict on a patch, and what else its runs showed. Knows no HTTP."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from sandbox_gym import judging
from sandbox_gym.contract import Answer, Judgement, State, Verdict, Verifier
from sandbox_gym.engine import Verification
from sandbox_gym.plans.runner import ANYONE, Caller
from sandbox_gym.verifiers.swe import ChannelReport, Grade, SweJob, SweVerifier, rerun_of, tests_outcome, was_starved

RUNS_SHARE: Final = 0.4
"""Of a verify's deadline: what one run of the tests may take."""
LEAST_RUN_S: Final = 120.0
PATIENCE: Final = 4.0
"""How many times what the row's own fix took an answer's run may always take, on however busy a machine."""


class Verifies(Protocol):
    """An engine."""

    async def verify(
        self, verifier: Verifier[SweJob], task: SweJob, answer: Answer, *, caller: Caller = ANYONE
    ) -> Verification: ...


@dataclass(frozen=True, slots=True)
class PatchVerdict:
    """The verdict that stands, and the runs behind it. No report: no test ran."""

    verdict: Verdict
    judgements: tuple[Judgement, ...]
    report: ChannelReport | None
    grade: Grade | None
    flaky: tuple[str, ...]
    """PASS_TO_PASS that failed, and passed when run again."""
    run_s: float
    """Of all runs together."""
    state: State | None
    """Of the first run that counts."""


def timed(job: SweJob, deadline_s: float) -> SweJob:
    """Tests that hang have their verdict before the deadline, where the row's own fix takes a fraction of that: two
    such runs fit in. Where the deadline is short for the row itself, that is not the answer's doing."""
    most_s, known = RUNS_SHARE * deadline_s, job.reference
    if known is None or not known.ran or most_s < max(LEAST_RUN_S, PATIENCE * known.wall_s):
        return job
    return replace(job, task=replace(job.task, limits=job.task.limits.tightened(run_time_s=most_s)))


async def judge_patch(engine: Verifies, job: SweJob, answer: Answer, caller: Caller = ANYONE) -> PatchVerdict:
    """The verdict on a patch. Raises RequestError and Unavailable."""
    verifier = SweVerifier()
    found = await engine.verify(verifier, job, answer, caller=caller)
    size_bytes = sum(judging.state_bytes(one.state) for one in found.judgements)
    return await judging.read(size_bytes, partial(_patch_verdict, verifier, job, answer, found))


def _patch_verdict(verifier: SweVerifier, job: SweJob, answer: Answer, found: Verification) -> PatchVerdict:
    judgements = found.judgements
    if verifier.is_late(job, answer, found.state):
        job, judgements = replace(job, patient=True), judgements[1:]
    state = judgements[0].state
    report = verifier.report(job, answer, state)
    starved = was_starved(tests_outcome(state))
    again = rerun_of(job, report, starved=starved) if report is not None else None
    graded = judgements[: 1 if again is None else 2]
    run_s = sum(one.verdict.timings_s.get("run", 0.0) for one in graded)
    return PatchVerdict(
        found.verdict,
        found.judgements,
        report,
        verifier.grade_of(job, answer, state),
        () if again is None else verifier.flaky(again, answer, graded[1].state),
        run_s + found.verdict.timings_s.get("inverted", 0.0),
        state,
    )
