"""Judges the runs of a check function: the dialogue's report, and the runs in one process where the dialogue asked for
them.

Pure. The test's end of the dialogue reports whether `check` returned, and whether the test needs one process with the
answer; together.py judges runs in one process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sandbox_gym.contract import (
    DialogueOutcome,
    Integrity,
    InvertedTests,
    Outcome,
    Plan,
    State,
    Status,
    StepOutcome,
    TestResult,
    TestStatus,
)
from sandbox_gym.errors import ToolchainMissing
from sandbox_gym.verifiers.coding.diagnostics import last_line, plain
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.functions.split import why_not_isolated
from sandbox_gym.verifiers.coding.judging.asserted import judge_asserted, where
from sandbox_gym.verifiers.coding.judging.together import Failed, Together, has_returned, judge_together
from sandbox_gym.verifiers.coding.plan import ASSERTED, REHEARSAL
from sandbox_gym.verifiers.coding.task import CodingTask

_REPORT_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Checked:
    """How a check ended, and whether the test was isolated from the answer. No results: nothing was run."""

    results: tuple[TestResult, ...]
    integrity: Integrity
    integrity_reason: str = ""
    refused: bool = False
    """The server's `in_process` setting lets no such test run."""
    inverted: InvertedTests | None = None
    signs: Mapping[str, str] = field(default_factory=dict)
    """Signs of tampering that cost the reward whatever the settings."""


@dataclass(frozen=True, slots=True)
class _Report:
    """The report of the test's end."""

    passed: bool = False
    needs: str = ""
    status: TestStatus = TestStatus.WRONG_ANSWER
    reason: str = "the test gave no report"
    flooded: bool = False
    """Whether more crossed between test and answer than may."""


def goes_on(tests: CheckTests, index: int, outcome: StepOutcome) -> bool:
    """Whether runs in one process follow: the test asked for them, or the row's own solution decides; after a pass, the
    variants that must fail follow."""
    if not isinstance(outcome, DialogueOutcome):
        first = 0 if why_not_isolated(tests) else 1
        return index > first or (isinstance(outcome, Outcome) and has_returned(outcome))
    report = _report(outcome.asker)
    status = _candidate(outcome, report).status
    if status is Status.RUNTIME_ERROR:  # apart it may end for want of what only one process has
        return bool(tests.reference)
    return status is Status.OK and bool(report.needs or (tests.reference and not report.passed))


def judge_check(task: CodingTask, plan: Plan, state: State, failed: Failed) -> Checked:
    """The one result of a check function. Raises ToolchainMissing where pytest, or what the row imports, is not
    installed."""
    assert isinstance(task.tests, CheckTests)
    why = why_not_isolated(task.tests)
    if why and task.in_process != "allow":
        return Checked((), "in_process", f"row: {why}", refused=True)
    outcomes = [outcome for outcome in state.outcomes if outcome is not None]
    if not outcomes:
        return Checked((), plan.integrity, f"row: {why}" if why else "")
    _must_have_started(task.tests, outcomes[0])
    if isinstance(outcomes[0], Outcome) and plan.steps[0].name == ASSERTED:
        settled = judge_asserted(task.tests, outcomes[0], failed(task, outcomes[0]))
        status, reason = settled or (TestStatus.BAD_VALUE, "a call gave no plain value")
        return Checked((_result(status, reason, outcomes[0]),), "isolated")
    if not isinstance(outcomes[0], DialogueOutcome):
        return _checked(judge_together(task, plan, state, failed), f"row: {why}")
    report, result = _apart(task, outcomes[0], failed)
    why = report.needs or ("" if report.passed else _row_needs(plan, state))
    if not why:
        return Checked((result,), "isolated")
    if task.in_process != "allow":
        if report.passed and task.in_process == "deny":
            return Checked((result,), "isolated", why)
        refused = replace(result, status=TestStatus.BAD_VALUE, reason=why, score=0.0)
        return Checked((refused,), "isolated", why, refused=True)
    if len(outcomes) < 2:
        return Checked((result,), "isolated")
    ended = judge_together(task, plan, state, failed)
    passed = ended.result.status is TestStatus.PASSED
    if passed and why.startswith("answer: ") and not (ended.inverted and ended.inverted.variants):
        return Checked((result,), "isolated")  # an answer that could do without proof chose to, or there is none
    return _checked(ended, why)


