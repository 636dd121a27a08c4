"""The nouns: what a verifier plans, what a sandbox did, what it was worth. Frozen values.

Owns the vocabulary shared by engine, providers and verifiers; must not know any of them.
"""

from __future__ import annotations

from sandbox_gym.contract.outcome import (
    Check,
    CheckedOutcome,
    DialogueOutcome,
    Doubt,
    Isolation,
    Outcome,
    PassOutcome,
    State,
    Status,
    StepOutcome,
    answers_outcome,
    earlier_passes,
    ends_plan,
)
from sandbox_gym.contract.plan import (
    Answer,
    Build,
    Checked,
    Dialogue,
    Integrity,
    Passes,
    Plan,
    Program,
    Query,
    Run,
    SelfTest,
    Service,
    SnapshotRef,
    Source,
    Step,
    answers_run,
)
from sandbox_gym.contract.verdict import (
    CONTEST_CODES,
    GroupResult,
    InvertedTests,
    Judgement,
    TestResult,
    TestStatus,
    Verdict,
)
from sandbox_gym.contract.verifier import FollowUp, SupportsFollowUp, Verifier

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

__all__ = [
    "Answer",
    "Build",
    "CONTEST_CODES",
    "Check",
    "Checked",
    "CheckedOutcome",
    "Dialogue",
    "DialogueOutcome",
    "Doubt",
    "FollowUp",
    "GroupResult",
    "Integrity",
    "InvertedTests",
    "Isolation",
    "JsonValue",
    "Judgement",
    "Outcome",
    "PassOutcome",
    "Passes",
    "Plan",
    "Program",
    "Query",
    "Run",
    "SelfTest",
    "Service",
    "SnapshotRef",
    "Source",
    "State",
    "Status",
    "Step",
    "StepOutcome",
    "SupportsFollowUp",
    "TestResult",
    "TestStatus",
    "Verdict",
    "Verifier",
    "answers_outcome",
    "answers_run",
    "earlier_passes",
    "ends_plan",
]
