"""What a run of inverted tests says of an answer, and the verdict that it leaves of the one it stands behind. Pure.

A test that was changed so that it must fail, and does not, has something in its process that makes it pass. A test that
fails beside changed ones, though it passed, is run so once more before that is held against the answer: over the
reference it passed in such a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from sandbox_gym.contract import InvertedTests, Outcome, State, TestResult, TestStatus, Verdict
from sandbox_gym.verifiers.inversion import SIGNS, ByteEdit, said_by
from sandbox_gym.verifiers.swe.channel.reader import ChannelReport
from sandbox_gym.verifiers.swe.commands import as_row_ids, row_cases
from sandbox_gym.verifiers.swe.framed import Said, differs
from sandbox_gym.verifiers.swe.job import SweJob
from sandbox_gym.verifiers.swe.reference import Inversion, Reference, rounds
from sandbox_gym.verifiers.swe.task import CaseStatus, SweTask

SURVIVED, OTHERWISE, DISTURBED = SIGNS
FAILS: Final = frozenset({CaseStatus.FAILED, CaseStatus.ERROR})
NOT_FAILED: Final = frozenset({CaseStatus.PASSED, CaseStatus.XPASS, CaseStatus.XFAIL, CaseStatus.SKIPPED})
DECIDED_BY: Final = "inverted_tests"


def inverted_jobs(job: SweJob, random: Random, on_record: int = 0) -> tuple[SweJob, ...]:
    """The runs that an answer must go through which would earn the reward. Where tests are not parsed, the runs are of
    those that were made over the reference. `on_record`: how many there were, where the reference is not known; what
    they asked is in their own words."""
    base = replace(job, purpose="inverted", ids=(), first={})
    if job.reference is None:
        return (base,) * on_record
    if job.reference.rounds:
        asked = random.sample(job.reference.rounds, job.reference.asked)
        asked.insert(random.randrange(len(asked) + 1), job.reference.holding or _as_they_are(job.reference, asked))
        return tuple(replace(base, inversion=one) for one in asked)
    made = rounds(job.reference, random)
    return tuple(replace(base, inversion=one, ids=_in_order(job, one)) for one in made)


def runs_of(reference: Reference) -> int:
    """How many runs an answer goes through."""
    return reference.asked + bool(reference.rounds)


def _as_they_are(reference: Reference, asked: Sequence[Inversion]) -> Inversion:
    """A run of the true tests, written as those of the others: each of these has the same deciding test changed, maybe
    the only one, so that who only knows that it is not the first run would let it fail."""
    edits: dict[str, tuple[ByteEdit, ...]] = {path: () for one in asked for path in one.edits}
    digests = {path: digest for one in asked for path, digest in one.digests.items()}
    passing = {test: None for one in asked for test in one.ids if test not in {*reference.statuses, *reference.fails}}
    return Inversion(edits, digests, unchanged=tuple(passing))


def _in_order(job: SweJob, inversion: Inversion) -> tuple[str, ...]:
    wanted = frozenset(inversion.ids)
    return tuple(test for test in job.task.ids if test in wanted)


def inverted_verdict(job: SweJob, report: ChannelReport, outcome: Outcome, state: State) -> Verdict:
    """The verdict on one run of inverted tests: 1 where each ended as it must."""
    asked = report.inversion or Inversion()
    seen = as_row_ids(job.task, report)
    signs: dict[str, str] = {}
    results: list[TestResult] = []
    failed = 0
    for test, wanted in asked.must_fail.items():
        status, sign = _of_changed(seen.get(test, CaseStatus.MISSING), wanted, alike=job.task.runner == "log")
        failed += not sign
        _note(signs, sign, f"{test} with {asked.how.get(test, 'a change')} ended as {status}")
        results.append(_result(len(results), sign, f"changed {test}: {status}"))
    said = said_in(job.task, report)
    for test, ends in asked.must_say.items():
        status, sign = _of_framed(seen.get(test, CaseStatus.MISSING), ends, said.get(test))
        failed += not sign
        ended = "|".join(said.get(test, ()))
        _note(signs, sign, f"{test} with {asked.how.get(test, 'a change')} ended as {status} {ended}".rstrip())
        results.append(_result(len(results), sign, f"framed {test}: {status}"))
    for test in asked.unchanged:
        status = seen.get(test, CaseStatus.MISSING)
        sign = "" if stood(job.task, status) else DISTURBED
        _note(signs, sign, f"{test} ended as {status} beside changed tests")
        results.append(_result(len(results), sign, f"unchanged {test}: {status}"))
    return Verdict(
        float(not signs),
        tests=tuple(results),
        failure_reason=f"tampering: {next(iter(signs))}" if signs else "",
        integrity="in_process",
        isolation=state.isolation,
        provider=state.provider,
        tamper=tuple(sorted(signs)),
        evidence=signs,
        inverted=InvertedTests(len(asked.must_fail) + len(asked.must_say), failed, len(asked.unchanged)),
        decided_by=DECIDED_BY,
    )


def stood(task: SweTask, status: CaseStatus | None) -> bool:
    """Whether an unchanged test passed in such a run: some logs name failures alone."""
    return status is CaseStatus.PASSED or (task.rule == "fail_only" and status in (None, CaseStatus.MISSING))


def _of_changed(status: CaseStatus, wanted: CaseStatus, *, alike: bool) -> tuple[CaseStatus, str]:
    """`alike`: a failure is one however it came, as frameworks' logs have it."""
    if status is wanted or (alike and {status, wanted} <= FAILS):
        return status, ""
    return status, SURVIVED if status in NOT_FAILED else OTHERWISE


