"""Converts between entries and database rows: columns to filter by, and compressed JSON for everything else. Pure."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

from sandbox_gym.codec import LONG, CodecError, decode, digest, encode
from sandbox_gym.contract import State, TestStatus, Verdict
from sandbox_gym.journal.entry import (
    Entry,
    Json,
    Replay,
    Source,
    Stored,
    StoredJudgement,
    Summary,
    kind_of,
    plan_as_run,
)

if TYPE_CHECKING:
    from sqlalchemy import RowMapping

_LEVEL = 1
"""zlib's level: outputs are mostly text, and higher levels cost five times as much for a tenth less."""
_COLUMNS_BYTES = 1536
"""Bytes of a row besides its blobs, indexes included."""
_UNJUDGED = Verdict(0.0)
MOST_STATUSES = 200
PASSED, SKIPPED, CHANGED, OTHERWISE = "p", "s", "~", "f"
"""Letters of a test's status in a search row: CHANGED where runs of one verify differ, OTHERWISE for any other."""
_LETTERS = {TestStatus.PASSED: PASSED, TestStatus.SKIPPED: SKIPPED}

Columns = dict[str, object]


@dataclass(frozen=True, slots=True)
class Prepared:
    """An entry in the form of the tables."""

    columns: Columns
    task: Columns
    search: Columns
    """Without the id, which the database gives."""
    size_bytes: int


def task_digest(row: Json) -> str:
    """The digest of a row's verifier_metadata, which identifies its task."""
    return digest(row)


def prepare(entry: Entry, *, state_max_bytes: float) -> Prepared:
    """The rows of one entry; a state over the bound is left out. Raises ValueError and RecursionError for values that
    JSON can't represent."""
    source = entry.source
    last = entry.judgements[-1] if entry.judgements else None
    verdict = last.verdict if last else _UNJUDGED
    row = _pack(_json(source.row))
    reply = None if entry.reply is None else _pack(_json(entry.reply))
    plans = [digest(plan_as_run(each.plan, each.state)) for each in entry.judgements]
    judgements = _judgements(entry, plans) if entry.output_bytes <= state_max_bytes else None
    columns: Columns = {
        "request_id": entry.request_id,
        "server": _text(entry.server, 200),
        "verifier": _text(source.verifier, 200),
        "idempotency_key": entry.key.text if entry.key and reply else None,
        "body_digest": entry.key.body_digest if entry.key else None,
        "task_digest": task_digest(source.row),
        "answer_digest": digest(source.answer),
        "plan_digest": plans[-1] if plans else "",
        "image": _text(str(last.plan.image), 400) if last else "",
        "limits": encode(entry.limits).decode() if entry.limits else "{}",
        "provider": _text(entry.provider, 100),
        "isolation": verdict.isolation if last else "",
        "integrity": verdict.integrity if last else "",
        "reward": entry.reward,
        "failure_reason": _text(entry.failure_reason, 500),
        "failure_kind": _text(entry.failure_kind, 200),
        "tamper": encode(entry.signs).decode(),
        "attempts": verdict.attempts,
        "timings": encode(verdict.timings_s).decode(),
        "started_at": entry.started_at,
        "finished_at": entry.finished_at,
        "tenant": _text(entry.tenant, 200),
        "reply": reply,
        "source": _pack(_json(_source(source))),
        "judgements": judgements,
    }
    blobs = (reply, columns["source"], judgements)
    size_bytes = _COLUMNS_BYTES + sum(len(blob) for blob in blobs if isinstance(blob, bytes))
    columns["size_bytes"] = size_bytes
    task = {"digest": columns["task_digest"], "size_bytes": len(row) + 128, "row": row}
    return Prepared(columns, task, _search(entry, columns), size_bytes + len(row))


_SHARED = ("request_id", "finished_at", "server", "provider", "tenant", "task_digest", "answer_digest", "reward")


def _search(entry: Entry, columns: Columns) -> Columns:
    last = entry.judgements[-1].verdict if entry.judgements else _UNJUDGED
    kind, reason = kind_of(entry.reward, entry.failure_reason, entry.failure_kind)
    words = " ".join((entry.label[:200], reason[:60], entry.tenant[:60], entry.run, *entry.signs))
    return {
        **{name: columns[name] for name in _SHARED},
        "seconds": entry.finished_at - entry.started_at,
        "label": _text(entry.label, 200),
        "kind": kind.value,
        "reason": _text(reason, 500),
        "signs": _text(f" {' '.join(entry.signs)} ", 500) if entry.signs else "",
        "isolation": columns["isolation"],
        "in_process": int(any(judged.verdict.integrity == "in_process" for judged in entry.judgements)),
        "attempts": last.attempts,
        "tests": len(last.tests),
        "passed": sum(test.status is TestStatus.PASSED for test in last.tests),
        "statuses": _statuses(entry),
        "run": _text(entry.run, 100),
        "step": entry.step,
        "words": _text(words.lower(), 400),
    }


