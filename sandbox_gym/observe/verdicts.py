"""The parts of a verdict that may be counted and traced: closed sets of words, and numbers."""

from __future__ import annotations

from typing import Final

from sandbox_gym.contract import TestStatus, Verdict
from sandbox_gym.observe.traces import Attributes

REASONS: Final = ("passed", "failed", *(status.value for status in TestStatus if status is not TestStatus.PASSED))
"""Every value of `reason_of`."""


def reason_of(verdict: Verdict) -> str:
    """The first failing test's status; `failed` without such a test, `passed` for a full reward."""
    failed = next((test.status.value for test in verdict.tests if test.status is not TestStatus.PASSED), "")
    return failed or ("failed" if verdict.failure_reason else "passed")


def attributes_of(verdict: Verdict) -> Attributes:
    """A verdict's span attributes."""
    return {
        "reason": reason_of(verdict),
        "reward": verdict.reward,
        "attempts": verdict.attempts,
        "isolation": verdict.isolation,
        "integrity": verdict.integrity,
        "tests": len(verdict.tests),
        "tamper": verdict.tamper,
    }
