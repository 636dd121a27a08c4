"""A verdict made again from its state on record, with no sandbox, beside the one that was given.

The resources server verifies as ever; only the runner of its plans answers from the record instead of running anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sandbox_gym.codec import digest
from sandbox_gym.config import Settings
from sandbox_gym.contract import Plan
from sandbox_gym.engine import Engine
from sandbox_gym.errors import ConfigurationError, RequestError, SandboxGymError
from sandbox_gym.journal import Stored, StoredJudgement
from sandbox_gym.journal.entry import Json, plan_as_run
from sandbox_gym.observe.metrics import Metrics
from sandbox_gym.plans.runner import ANYONE, Caller, Passed, PlanResult, all_pass
from sandbox_gym.server.protocol.wire import VerifyRequest
from sandbox_gym.server.registry import Make

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
class Rejudgement:
    """One verdict, judged again. `what`: the fields that differ, or why it can't be."""

    request_id: str
    agreement: Agreement
    what: str = ""
    planned_otherwise: bool = False
    """Today's plan for this answer is another one than the state is of."""


class RecordedRuns:
    """A runner that gives what is on record of a verify's plans, in their order, and runs nothing."""

    def __init__(self, judgements: tuple[StoredJudgement, ...], provider: str) -> None:
        self._left = iter(judgements)
        self._provider = provider
        self.planned_otherwise = False

    @property
    def provider_name(self) -> str:
        return self._provider

    async def run(self, plan: Plan, passed: Passed = all_pass, caller: Caller = ANYONE) -> PlanResult:
        """What chance decided, the attempts and the timings, is taken from the record too. Raises NotOnRecord."""
        recorded = next(self._left, None)
        if recorded is None:
            raise NotOnRecord("judging asks for more plans than were run")
        self.planned_otherwise |= digest(plan_as_run(plan, recorded.state)) != recorded.plan_digest
        verdict = recorded.verdict
        return PlanResult(recorded.state, verdict.attempts, verdict.timings_s)

    def stats(self) -> dict[str, int]:
        return {}

    def queues(self) -> dict[str, int]:
        return {}

    def nodes(self) -> dict[str, dict[str, str | int]]:
        return {}


async def rejudge_one(stored: Stored, servers: Mapping[str, Make]) -> Rejudgement:
    """Judge one verify again, under the settings that it was judged under."""
    request_id = stored.summary.request_id
    why_not = _why_not(stored, servers)
    if why_not or stored.reply is None or stored.judgements is None:
        return Rejudgement(request_id, Agreement.NO_STATE, why_not)
    source = stored.source
    runs = RecordedRuns(stored.judgements, stored.summary.provider)
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
        result = await resources.verify(Engine(runs, Metrics()), request)
    except (RequestError, NotOnRecord, ConfigurationError) as error:
        return Rejudgement(request_id, Agreement.DISAGREES, _short(str(error)), runs.planned_otherwise)
    what = _short("; ".join(differences(stored.reply, result.fields.document())))
    agreement = Agreement.DISAGREES if what else Agreement.AGREES
    return Rejudgement(request_id, agreement, what, runs.planned_otherwise)


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