def _statuses(entry: Entry) -> str:
    """A letter for each test; what a run skipped says nothing of a test that another run had."""
    seen: dict[int, str] = {}
    for judged in entry.judgements:
        for test in judged.verdict.tests[:MOST_STATUSES]:
            letter, before = _LETTERS.get(test.status, OTHERWISE), seen.get(test.index, SKIPPED)
            seen[test.index] = letter if before == SKIPPED else before if letter in (SKIPPED, before) else CHANGED
    return "".join(seen.get(index, SKIPPED) for index in range(min(MOST_STATUSES, max(seen, default=-1) + 1)))


def _source(source: Source) -> Json:
    """Everything but the row, which is in the table of tasks."""
    return {"settings": dict(source.settings), "answer": source.answer, "reasoning": list(source.reasoning)}


def _judgements(entry: Entry, plans: Sequence[str]) -> bytes:
    """`plans`: the digest of each judgement's plan."""
    stored = tuple(
        StoredJudgement(plan, each.state, each.verdict) for plan, each in zip(plans, entry.judgements, strict=True)
    )
    return _pack(encode(_Judgements(stored), long=entry.output_bytes > LONG))


@dataclass(frozen=True, slots=True)
class _Judgements:
    judgements: tuple[StoredJudgement, ...]


def _json(value: Json) -> bytes:
    """Any JSON document, NaN included. ASCII, which preserves lone surrogates."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _pack(raw: bytes) -> bytes:
    return zlib.compress(raw, _LEVEL)


def _unpack(blob: object) -> bytes:
    try:
        return zlib.decompress(bytes(cast(bytes, blob)))
    except zlib.error as error:
        raise CodecError(f"a stored value is damaged ({error})") from None


def _object(raw: bytes | str) -> dict[str, object]:
    try:
        value: object = json.loads(raw)
    except ValueError:
        raise CodecError("a stored object is not JSON") from None
    if not isinstance(value, dict):
        raise CodecError("a stored value is not an object")
    return value


def _text(text: str, length: int) -> str:
    """Text for a column: PostgreSQL accepts neither NUL nor invalid UTF-8."""
    return text[:length].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def as_replay(row: RowMapping) -> Replay:
    """A replay from the columns request_id, body_digest and reply. Raises CodecError."""
    return Replay(str(row["request_id"]), str(row["body_digest"] or ""), _object(_unpack(row["reply"])))


SUMMARY_COLUMNS = tuple(
    {"tamper": "tamper", "timings_s": "timings"}.get(field.name, field.name) for field in fields(Summary)
)


def as_summary(row: RowMapping) -> Summary:
    """Raises CodecError."""
    values: dict[str, Any] = {name: row[name] for name in SUMMARY_COLUMNS}
    timings = {name: float(seconds) for name, seconds in _object(values.pop("timings")).items()}  # type: ignore[arg-type]
    tamper: Sequence[str] = json.loads(values.pop("tamper"))
    limits = _object(values.pop("limits"))
    return Summary(**values, timings_s=timings, tamper=tuple(tamper), limits=limits)


def as_stored(row: RowMapping) -> Stored:
    """A stored verify from all columns and the task's row as `row`. Raises CodecError."""
    source = _object(_unpack(row["source"]))
    settings, reasoning = source["settings"], source["reasoning"]
    if not isinstance(settings, dict) or not isinstance(reasoning, list):
        raise CodecError("a stored source is not an object")
    return Stored(
        as_summary(row),
        Source(
            str(row["verifier"]),
            settings,
            _object(_unpack(row["row"])),
            str(source["answer"]),
            tuple(map(str, reasoning)),
        ),
        None if row["judgements"] is None else decode(_Judgements, _unpack(row["judgements"])).judgements,
        None if row.reply is None else _object(_unpack(row["reply"])),
        row["label"] or "",
    )


def state_document(state: State | None) -> Json | None:
    """A state in the form of the export."""
    return None if state is None else _object(encode(state))
