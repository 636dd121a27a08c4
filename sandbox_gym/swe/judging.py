"""What a patch is worth, in as many runs as that takes: its tests, a second run of what may flake, inverted tests.

Owns the order of these runs; what each says is the verifier's affair. Knows no HTTP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import SystemRandom
from typing import Final, Protocol

import anyio

from sandbox_gym import judging
from sandbox_gym.contract import Answer, InvertedTests, Plan, State, Verdict, Verifier
from sandbox_gym.engine import ANYONE, Caller
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.swe.patience import patiently
from sandbox_gym.verifiers.swe import (
    ChannelReport,
    Grade,
    SweJob,
    SweVerifier,
    Told,
    flakes,
    in_doubt,
    inverted_jobs,
    statuses,
    with_inverted,
)

AT_ONCE: Final = 2
"""Inverted runs of one verify."""
_NO_REFERENCE = "no reference run is known"


class Judges(Protocol):
    """An engine that plans, runs and judges."""

    async def judged(
        self, verifier: Verifier[SweJob], task: SweJob, answer: Answer, *, caller: Caller = ANYONE
    ) -> tuple[Verdict, Plan, State | None]: ...


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict that stands, and the first run behind it. No report: no test ran."""

    verdict: Verdict
    state: State | None
    report: ChannelReport | None
    grade: Grade | None
    flaky: tuple[str, ...]
    """PASS_TO_PASS that failed, and passed when run again."""
    run_s: float
    """Of all runs together."""


async def judge_patch(engine: Judges, job: SweJob, answer: Answer, caller: Caller = ANYONE) -> Judged:
    """The verdict on a patch. A failure is as cheap as one run; inverted tests are run where the reward is at stake.

    Raises RequestError and Unavailable.
    """
    verifier = SweVerifier()
    verdict, _plan, state = await engine.judged(verifier, job, answer, caller=caller)
    run_s = verdict.timings_s.get("run", 0.0)
    size_bytes = judging.state_bytes(state)
    report = await judging.read(size_bytes, partial(verifier.report, job, answer, state))
    again = flakes(job, report) if report is not None else ()
    flaky: tuple[str, ...] = ()
    if report is not None and again:
        second = verifier.rerun(job, again, statuses(job, report))
        verdict, _plan, rerun_state = await engine.judged(verifier, second, answer, caller=caller)
        run_s += verdict.timings_s.get("run", 0.0)
        again_bytes = judging.state_bytes(rerun_state)
        flaky = tuple(await judging.read(again_bytes, partial(verifier.flaky, second, answer, rerun_state)))
    grade = await judging.read(size_bytes, partial(verifier.grade_of, job, answer, state))
    if verdict.reward == 1.0 and report is not None:
        verdict = await _inverted(engine, job, answer, verdict, report.reference, caller)
        run_s += verdict.timings_s.get("inverted", 0.0)
    return Judged(verdict, state, report, grade, flaky, run_s)


async def _inverted(
    engine: Judges, job: SweJob, answer: Answer, verdict: Verdict, told: Told | None, caller: Caller
) -> Verdict:
    """The verdict that stands after tests that must fail were among those that the answer passed."""
    if told is None or not told.runs:
        return replace(verdict, inverted=InvertedTests(why_none=told.why_none if told is not None else _NO_REFERENCE))
    jobs = inverted_jobs(job, SystemRandom(), told.runs)
    found = await _at_once(engine, jobs, answer, caller)
    doubted = in_doubt(found)
    again = await _at_once(engine, [jobs[number] for number in doubted], answer, caller)
    for number, verdict_again in zip(doubted, again, strict=True):
        found[number] = verdict_again
    return with_inverted(verdict, found, told.why_none)


async def _at_once(engine: Judges, jobs: Sequence[SweJob], answer: Answer, caller: Caller) -> list[Verdict]:
    """Each in a box of its own; verdicts in the jobs' order. Raises Unavailable where one has none."""
    found: dict[int, Verdict] = {}
    failed: list[SandboxGymError] = []
    places = anyio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        judged = partial(engine.judged, SweVerifier(), jobs[number], answer, caller=caller)
        try:
            async with places:
                found[number], _plan, _state = await patiently(judged, caller)
        except SandboxGymError as error:
            failed.append(error)

    async with anyio.create_task_group() as tasks:
        for number in range(len(jobs)):
            tasks.start_soon(one, number)
    if failed:
        raise failed[0]
    return [found[number] for number in range(len(jobs))]
