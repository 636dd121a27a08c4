"""What a patch is run through after its first run: flaky tests once more, then tests that must fail. Pure.

A failure is as cheap as one run; inverted tests are run where the reward is at stake. A run whose tests the watcher's
clock ended while others had the CPU says nothing: it is made again, with patience, and if that is so again there is no
verdict.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from sandbox_gym.contract import FollowUp, InvertedTests, Judgement, Outcome
from sandbox_gym.limits import PATIENCE, STARVED_SHARE
from sandbox_gym.verifiers.swe.channel.reader import ChannelReport
from sandbox_gym.verifiers.swe.commands import as_row_ids
from sandbox_gym.verifiers.swe.grading import to_rerun
from sandbox_gym.verifiers.swe.inverted import in_doubt, inverted_jobs, with_inverted
from sandbox_gym.verifiers.swe.job import SweJob

_NO_REFERENCE: Final = "no reference run is known"
LEAST_S: Final = 0.5
"""For less no test is run again: a framework's own limits are of a second and more."""


def further_runs(
    job: SweJob, first: Judgement, report: ChannelReport | None, random: Random, *, starved: bool = False
) -> FollowUp[SweJob]:
    """The rerun, then the inverted runs of a patch that earned the reward, those in doubt twice. `report`: of the first
    run; None where no test ran."""
    verdict = first.verdict
    if report is None:
        return verdict
    again = rerun_of(job, report, starved=starved)
    if again is not None:
        (second,) = yield (again,)
        verdict = second.verdict
    if verdict.reward != 1.0:
        return verdict
    told = report.reference
    if told is None or not told.runs:
        why_none = told.why_none if told is not None else _NO_REFERENCE
        return replace(verdict, inverted=InvertedTests(why_none=why_none))
    jobs = inverted_jobs(job, random, told.runs)
    judgements = yield jobs
    found = [each.verdict for each in judgements]
    doubted = in_doubt(found)
    if doubted:
        judgements = yield tuple(replace(jobs[number], patient=True) for number in doubted)
        for number, each in zip(doubted, judgements, strict=True):
            found[number] = each.verdict
    return with_inverted(verdict, found, told.why_none)


def rerun_of(job: SweJob, report: ChannelReport, *, starved: bool) -> SweJob | None:
    """The job of running once more the tests that failed and may be flakes; None where there is nothing to run, and
    where the run was lost with all its tests, which no flake is."""
    known = report.reference.statuses if report.reference is not None else {}
    after = as_row_ids(job.task, report)
    ids = to_rerun(job.task, after, known, starved=starved) if report.cases and not report.lost else ()
    patient = job.patient or starved  # short programs wait, one after the other, where the watcher does not see
    return replace(job, ids=ids, first=after, purpose="rerun", patient=patient) if ids else None


def was_starved(outcome: Outcome | None) -> bool:
    """Whether a run wanted a CPU in vain for so long, as others had it, that limits within it may have been missed."""
    return outcome is not None and (outcome.starved_s or 0.0) >= max(LEAST_S, STARVED_SHARE * outcome.wall_time_s)


def is_late(job: SweJob, report: ChannelReport, outcome: Outcome) -> bool:
    """Whether the watcher's clock ended a test, the collection or all tests together, which wanted a CPU in vain for so
    long that their time says nothing, as others had it. A log's command has no clock but the run's. Of a run with
    patience: not either where the tests used as much CPU time as they have wall time."""
    limits, starved_s = job.task.limits, outcome.starved_s or 0.0
    least_s = STARVED_SHARE * seconds_of_a_test(job)
    late = sum(waited_s >= least_s for waited_s in (report.waited_s, *(one.waited_s for one in report.cases.values())))
    time_s = limits.test_time_s * late if starved_s >= least_s else 0.0  # their own threads may have kept them waiting
    if outcome.wall_time_s >= limits.run_time_s and not (report.complete or report.lost):
        time_s += limits.run_time_s * (starved_s >= STARVED_SHARE * limits.run_time_s)
    return time_s > 0 and (not job.patient or outcome.cpu_time_s < time_s)


def seconds_of_a_test(job: SweJob) -> float:
    """Wall seconds that one test has."""
    limits = job.task.limits
    return min(limits.test_time_s * (PATIENCE if job.patient else 1.0), limits.run_time_s)
