"""The verdict of a SWE task from how its tests ended: SWE-bench's rules, partial scores beside them.

Resolved is RESOLVED_FULL: every FAIL_TO_PASS and every PASS_TO_PASS passes. A test passes as PASSED; as XFAIL, or a
PASS_TO_PASS as SKIPPED, only where the reference run ended it so. swebench counts every XFAIL as passed, and skipped
tests of its log parsers as kept: there an answer makes the tests it breaks xfail or skip themselves.
Source: swebench 5.0.2, harness/grading.py and log_parsers/python.py; R2E-Gym's reward for `expected_map`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from sandbox_gym.verifiers.swe.ids import look_up
from sandbox_gym.verifiers.swe.task import CaseStatus, SweTask

MAX_RERUNS = 64
MAX_FAILING = 5000

Group = Literal["FAIL_TO_PASS", "PASS_TO_PASS"]

_LIKE_REFERENCE = {
    "FAIL_TO_PASS": frozenset({CaseStatus.XFAIL}),
    "PASS_TO_PASS": frozenset({CaseStatus.XFAIL, CaseStatus.SKIPPED}),
}
"""What passes where the reference ended so too."""


class Resolution(StrEnum):
    """SWE-bench's three words."""

    FULL = "RESOLVED_FULL"
    PARTIAL = "RESOLVED_PARTIAL"
    NO = "RESOLVED_NO"


@dataclass(frozen=True, slots=True)
class CaseGrade:
    """One test of the row: how it ended each time it ran, and whether it passes."""

    test_id: str
    group: Group
    status: CaseStatus
    passed: bool
    rerun: CaseStatus | None = None
    """The second time, where it failed the first and was run again."""
    reported_id: str = ""
    """The id that was taken for it, where that is another: the row's is cut."""

    @property
    def flaky(self) -> bool:
        """It failed, and passed when run again."""
        return self.rerun is not None and self.passed


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many."""

    passed: int
    total: int

    @property
    def score(self) -> float:
        """From 0 to 1; 1 of none, as SWE-bench has it."""
        return self.passed / self.total if self.total else 1.0

    @property
    def whole(self) -> bool:
        return self.passed == self.total


@dataclass(frozen=True, slots=True)
class Grade:
    """A patch's result."""

    resolution: Resolution
    cases: tuple[CaseGrade, ...]
    fail_to_pass: Share
    pass_to_pass: Share
    reason: str = ""
    """Why it is not resolved; empty when it is."""
    ignored: Mapping[str, CaseStatus] | None = None
    """How the tests ended that the row's owner knows to fail under the gold patch."""

    @property
    def failed(self) -> tuple[str, ...]:
        """The ids of the tests that did not pass."""
        return tuple(case.test_id for case in self.cases if not case.passed)

    @property
    def resolved(self) -> bool:
        return self.resolution is Resolution.FULL

    def tests_status(self) -> dict[str, dict[str, list[str]]]:
        """The same in swebench's report.json form: group -> success and failure -> ids."""
        groups: tuple[Group, ...] = ("FAIL_TO_PASS", "PASS_TO_PASS")
        return {
            group: {
                key: [case.test_id for case in self.cases if case.group == group and case.passed is wanted]
                for key, wanted in (("success", True), ("failure", False))
            }
            for group in groups
        }


def grade(
    task: SweTask,
    after: Mapping[str, CaseStatus],
    *,
    reference: Mapping[str, CaseStatus] | None = None,
    rerun: Mapping[str, CaseStatus] | None = None,
    retried: Collection[str] = (),
    exit_code: int | None = None,
    ran: bool = False,
) -> Grade:
    """The verdict on the statuses after the patch. `reference` and `rerun`: those of the reference run, where they are
    not PASSED, and of the second run of `to_rerun(task, after)`, which is `retried`. `exit_code` is the test
    command's, for a log: a failing command whose log names no failure is not described by its log. `ran`: a log that
    names no test shows all the same that some ran, as where only failures are named."""
    if task.rule == "expected_map":
        second_time = {test: word for test, word in (rerun or {}).items() if test in retried}
        return _grade_map(task, {**after, **second_time})
    if task.runner == "log":
        untrusted = _contradiction(after, exit_code, ran)
        if untrusted:
            return _nothing(task, untrusted)
    known, again = reference or {}, rerun or {}
    second = {*task.pass_to_pass, *retried}
    cases = tuple(
        _case(task, test_id, group, after, known, again if test_id in second else {})
        for group, ids in _groups(task)
        for test_id in ids
    )
    f2p, p2p = (_share(cases, group) for group, _ in _groups(task))
    ignored = {test: after.get(test, CaseStatus.MISSING) for test in task.fails_with_gold}
    return Grade(_resolution(f2p, p2p), cases, f2p, p2p, _reason(cases), ignored)


