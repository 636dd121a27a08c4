"""Verifies on record: each goes to the journal with what it takes to judge it again, and one with a key runs once.

Stands between the host's routes (or the command) and a resources server; knows no HTTP.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import structlog

from sandbox_gym import __version__
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Plan, State, Verdict, Verifier
from sandbox_gym.engine import ANYONE, Caller
from sandbox_gym.errors import JournalDown, PoolFull, RequestError, Unavailable
from sandbox_gym.journal import Entry, Judgement, Key, Replay, Source
from sandbox_gym.journal.journal import Journal
from sandbox_gym.observe.metrics import Metrics
from sandbox_gym.server.access.accounts import owned
from sandbox_gym.server.dashboard.recent import Recent
from sandbox_gym.server.nemo_gym.verified import verified_of
from sandbox_gym.server.protocol.resources import HeldSessions, JudgingEngine, ResourcesServer, no_verdict
from sandbox_gym.server.protocol.single_flight import KEY_HEADER, Once, other_body
from sandbox_gym.server.protocol.wire import Document, VerifyFields, VerifyRequest

MAX_KEY_CHARS = 255

T = TypeVar("T")
_log = structlog.get_logger("sandbox_gym.server")


@dataclass(frozen=True, slots=True)
class Answered:
    """A verdict for one request. `replayed`: it was not run for this request."""

    request_id: str
    """Of the verify that gave the verdict, as the journal has it."""
    fields: Document
    replayed: bool = False


class Witness:
    """An engine for one verify that remembers what it judged."""

    def __init__(self, engine: JudgingEngine) -> None:
        self._engine = engine
        self._judgements: list[Judgement | None] = []

    @property
    def judgements(self) -> list[Judgement]:
        """In the order in which they were asked for."""
        return [one for one in self._judgements if one is not None]

    @property
    def provider_name(self) -> str:
        return self._engine.provider_name

    async def judged(
        self, verifier: Verifier[T], task: T, answer: Answer, *, caller: Caller = ANYONE
    ) -> tuple[Verdict, Plan, State | None]:
        number = len(self._judgements)
        self._judgements.append(None)  # several may be asked for at once
        verdict, plan, state = await self._engine.judged(verifier, task, answer, caller=caller)
        self._judgements[number] = Judgement(plan, state, verdict)
        return verdict, plan, state

    async def run(self, plan: Plan, *, caller: Caller = ANYONE) -> State:
        return await self._engine.run(plan, caller=caller)

    @property
    def metrics(self) -> Metrics:
        return self._engine.metrics

    @property
    def sessions(self) -> HeldSessions | None:
        return self._engine.sessions

    def stats(self) -> dict[str, int]:
        return self._engine.stats()


class Ledger:
    """One resources server's verifies. Without a journal none is on record, and a key holds while its run lasts."""

    def __init__(
        self, resources: ResourcesServer, journal: Journal | None, settings: Settings, recent: Recent | None = None
    ) -> None:
        """`recent`: where the dashboard looks."""
        self._resources = resources
        self._recent = recent
        self._journal = journal
        self._settings = settings.judging()
        self._idempotency: Literal["header", "body", "off"] = settings.idempotency

    @property
    def name(self) -> str:
        """The resources server's."""
        return self._resources.name

    def stats(self) -> dict[str, int]:
        """The journal's counters; empty without one."""
        return {} if self._journal is None else self._journal.stats()

    def key(self, headers: Sequence[str], request: VerifyRequest, provider: str, tenant: str = "") -> Key | None:
        """What makes this request the same as another, of the same `tenant` where each has keys of its own.

        Raises RequestError for a header that is no key.
        """
        if self._idempotency == "off" or (not headers and self._idempotency == "header"):
            return None
        body_digest = _digest(request.body)
        if headers:
            return Key(f"h:{owned(tenant, _key_text(headers))}", body_digest)
        # a verdict of other settings, of other boxes or of another version's judge is no answer to this request
        context = [body_digest, __version__, self._resources.kind, provider, self._settings]
        return Key(f"b:{owned(tenant, _digest(context))}", body_digest)

    async def verify(self, engine: JudgingEngine, request: VerifyRequest, caller: Caller = ANYONE) -> VerifyFields:
        """A verdict, on record soon. Raises RequestError, and Unavailable when there is none."""
        return (await self._recorded(engine, request, caller))[0]

    async def _recorded(
        self, engine: JudgingEngine, request: VerifyRequest, caller: Caller
    ) -> tuple[VerifyFields, Entry]:
        fields, entry = await self._run(engine, request, None, caller)
        if self._journal is not None:
            await self._journal.add(entry)
        return fields, entry

    async def answer(
        self,
        engine: JudgingEngine,
        request: VerifyRequest,
        key: Key | None,
        once: Once[Answered],
        caller: Caller = ANYONE,
    ) -> Answered:
        """`verify`, and under a key once: with those who ask now, and with those who asked before."""
        if key is None:
            fields, entry = await self._recorded(engine, request, caller)
            return Answered(entry.request_id, fields.document())
        answered, own = await once.run(key, lambda: self._settle(engine, request, key, caller))
        return answered if own else Answered(answered.request_id, answered.fields, replayed=True)

    async def _settle(self, engine: JudgingEngine, request: VerifyRequest, key: Key, caller: Caller) -> Answered:
        """The verdict under a key: found in the journal, or made and committed before anyone is told."""
        if self._journal is None:
            fields, entry = await self._run(engine, request, key, caller)
            return Answered(entry.request_id, fields.document())
        found = await self._journal.find(self._resources.name, key.text)
        if found is not None:
            return _replayed(found, key)
        fields, entry = await self._run(engine, request, key, caller)
        on_record = await self._journal.write(entry)
        if on_record is not None and on_record.request_id != entry.request_id:
            return _replayed(on_record, key)  # another server with this journal was first
        return Answered(entry.request_id, fields.document())

    async def _run(
        self, engine: JudgingEngine, request: VerifyRequest, key: Key | None, caller: Caller
    ) -> tuple[VerifyFields, Entry]:
        witness, started = Witness(engine), time.time()
        try:
            fields = await self._resources.verify(witness, request, caller)
        except PoolFull as error:  # refused at the door: nothing was begun
            if self._recent is not None:
                self._recent.tally.refused(error.failure_kind)
            raise
        except Unavailable as error:
            none = self._entry(witness, request, started, no_verdict(self._resources.name, error), None, caller)
            self._show(witness, none, request)
            await self._note(none)
            raise
        entry = self._entry(witness, request, started, fields, key, caller)
        self._show(witness, entry, request)
        return fields, entry

    def _show(self, witness: Witness, entry: Entry, request: VerifyRequest) -> None:
        witness.metrics.radar.add(verified_of(entry, request.body))
        if self._recent is not None:
            self._recent.add(entry, request.body, entry.tenant)

    async def _note(self, entry: Entry) -> None:
        """A no-verdict, on record if it can be: its cause is worth more than the journal's."""
        if self._journal is None:
            return
        try:
            await self._journal.add(entry)
        except JournalDown as error:
            _log.error("no_verdict_not_journalled", kind=entry.failure_kind, why=str(error))

    def _entry(
        self,
        witness: Witness,
        request: VerifyRequest,
        started: float,
        fields: VerifyFields,
        key: Key | None,
        caller: Caller,
    ) -> Entry:
        source = Source(
            self._resources.kind,
            self._settings,
            self._resources.row(request.body),
            request.output_text,
            request.reasoning_texts,
        )
        return Entry(
            request_id=uuid.uuid4().hex,
            server=self._resources.name,
            provider=witness.provider_name,
            source=source,
            judgements=tuple(witness.judgements),
            started_at=started,
            finished_at=time.time(),
            reply=None if fields.mask_sample else fields.document(),
            reward=None if fields.mask_sample else fields.reward,
            failure_reason=fields.failure_reason or "",
            failure_kind=fields.failure_kind or "",
            key=key,
            tenant=caller.tenant,
        )


def _replayed(found: Replay, key: Key) -> Answered:
    if found.body_digest != key.body_digest:
        raise other_body()
    return Answered(found.request_id, dict(found.reply), replayed=True)


def _digest(value: object) -> str:
    """SHA-256 of JSON with its keys in order: a client may write the same request in another order."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise RequestError("body", "is nested too deep", "flatten it") from None
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _key_text(headers: Sequence[str]) -> str:
    """The one key: printable ASCII, with or without the quotes of a structured header's string."""
    text = headers[0].strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1]
    if len(headers) > 1:
        raise RequestError(KEY_HEADER, f"was sent {len(headers)} times", "send it once")
    if not 0 < len(text) <= MAX_KEY_CHARS or not (text.isascii() and text.isprintable()):
        raise RequestError(KEY_HEADER, "is no key", f"send 1 to {MAX_KEY_CHARS} printable ASCII characters")
    return text
