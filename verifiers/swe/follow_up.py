"""What a patch is run through after its first run: flaky tests once more, then tests that must fail. Pure.

A failure is as cheap as one run; inverted tests are run where the reward is at stake.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from sandbox_gym.contract import FollowUp, InvertedTests, Judgement
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
        judgements = yield tuple(jobs[number] for number in doubted)
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
