"""One verify as the dashboard keeps it in memory: what happened, without the plan, and about how many bytes it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from sandbox_gym.codec import digest
from sandbox_gym.contract import Isolation, TestStatus, Verdict
from sandbox_gym.journal import Entry, Kind, Source, Stored, StoredJudgement, Summary
from sandbox_gym.journal.entry import Json, kind_of
from sandbox_gym.journal.rows import task_digest
from sandbox_gym.limits import Limits

if TYPE_CHECKING:
    from sandbox_gym.journal.query import Found

_NODE_BYTES: Final = 80
"""What a Python object weighs beside its content, about."""
_TEST_BYTES: Final = 1200
"""A test's result, and the same in the reply."""
_UNJUDGED: Final = Verdict(0.0)
_NOTHING: Final = Source("", {}, {}, "")
_LIMITS: Final = tuple(Limits.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class StoredVerify:
    """`judgements` is None where they were too much to keep; the source's row and answer are empty then."""

    request_id: str
    server: str
    provider: str
    label: str
    tenant: str
    kind: Kind
    reason: str
    reward: float | None
    verdict: Verdict
    passed: int
    """Tests that passed, of `tests`."""
    tests: int
    started_at: float
    finished_at: float
    image: str = ""
    limits: Limits | None = None
    source: Source = _NOTHING
    judgements: tuple[StoredJudgement, ...] | None = None
    reply: Json | None = None
    failure_reason: str = ""
    failure_kind: str = ""
    size_bytes: int = _TEST_BYTES

    def stored(self) -> Stored:
        """As the journal would give it. The digests are made here, when a verdict is looked at."""
        source = self.source
        summary = Summary(
            id=0,
            request_id=self.request_id,
            server=self.server,
            verifier=source.verifier,
            idempotency_key=None,
            task_digest=task_digest(source.row),
            answer_digest=digest(source.answer),
            plan_digest="",
            image=self.image,
            limits={} if self.limits is None else {name: getattr(self.limits, name) for name in _LIMITS},
            provider=self.provider,
            isolation=self.verdict.isolation,
            integrity=self.verdict.integrity,
            reward=self.reward,
            failure_reason=self.failure_reason,
            failure_kind=self.failure_kind,
            tamper=self.verdict.tamper,
            attempts=self.verdict.attempts,
            timings_s=self.verdict.timings_s,
            started_at=self.started_at,
            finished_at=self.finished_at,
            size_bytes=self.size_bytes,
            tenant=self.tenant,
        )
        return Stored(summary, source, self.judgements, self.reply)

    def without_details(self) -> StoredVerify:
        """What lists show, and nothing that is long."""
        source = replace(self.source, row={}, answer="", reasoning=())
        verdict = replace(self.verdict, tests=(), groups=(), evidence={})
        return replace(self, source=source, verdict=verdict, judgements=None, reply=None, size_bytes=_TEST_BYTES)


def stored_verify(entry: Entry) -> StoredVerify:
    """What an entry holds that a page shows."""
    last = entry.judgements[-1] if entry.judgements else None
    verdict = last.verdict if last else _UNJUDGED
    kind, reason = kind_of(entry.reward, entry.failure_reason, entry.failure_kind)
    return StoredVerify(
        request_id=entry.request_id,
        server=entry.server,
        provider=entry.provider,
        label=entry.label,
        tenant=entry.tenant,
        kind=kind,
        reason=reason,
        reward=entry.reward,
        verdict=verdict,
        passed=sum(test.status is TestStatus.PASSED for test in verdict.tests),
        tests=len(verdict.tests),
        image=str(last.plan.image) if last else "",
        limits=entry.limits,
        started_at=entry.started_at,
        finished_at=entry.finished_at,
        source=entry.source,
        judgements=tuple(StoredJudgement("", each.state, each.verdict) for each in entry.judgements),
        reply=entry.reply,
        failure_reason=entry.failure_reason,
        failure_kind=entry.failure_kind,
        size_bytes=weight(entry),
    )


def listed_verify(found: Found) -> StoredVerify:
    """What lists show of a verdict that is in the journal alone; its page is asked for there."""
    verdict = Verdict(
        found.reward or 0.0,
        integrity="in_process" if found.in_process else "isolated",
        isolation=cast(Isolation, found.isolation),
        tamper=tuple(found.signs.split()),
        attempts=found.attempts,
    )
    return StoredVerify(
        request_id=found.request_id,
        server=found.server,
        provider=found.provider,
        label=found.label or unnamed(found.task_digest),
        tenant=found.tenant,
        kind=found.kind,
        reason=found.reason,
        reward=found.reward,
        verdict=verdict,
        passed=found.passed,
        tests=found.tests,
        started_at=found.finished_at - found.seconds,
        finished_at=found.finished_at,
    )


def unnamed(task_digest: str) -> str:
    """What stands for a task whose verdicts were recorded without its name."""
    return f"task {task_digest[:8]}"


def weight(entry: Entry) -> int:
    """About how many bytes the entry keeps alive."""
    source, reply = entry.source, entry.reply or {}
    texts = len(source.answer) + sum(map(len, source.reasoning))
    tests = sum(len(each.verdict.tests) for each in entry.judgements)
    # the verdict's part of the reply is the tests again, and walking through it would double what this costs
    held = (value for name, value in reply.items() if name != "verdict")
    return entry.output_bytes + texts + _TEST_BYTES * (tests + 1) + weight_of(source.row) + sum(map(weight_of, held))


def weight_of(value: object) -> int:
    """A JSON value's content and the objects that hold it."""
    total, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        total += _NODE_BYTES
        if isinstance(one, str):
            total += len(one)
        elif isinstance(one, Mapping):
            waiting += one.values()
            total += sum(map(len, one))
        elif isinstance(one, list | tuple):
            waiting += one
    return total