def to_rerun(
    task: SweTask,
    after: Mapping[str, CaseStatus],
    reference: Mapping[str, CaseStatus] | None = None,
    *,
    starved: bool = False,
) -> tuple[str, ...]:
    """The PASS_TO_PASS to run once more: those that failed and are not to fail. Of a run that was `starved` the
    FAIL_TO_PASS that failed, too: a framework's own limits, or a test's, may have ended them. None where there are more
    than MAX_RERUNS, which no flake makes."""
    if task.rule == "fail_only":
        return ()
    cases = grade(task, after, reference=reference).cases
    again = {"FAIL_TO_PASS": starved, "PASS_TO_PASS": starved or task.rule == "full"}  # a map is of one run
    failed = [case.test_id for case in cases if not case.passed and again[case.group]]
    return tuple(failed) if len(failed) <= MAX_RERUNS else ()


def failing(
    task: SweTask, statuses: Mapping[str, CaseStatus], *, exit_code: int | None = None, ran: bool = False
) -> tuple[str, ...]:
    """The row's tests that did not pass over its own fix; at most MAX_FAILING, in their order. All of them where the
    log is not believed."""
    return grade(task, statuses, reference=statuses, exit_code=exit_code, ran=ran).failed[:MAX_FAILING]


def weak_spots(task: SweTask, before: Mapping[str, CaseStatus]) -> dict[str, CaseStatus]:
    """Tests whose status before any patch is not what their list says: a FAIL_TO_PASS that passes, a PASS_TO_PASS that
    does not. A map has no lists."""
    if task.rule == "expected_map":
        return {}
    bare = grade(task, before)
    return {case.test_id: case.status for case in bare.cases if case.passed is (case.group == "FAIL_TO_PASS")}


def _groups(task: SweTask) -> tuple[tuple[Group, tuple[str, ...]], tuple[Group, tuple[str, ...]]]:
    return ("FAIL_TO_PASS", task.fail_to_pass), ("PASS_TO_PASS", task.pass_to_pass)


def _case(
    task: SweTask,
    test_id: str,
    group: Group,
    after: Mapping[str, CaseStatus],
    reference: Mapping[str, CaseStatus],
    rerun: Mapping[str, CaseStatus],
) -> CaseGrade:
    key = look_up(task, test_id, after)
    status = after[key] if key is not None else CaseStatus.MISSING
    wanted = reference.get(test_id, CaseStatus.PASSED)
    passed = _passes(task, group, status, wanted)
    second = None
    if not passed:
        again = look_up(task, test_id, rerun)
        second = rerun[again] if again is not None else None
        passed = second is not None and _passes(task, group, second, wanted)
    other = key if key is not None and key != test_id else ""
    return CaseGrade(test_id, group, status, passed, second, other)


def _passes(task: SweTask, group: Group, status: CaseStatus, wanted: CaseStatus) -> bool:
    """`wanted`: how the reference run ended it."""
    if task.rule == "fail_only":
        return status is not CaseStatus.FAILED
    return status is CaseStatus.PASSED or (status is wanted and status in _LIKE_REFERENCE[group])


def _share(cases: tuple[CaseGrade, ...], group: Group) -> Share:
    mine = [case.passed for case in cases if case.group == group]
    return Share(sum(mine), len(mine))


def _resolution(f2p: Share, p2p: Share) -> Resolution:
    if not p2p.whole:
        return Resolution.NO
    if f2p.whole:
        return Resolution.FULL
    return Resolution.PARTIAL if f2p.passed else Resolution.NO


def _reason(cases: tuple[CaseGrade, ...]) -> str:
    first = next((case for case in cases if not case.passed), None)
    return f"{first.group} {first.status}: {first.test_id}" if first is not None else ""


def _contradiction(after: Mapping[str, CaseStatus], exit_code: int | None, ran: bool) -> str:
    """Why a log is not believed; empty when it is. A run without any result and any sign of one is none, also where
    absence passes."""
    if not after and not ran:
        return "no test ran"
    failures = {CaseStatus.FAILED, CaseStatus.ERROR}
    if exit_code not in (None, 0) and not failures & set(after.values()):
        return f"the test command exited with {exit_code} and its log names no failure"
    return ""


def _nothing(task: SweTask, reason: str) -> Grade:
    cases = tuple(
        CaseGrade(test_id, group, CaseStatus.MISSING, False) for group, ids in _groups(task) for test_id in ids
    )
    f2p, p2p = (_share(cases, group) for group, _ in _groups(task))
    return Grade(Resolution.NO, cases, f2p, p2p, reason)


def _grade_map(task: SweTask, after: Mapping[str, CaseStatus]) -> Grade:
    """R2E-Gym's: the same tests ended in the same way, no more and no fewer. Its tests are all PASS_TO_PASS here."""
    seen = {name.split(" - ")[0]: status for name, status in after.items() if name}
    cases = tuple(
        CaseGrade(test, "PASS_TO_PASS", seen.get(test, CaseStatus.MISSING), seen.get(test) is wanted)
        for test, wanted in task.expected.items()
    )
    share = _share(cases, "PASS_TO_PASS")
    strays = [test for test in seen if test not in task.expected]
    same = share.whole and not strays and bool(cases)
    reason = _reason(cases) or (f"a test that is not expected: {strays[0]}" if strays else "" if cases else "no test")
    return Grade(Resolution.FULL if same else Resolution.NO, cases, Share(0, 0), share, reason)
