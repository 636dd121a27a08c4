"""What an answer is worth, and how we know. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from sandbox_gym.contract.outcome import Isolation, State
from sandbox_gym.contract.plan import Integrity, Plan


class TestStatus(StrEnum):
    """The verdict on one test."""

    __test__ = False  # not a test class, whatever pytest makes of its name

    PASSED = "passed"
    WRONG_ANSWER = "wrong_answer"
    PRESENTATION_ERROR = "presentation_error"
    """Right but for white space, where the row asks for the difference."""
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    BAD_VALUE = "bad_value"
    """The function gave something that is no exact builtin value."""
    SKIPPED = "skipped"
    """Not run: early stop after an earlier failure."""
    CHECKER_FAILED = "checker_failed"
    """The row's own checker or interactor gave no verdict: what the answer is worth is unknown."""


CONTEST_CODES: Mapping[TestStatus, str] = {
    TestStatus.PASSED: "AC",
    TestStatus.WRONG_ANSWER: "WA",
    TestStatus.PRESENTATION_ERROR: "PE",
    TestStatus.COMPILE_ERROR: "CE",
    TestStatus.RUNTIME_ERROR: "RTE",
    TestStatus.TIME_LIMIT: "TLE",
    TestStatus.MEMORY_LIMIT: "MLE",
    TestStatus.OUTPUT_LIMIT: "OLE",
    TestStatus.BAD_VALUE: "WA",
    TestStatus.SKIPPED: "SK",
    TestStatus.CHECKER_FAILED: "JE",
}
"""What programming contests call each status; SK for a test that was not run, JE for a judging error."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test: which, how it ended, why, and what it cost."""

    __test__ = False

    index: int
    status: TestStatus
    reason: str = ""
    score: float = 0.0
    """What the test gives, from 0 to 1."""
    cpu_time_s: float = 0.0
    wall_time_s: float = 0.0
    peak_memory_bytes: int = 0
    got: str = ""
    """The value that a function gave where another was expected, shortened."""


@dataclass(frozen=True, slots=True)
class GroupResult:
    """One group of tests: what it gave of what it could give."""

    name: str
    points: float
    of: float


@dataclass(frozen=True, slots=True)
class InvertedTests:
    """Tests that shared the answer's process, run once more over the same answer, some of them changed so that they
    must fail: whether a pass could fail at all."""

    variants: int = 0
    """How many changed tests were run."""
    failed: int = 0
    """How many of them failed, as they must."""
    unchanged: int = 0
    """How many tests were run unchanged among them."""
    why_none: str = ""
    """Why no variant of a deciding test was run, where none was."""
    seed: str = ""
    """What the choice and the order of a coding row's runs came from, so that a record can be judged again."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer is worth, and how we know."""

    reward: float
    tests: tuple[TestResult, ...] = ()
    failure_reason: str = ""
    """Empty when the reward is full; else the first failing test's status, or why nothing could be run."""
    integrity: Integrity = "isolated"
    integrity_reason: str = ""
    """Why tests shared the answer's process: "row: ..." where the row asks for it, "answer: ..." where only what this
    answer gave does; empty where they were apart."""
    isolation: Isolation = "none"
    provider: str = ""
    tamper: tuple[str, ...] = ()
    """Signs that the answer tried to reach beyond its task, by name."""
    evidence: Mapping[str, str] = field(default_factory=dict)
    """What was seen, by the name of the sign."""
    inverted: InvertedTests | None = None
    """None where tests ran apart from the answer, or where the reward was 0 without it."""
    processes: Literal["own", "shared"] = "own"
    """Whether each test had a process of its own, or several in turn were run in one."""
    checked: int = 0
    """How many tests of a shared process were run once more in one of their own."""
    groups: tuple[GroupResult, ...] = ()
    decided_by: str = ""
    """Which rung of a ladder of judges said so, where there is a ladder."""
    attempts: int = 1
    timings_s: Mapping[str, float] = field(default_factory=dict)
    """Seconds by phase: queue (for a turn), acquire (a box), run (files, programs and outputs, in one pass), judge;
    inverted: the runs of a patch's inverted tests, added up, though some go at the same time."""

    @property
    def contest(self) -> str:
        """The verdict as a contest has it: the first test's that did not pass."""
        bad = (test for test in self.tests if test.status not in (TestStatus.PASSED, TestStatus.SKIPPED))
        first = next(bad, None)
        return CONTEST_CODES[first.status] if first is not None else "AC" if self.tests else "CE"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One plan that was run, what it did (None where there was nothing to run) and what that was worth."""

    plan: Plan
    state: State | None
    verdict: Verdict
