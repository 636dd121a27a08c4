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


def further_runs(job: SweJob, first: Judgement, report: ChannelReport | None, random: Random) -> FollowUp[SweJob]:
    """The rerun, then the inverted runs of a patch that earned the reward, those in doubt twice. `report`: of the first
    run; None where no test ran."""
    verdict = first.verdict
    if report is None:
        return verdict
    again = rerun_of(job, report)
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


def rerun_of(job: SweJob, report: ChannelReport) -> SweJob | None:
    """The job of running once more the PASS_TO_PASS that failed; None where there is nothing to run, and where the run
    was lost with all its tests, which no flake is."""
    ids = flakes(job, report) if report.cases and not report.lost else ()
    return replace(job, ids=ids, first=as_row_ids(job.task, report), purpose="rerun") if ids else None


def flakes(job: SweJob, report: ChannelReport) -> tuple[str, ...]:
    """The PASS_TO_PASS to run once more."""
    known = report.reference.statuses if report.reference is not None else {}
    return to_rerun(job.task, as_row_ids(job.task, report), known)


def is_late(job: SweJob, report: ChannelReport, outcome: Outcome) -> bool:
    """Whether the watcher's clock ended a test, or the collection, that wanted a CPU in vain for so long that its time
    says nothing, as others had it. A log's command has no clock but the run's. Of a run with patience: not either where
    the tests used as much CPU time as they have wall time."""
    least_s = STARVED_SHARE * seconds_of_a_test(job)
    late = sum(waited_s >= least_s for waited_s in (report.waited_s, *(one.waited_s for one in report.cases.values())))
    if not late or (outcome.starved_s or 0.0) < least_s:  # their own threads may have kept them waiting
        return False
    return not job.patient or outcome.cpu_time_s < job.task.limits.test_time_s * late


def seconds_of_a_test(job: SweJob) -> float:
    """Wall seconds that one test has."""
    limits = job.task.limits
    return min(limits.test_time_s * (PATIENCE if job.patient else 1.0), limits.run_time_s)