def _must_have_started(tests: CheckTests, first: StepOutcome) -> None:
    """Raises ToolchainMissing where the sandboxes lack what the row's own source imports, so that no answer could pass.
    No program could say so: it is looked for before one begins."""
    ended = first.asker if isinstance(first, DialogueOutcome) else first
    if not isinstance(ended, Outcome) or ended.status is not Status.START_ERROR:
        return
    lacks = [name for name in tests.libraries if f"not installed: {name!r}" in ended.detail]
    if lacks:
        raise ToolchainMissing(
            f"the row needs {lacks[0]}, which the sandboxes' Python does not have: add it to the image (or this"
            " machine, for `local`), or name it in `module` if it is the answer"
        )


def _checked(ended: Together, why: str) -> Checked:
    return Checked((ended.result,), "in_process", why, inverted=ended.inverted, signs=ended.signs)


def _row_needs(plan: Plan, state: State) -> str:
    """Why the row needs one process: its own solution fails in two boxes and passes in one process."""
    for build, outcome in zip(plan.builds, state.builds, strict=False):
        if build.name == REHEARSAL and outcome.status is Status.OK:
            try:
                said = json.loads(outcome.stdout[:_REPORT_MAX])
                if said["passed"] is False and said["together"] is True:
                    return f"row: its own solution passes in one process only ({where(said['error'])})"
            except (ValueError, RecursionError, LookupError, TypeError):
                return ""
    return ""


def _apart(task: CodingTask, outcome: DialogueOutcome, failed: Failed) -> tuple[_Report, TestResult]:
    report = _report(outcome.asker)
    ended = failed(task, _candidate(outcome, report))
    if ended:
        report = _Report(status=ended[0], reason=ended[1])
    elif outcome.asker.status is not Status.OK:
        report = _unended(task, outcome.asker, failed)
    status, reason = (TestStatus.PASSED, "") if report.passed else (report.status, report.reason)
    return report, _result(status, reason, outcome.candidate)


def _unended(task: CodingTask, asker: Outcome, failed: Failed) -> _Report:
    """The test's own program met a cap or died; a value of the answer caused that."""
    ended = failed(task, asker)
    status = ended[0] if ended and ended[0] is not TestStatus.RUNTIME_ERROR else TestStatus.WRONG_ANSWER
    said = f"the test itself ended with {asker.status}: {last_line(asker.stderr)}".rstrip(": ")
    return _Report(status=status, reason=said)


def _candidate(outcome: DialogueOutcome, report: _Report) -> Outcome:
    """How the answer's program ended; at its output limit where more crossed than may."""
    ended = outcome.candidate
    over = report.flooded and ended.status in (Status.OK, Status.RUNTIME_ERROR)
    return replace(ended, status=Status.OUTPUT_LIMIT) if over else ended


def _report(asker: Outcome) -> _Report:
    try:
        said = json.loads(asker.stdout[:_REPORT_MAX].decode("utf-8"))
        passed, error, needs = said["passed"], said["error"], said["needs"]
        flooded = said.get("flooded") is True
    except (ValueError, RecursionError, KeyError, TypeError):
        return _Report()
    needs = plain(needs, 300) if isinstance(needs, str) else ""
    if passed is True and error is None:
        return _Report(passed=True, needs=needs, flooded=flooded)
    if not isinstance(error, dict):
        return _Report(needs=needs, flooded=flooded)
    wrong = error.get("type") == "AssertionError"
    status = TestStatus.WRONG_ANSWER if wrong else TestStatus.RUNTIME_ERROR
    return _Report(False, needs, status, where(error), flooded)


def _result(status: TestStatus, reason: str, costs: Outcome) -> TestResult:
    return TestResult(
        0,
        status,
        reason,
        float(status is TestStatus.PASSED),
        costs.cpu_time_s,
        costs.wall_time_s,
        costs.peak_memory_bytes,
    )
