"""The journal's values: a verify to record, and a verify read from the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sandbox_gym.contract import Judgement, Plan, State, Verdict, answers_run
from sandbox_gym.judging import state_bytes
from sandbox_gym.limits import Limits

Json = Mapping[str, object]


class Kind(StrEnum):
    """What became of a verify, in the three ways that matter."""

    PASSED = "passed"
    FAILED = "failed"
    NO_VERDICT = "no_verdict"


def kind_of(reward: float | None, failure_reason: str, failure_kind: str) -> tuple[Kind, str]:
    """What became of a verify, and why: a failure's reason, or the kind of no verdict without the server's name."""
    if reward is None:
        return Kind.NO_VERDICT, failure_kind.rpartition(":")[2] or "unknown"
    if failure_reason or reward <= 0:
        return Kind.FAILED, failure_reason or "wrong_answer"
    return Kind.PASSED, "passed"


@dataclass(frozen=True, slots=True)
class Source:
    """What was judged: enough to judge it again without the request's body."""

    verifier: str
    """The kind of resources server, such as `coding`."""
    settings: Json
    """The settings that the verdict depends on."""
    row: Json
    """The part of the request that describes its task: a coding row's verifier_metadata."""
    answer: str
    reasoning: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Key:
    """What identifies a repeated request: its key, and the digest of the body that the key came with."""

    text: str
    body_digest: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One finished verify. `reply` is None where there was no verdict, and then `failure_kind` says why."""

    request_id: str
    server: str
    provider: str
    source: Source
    judgements: tuple[Judgement, ...]
    started_at: float
    """Unix time, as finished_at."""
    finished_at: float
    reply: Json | None = None
    """The fields of the response beyond the echo."""
    reward: float | None = None
    failure_reason: str = ""
    failure_kind: str = ""
    key: Key | None = None
    tenant: str = ""
    label: str = ""
    """What people call the task."""
    run: str = ""
    """The training or evaluation run that the request named."""
    step: int | None = None

    @property
    def signs(self) -> tuple[str, ...]:
        """Signs of tampering of all judgements, also of a run that a later one replaced."""
        return tuple(dict.fromkeys(sign for judged in self.judgements for sign in judged.verdict.tamper))

    @property
    def output_bytes(self) -> int:
        """Bytes of all outputs in the states: nearly the entry's size."""
        return sum(state_bytes(judgement.state) for judgement in self.judgements)

    @property
    def limits(self) -> Limits | None:
        """The caps of the first program with the answer; all runs of a verify have the same."""
        for judgement in self.judgements:
            for step in judgement.plan.steps:
                run = answers_run(step)
                return run.limits if run is not None else None
        return None


def plan_as_run(plan: Plan, state: State | None) -> Plan:
    """The plan without the steps that were never begun: those may depend on random choices that had no effect, such as
    which variants of a test would be run."""
    if state is None or len(state.outcomes) >= len(plan.steps):
        return plan
    return replace(plan, steps=plan.steps[: len(state.outcomes)], groups=())


@dataclass(frozen=True, slots=True)
class StoredJudgement:
    """A judgement as it is stored: the plan by its digest only (of `plan_as_run`), since planning is repeatable."""

    plan_digest: str
    state: State | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Replay:
    """A finished verdict found under a key."""

    request_id: str
    body_digest: str
    reply: Json


@dataclass(frozen=True, slots=True)
class Summary:
    """A verify as in lists: its columns, without the data to judge it again."""

    id: int
    request_id: str
    server: str
    verifier: str
    idempotency_key: str | None
    task_digest: str
    answer_digest: str
    plan_digest: str
    image: str
    limits: Json
    provider: str
    isolation: str
    integrity: str
    reward: float | None
    failure_reason: str
    failure_kind: str
    tamper: tuple[str, ...]
    attempts: int
    timings_s: Mapping[str, float]
    started_at: float
    finished_at: float
    size_bytes: int
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """A verify with everything that is recorded of it."""

    summary: Summary
    source: Source
    judgements: tuple[StoredJudgement, ...] | None
    """None: the outputs were too long to keep."""
    reply: Json | None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which verifies: those that match every field that is set."""

    reward: float | None = None
    reason: str = ""
    """The failure reason or kind begins with this."""
    task: str = ""
    """The task's digest begins with this."""
    since: float | None = None
    """Finished at or after this Unix time."""
    server: str = ""
    request_id: str = ""
    """The request id begins with this."""
    verdicts_only: bool = field(default=False, kw_only=True)
    tampered: bool = field(default=False, kw_only=True)
    """With a sign of tampering."""
    tenant: str = field(default="", kw_only=True)
