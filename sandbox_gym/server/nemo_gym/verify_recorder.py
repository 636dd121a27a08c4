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
from typing import TYPE_CHECKING, Literal, Protocol

import structlog

from sandbox_gym import __version__
from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.errors import JournalDown, PoolFull, RequestError, Unavailable
from sandbox_gym.journal import Entry, Key, Replay, Source
from sandbox_gym.observe.task_labels import label_of
from sandbox_gym.plans.runner import ANYONE, Caller
from sandbox_gym.server.access.accounts import owned
from sandbox_gym.server.protocol.resources import ResourcesServer, VerifyResult, no_verdict
from sandbox_gym.server.protocol.single_flight import KEY_HEADER, Once, other_body
from sandbox_gym.server.protocol.wire import Document, VerifyFields, VerifyRequest

if TYPE_CHECKING:
    from sandbox_gym.journal.journal import Journal
from sandbox_gym.observe.radar import Verified, inverted_of

MAX_KEY_CHARS = 255

_log = structlog.get_logger("sandbox_gym.server")


@dataclass(frozen=True, slots=True)
class Answered:
    """A verdict for one request. `replayed`: it was not run for this request."""

    request_id: str
    """Of the verify that gave the verdict, as the journal has it."""
    fields: Document
    replayed: bool = False


class VerifyObserver(Protocol):
    """Sees each verify on its way out, whether or not it goes on record. Must not wait, nor raise."""

    def finished(self, entry: Entry) -> None:
        """One that began, with a verdict or without."""
        ...

    def refused(self, kind: str) -> None:
        """One that never began, by the kind of failure."""
        ...


class VerifyRecorder:
    """One resources server's verifies. Without a journal none is on record, and a key holds while its run lasts."""

    def __init__(
        self,
        resources: ResourcesServer,
        journal: Journal | None,
        settings: Settings,
        observer: VerifyObserver | None = None,
    ) -> None:
        self._resources, self._journal, self._observer = resources, journal, observer
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
            return Key(f"h:{owned(tenant, key_text(headers))}", body_digest)
        # a verdict of other settings, of other boxes or of another version's judge is no answer to this request
        context = [body_digest, __version__, self._resources.kind, provider, self._settings]
        return Key(f"b:{owned(tenant, _digest(context))}", body_digest)

    async def verify(self, engine: Engine, request: VerifyRequest, caller: Caller = ANYONE) -> VerifyFields:
        """A verdict, on record soon. Raises RequestError, and Unavailable when there is none."""
        fields, entry = await self._run(engine, request, None, caller)
        await self._keep(entry)
        return fields

    async def answer(
        self, engine: Engine, request: VerifyRequest, key: Key | None, once: Once[Answered], caller: Caller = ANYONE
    ) -> Answered:
        """`verify`, and under a key once: with those who ask now, and with those who asked before."""
        if key is None:
            fields, entry = await self._run(engine, request, None, caller)
            await self._keep(entry)
            return Answered(entry.request_id, fields.document())
        answered, own = await once.run(key, lambda: self._settle(engine, request, key, caller))
        return answered if own else Answered(answered.request_id, answered.fields, replayed=True)

    async def _settle(self, engine: Engine, request: VerifyRequest, key: Key, caller: Caller) -> Answered:
        """The verdict under a key: found in the journal, or made and committed before it is sent."""
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
        self, engine: Engine, request: VerifyRequest, key: Key | None, caller: Caller
    ) -> tuple[VerifyFields, Entry]:
        started, provider = time.time(), engine.provider_name
        try:
            if request.session_failure is not None:
                raise request.session_failure
            result = await self._resources.verify(engine, request, caller)
        except PoolFull as error:  # refused at the door: nothing was begun
            if self._observer is not None:
                self._observer.refused(error.failure_kind)
            raise
        except Unavailable as error:
            none = VerifyResult(no_verdict(self._resources.name, error), error.judgements)
            entry = self._entry(provider, request, started, none, None, caller)
            self._show(engine, entry)
            await self._keep_no_verdict(entry)
            raise
        entry = self._entry(provider, request, started, result, key, caller)
        self._show(engine, entry)
        return result.fields, entry

    def _show(self, engine: Engine, entry: Entry) -> None:
        engine.metrics.radar.add(verified_of(entry))
        if self._observer is not None:
            self._observer.finished(entry)

    async def _keep(self, entry: Entry) -> None:
        if self._journal is not None:
            await self._journal.add(entry)

    async def _keep_no_verdict(self, entry: Entry) -> None:
        """On record if it can be: its cause is worth more than the journal's."""
        try:
            await self._keep(entry)
        except JournalDown as error:
            _log.error("no_verdict_not_journalled", kind=entry.failure_kind, why=str(error))

    def _entry(
        self,
        provider: str,
        request: VerifyRequest,
        started: float,
        result: VerifyResult,
        key: Key | None,
        caller: Caller,
    ) -> Entry:
        fields, row = result.fields, result.row
        row = self._resources.row(request.body) if row is None else row
        source = Source(self._resources.kind, self._settings, row, request.output_text, request.reasoning_texts)
        return Entry(
            request_id=uuid.uuid4().hex,
            server=self._resources.name,
            provider=provider,
            source=source,
            judgements=result.judgements,
            started_at=started,
            finished_at=time.time(),
            reply=None if fields.mask_sample else fields.document(),
            reward=None if fields.mask_sample else fields.reward,
            failure_reason=fields.failure_reason or "",
            failure_kind=fields.failure_kind or "",
            key=key,
            tenant=caller.tenant,
            label=label_of(row, request.body),
            run=caller.run,
            step=caller.step,
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


def key_text(headers: Sequence[str], field: str = KEY_HEADER) -> str:
    """The one key: printable ASCII, with or without the quotes of a structured header's string. Raises RequestError."""
    text = headers[0].strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1]
    if len(headers) > 1:
        raise RequestError(field, f"was sent {len(headers)} times", "send it once")
    if not 0 < len(text) <= MAX_KEY_CHARS or not (text.isascii() and text.isprintable()):
        raise RequestError(field, "is no key", f"send 1 to {MAX_KEY_CHARS} printable ASCII characters")
    return text


def verified_of(entry: Entry) -> Verified:
    """Signs of all of its judgements, such as a rerun's, and where tests were inverted how that went."""
    verdicts = [judgement.verdict for judgement in entry.judgements]
    signs = {name: verdict.evidence.get(name, "") for verdict in verdicts for name in verdict.tamper}
    inverted = [verdict.inverted for verdict in verdicts if verdict.inverted is not None]
    variants = sum(one.variants for one in inverted)
    return Verified(
        request_id=entry.request_id,
        tenant=entry.tenant,
        task=entry.label,
        signs=signs,
        in_process=any(verdict.integrity == "in_process" for verdict in verdicts),
        masked=entry.reward is None,
        inverted=inverted_of(variants, signs) if inverted else "",
    )
