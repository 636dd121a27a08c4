"""A verdict as JSON, for verify responses and every other view of one. Knows no server."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal, cast

from typing_extensions import TypedDict

from sandbox_gym.contract import CONTEST_CODES, Integrity, Isolation, TestResult, TestStatus, Verdict


class VerdictTest(TypedDict):
    """One test, as a verdict's JSON has it."""

    index: int
    status: TestStatus
    reason: str
    score: float
    cpu_time_s: float
    wall_time_s: float
    peak_memory_bytes: int
    contest: str


class VerdictGroup(TypedDict):
    """One group of tests: its points, and the most that it could give."""

    name: str
    points: float
    of: float


class VerdictInverted(TypedDict):
    """Inverted tests, which must fail: how many were run, and how many failed (`contract.InvertedTests`)."""

    variants: int
    failed: int
    unchanged: int
    why_none: str
    seed: str


class VerdictDocument(TypedDict):
    """A verdict as JSON (`contract.Verdict`)."""

    reward: float
    failure_reason: str
    integrity: Integrity
    integrity_reason: str
    isolation: Isolation
    provider: str
    contest: str
    decided_by: str
    groups: list[VerdictGroup]
    tamper: list[str]
    evidence: dict[str, str]
    inverted: VerdictInverted | None
    processes: Literal["own", "shared"]
    checked: int
    attempts: int
    timings_s: dict[str, float]
    tests: list[VerdictTest]


def verdict_document(verdict: Verdict) -> VerdictDocument:
    """A verdict as JSON."""
    return {
        "reward": verdict.reward,
        "failure_reason": verdict.failure_reason,
        "integrity": verdict.integrity,
        "integrity_reason": verdict.integrity_reason,
        "isolation": verdict.isolation,
        "provider": verdict.provider,
        "contest": verdict.contest,
        "decided_by": verdict.decided_by,
        "groups": [{"name": group.name, "points": group.points, "of": group.of} for group in verdict.groups],
        "tamper": list(verdict.tamper),
        "evidence": dict(verdict.evidence),
        "inverted": None if verdict.inverted is None else cast(VerdictInverted, asdict(verdict.inverted)),
        "processes": verdict.processes,
        "checked": verdict.checked,
        "attempts": verdict.attempts,
        "timings_s": dict(verdict.timings_s),
        "tests": [_test_document(test) for test in verdict.tests],
    }


def _test_document(test: TestResult) -> VerdictTest:
    """Field by field, because there may be ten thousand tests and dataclasses.asdict copies each value deeply."""
    return {
        "index": test.index,
        "status": test.status,
        "reason": test.reason,
        "score": test.score,
        "cpu_time_s": test.cpu_time_s,
        "wall_time_s": test.wall_time_s,
        "peak_memory_bytes": test.peak_memory_bytes,
        "contest": CONTEST_CODES[test.status],
    }
