"""A grade as the contract's Verdict: reward, a result per test, partial scores as groups, signs with their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sandbox_gym.contract import GroupResult, TestResult, TestStatus, Verdict
from sandbox_gym.verifiers.swe.channel.reader import CaseReport
from sandbox_gym.verifiers.swe.grading import CaseGrade, Grade
from sandbox_gym.verifiers.swe.ids import file_of
from sandbox_gym.verifiers.swe.task import CaseStatus

_STATUSES: Final[Mapping[CaseStatus, TestStatus]] = {
    CaseStatus.PASSED: TestStatus.PASSED,
    CaseStatus.XFAIL: TestStatus.PASSED,
    CaseStatus.FAILED: TestStatus.WRONG_ANSWER,
    CaseStatus.XPASS: TestStatus.WRONG_ANSWER,
    CaseStatus.ERROR: TestStatus.RUNTIME_ERROR,
    CaseStatus.MISSING: TestStatus.RUNTIME_ERROR,
    CaseStatus.TIMEOUT: TestStatus.TIME_LIMIT,
    CaseStatus.SKIPPED: TestStatus.SKIPPED,
}
"""The contract's word for a test that did not pass; one that passed is PASSED, whatever its status."""


def verdict_of(
    grade: Grade,
    *,
    cases: Mapping[str, CaseReport] | None = None,
    signs: Mapping[str, str] | None = None,
    fail_on_tamper: frozenset[str] = frozenset(),
    uncollected: Mapping[str, str] | None = None,
) -> Verdict:
    """The verdict: 1 when resolved, else 0. `cases` gives each test its time and detail, `uncollected` each file why
    none of its tests ran; `fail_on_tamper` names the signs that cost the reward, "any" all of them. Tests run in the
    candidate's process: `integrity` says so."""
    seen = dict(signs or {})
    costly = sorted(seen) if "any" in fail_on_tamper else sorted(fail_on_tamper & seen.keys())
    reason = f"tampering: {costly[0]}" if costly else grade.reason
    known, lost = cases or {}, uncollected or {}
    tests = tuple(_result(index, case, known.get(case.test_id), lost) for index, case in enumerate(grade.cases))
    return Verdict(
        reward=float(grade.resolved and not costly),
        tests=tests,
        failure_reason=reason,
        integrity="in_process",
        tamper=tuple(sorted(seen)),
        evidence=seen,
        groups=(
            GroupResult("FAIL_TO_PASS", grade.fail_to_pass.passed, grade.fail_to_pass.total),
            GroupResult("PASS_TO_PASS", grade.pass_to_pass.passed, grade.pass_to_pass.total),
        ),
    )


def _result(index: int, case: CaseGrade, report: CaseReport | None, lost: Mapping[str, str]) -> TestResult:
    status = TestStatus.PASSED if case.passed else _STATUSES[case.status]
    if not case.passed and status is TestStatus.PASSED:  # of an expected map: it should have failed
        status = TestStatus.WRONG_ANSWER
    again = f", then {case.rerun}" if case.rerun is not None else ""
    why = report.detail if report is not None else lost.get(file_of(case.test_id), "")
    detail = f": {why}" if why else ""
    return TestResult(
        index=index,
        status=status,
        reason=f"{case.group} {case.test_id}: {case.status}{again}{detail}",
        score=float(case.passed),
        wall_time_s=report.wall_time_s if report is not None else 0.0,
    )
