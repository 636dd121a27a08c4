"""A verdict made again from its state on record, with no sandbox, beside the one that was given.

The resources server verifies as ever; only its engine answers from the record instead of running anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Plan, State, Verdict, Verifier
from sandbox_gym.engine import ANYONE, Caller
from sandbox_gym.errors import ConfigurationError, RequestError, SandboxGymError
from sandbox_gym.journal import Stored, StoredJudgement
from sandbox_gym.journal.codec import digest
from sandbox_gym.journal.entry import Json, plan_as_run
from sandbox_gym.observe.metrics import Metrics
from sandbox_gym.server.protocol.wire import VerifyRequest
from sandbox_gym.server.registry import Make

T = TypeVar("T")
_SHOWN = 160


class NotOnRecord(SandboxGymError):
    """Judging asks for a run that the journal does not hold."""


class Agreement(StrEnum):
    """How a verdict fared."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    NO_STATE = "no_state"
    """Can't be judged again: there was no verdict, its outputs were too long to keep, or its server is unknown."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One verdict, judged again. `what`: the fields that differ, or why it can't be."""

    request_id: str
    agreement: Agreement
    what: str = ""
    planned_otherwise: bool = False
    """Today's plan for this answer is another one than the state is of."""


class RecordEngine:
    """Answers `judged` from a verify's judgements, in their order."""

    def __init__(self, judgements: tuple[StoredJudgement, ...], provider: str) -> None:
        self._left = iter(judgements)
        self.metrics = Metrics()
        self._provider = provider
        self.planned_otherwise = False

    @property
    def provider_name(self) -> str:
        return self._provider

    @property
    def sessions(self) -> None:
        """A record holds none."""
        return None

    async def judged(
        self, verifier: Verifier[T], task: T, answer: Answer, *, caller: Caller = ANYONE
    ) -> tuple[Verdict, Plan, State | None]:
        """What chance decided, the attempts and the timings, is taken from the record. Raises NotOnRecord."""
        recorded = next(self._left, None)
        if recorded is None:
            raise NotOnRecord("judging asks for more plans than were run")
        plan = verifier.plan(task, answer)
        self.planned_otherwise |= digest(plan_as_run(plan, recorded.state)) != recorded.plan_digest
        verdict = verifier.judge(task, answer, plan, recorded.state or State((), "none", self._provider))
        given = recorded.verdict
        return replace(verdict, attempts=given.attempts, timings_s=given.timings_s), plan, recorded.state

    async def run(self, plan: Plan, *, caller: Caller = ANYONE) -> State:
        raise NotOnRecord("judging runs a program outside any plan")

    def stats(self) -> dict[str, int]:
        return {}


async def rejudge_one(stored: Stored, servers: Mapping[str, Make]) -> Finding:
    """Judge one verify again, under the settings that it was judged under."""
    request_id = stored.summary.request_id
    why_not = _why_not(stored, servers)
    if why_not or stored.reply is None or stored.judgements is None:
        return Finding(request_id, Agreement.NO_STATE, why_not)
    source = stored.source
    engine = RecordEngine(stored.judgements, stored.summary.provider)
    row = dict(source.row)
    if stored.reply.get("model_patch") is not None:  # what was taken from a session's box is on record in the reply
        row["model_patch"] = stored.reply["model_patch"]
    inverted = next((one.verdict.inverted for one in stored.judgements if one.verdict.inverted is not None), None)
    if inverted is not None and inverted.seed:  # which tests were changed, and when they were run
        row["inversion_seed"] = inverted.seed
    request = VerifyRequest(row, source.answer, source.reasoning, row)
    try:
        settings = Settings.from_flat(dict(source.settings))
        resources = servers[source.verifier](settings, stored.summary.server)
        fields = await resources.verify(engine, request)
    except (RequestError, NotOnRecord, ConfigurationError) as error:
        return Finding(request_id, Agreement.DISAGREES, _short(str(error)), engine.planned_otherwise)
    what = _short("; ".join(differences(stored.reply, fields.document())))
    agreement = Agreement.DISAGREES if what else Agreement.AGREES
    return Finding(request_id, agreement, what, engine.planned_otherwise)


def _why_not(stored: Stored, servers: Mapping[str, Make]) -> str:
    if stored.reply is None:
        return f"there was no verdict ({stored.summary.failure_kind})"
    if stored.reply.get("judge_evaluations"):
        return "a model judged it"
    if stored.judgements is None:
        return "its outputs were longer than journal_state_mb"
    if stored.source.verifier not in servers:
        return f"no server of kind {stored.source.verifier!r} is known here"
    return ""


def differences(given: Json, again: Json, prefix: str = "") -> Iterator[str]:
    """The fields of `given` that are not so `again`; fields that only a later version has do not count."""
    for name, value in given.items():
        other = again.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            yield from differences(value, other, f"{prefix}{name}.")
        elif _form(value) != _form(other):
            yield f"{prefix}{name}: {_short(_form(value))} is now {_short(_form(other))}"


def _form(value: object) -> str:
    """As JSON has it: tuples are lists, NaN is itself."""
    return json.dumps(value, sort_keys=True)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN // 2] + "…" + text[-_SHOWN // 2 :]