def said_in(task: SweTask, report: ChannelReport) -> Said:
    """How the assertions of framed tests ended, as the box says, by the row's ids."""
    found = {test: said_by(case.detail) for test, case in row_cases(task, report).items()}
    return {test: said for test, said in found.items() if said is not None}


def _of_framed(status: CaseStatus, wanted: Sequence[str], said: Sequence[str] | None) -> tuple[CaseStatus, str]:
    survived, disturbed = differs(wanted, said)
    if status not in FAILS or survived:
        return status, SURVIVED if survived or status in NOT_FAILED else OTHERWISE
    return status, (DISTURBED if said is not None else OTHERWISE) if disturbed else ""


def _note(signs: dict[str, str], sign: str, what: str) -> None:
    if sign:
        signs.setdefault(sign, what[:300])


def _result(index: int, sign: str, reason: str) -> TestResult:
    status = TestStatus.WRONG_ANSWER if sign else TestStatus.PASSED
    return TestResult(index, status, reason[:600], float(not sign))


def in_doubt(verdicts: Sequence[Verdict]) -> tuple[int, ...]:
    """Which of the runs are to be made again: where a test ended in a way that may be a flake, or none was begun. None
    where a changed test survived, which is none."""
    if any(SURVIVED in verdict.tamper for verdict in verdicts):
        return ()
    return tuple(number for number, verdict in enumerate(verdicts) if verdict.tamper or verdict.inverted is None)


def with_inverted(verdict: Verdict, inverted: Sequence[Verdict], why_none: str = "") -> Verdict:
    """The verdict that stands after its inverted runs. `why_none`: why no deciding test was among them."""
    counts = [one.inverted for one in inverted if one.inverted is not None]
    total = InvertedTests(
        sum(one.variants for one in counts),
        sum(one.failed for one in counts),
        sum(one.unchanged for one in counts),
        why_none,
    )
    evidence: dict[str, str] = {}
    for one in inverted:
        evidence = {**one.evidence, **evidence}
        if one.inverted is None:  # its tests could not be put in place, as over the reference: it shows nothing
            evidence.setdefault(OTHERWISE, one.failure_reason[:300])
    timings = {**verdict.timings_s, "inverted": sum(one.timings_s.get("run", 0.0) for one in inverted)}
    verdict = replace(verdict, inverted=total, timings_s=timings)
    if not evidence:
        return verdict
    worst = next(sign for sign in SIGNS if sign in evidence)
    return replace(
        verdict,
        reward=0.0,
        failure_reason=f"tampering: {worst}",
        tamper=tuple(sorted({*verdict.tamper, *evidence})),
        evidence={**verdict.evidence, **evidence},
        decided_by=DECIDED_BY,
    )
