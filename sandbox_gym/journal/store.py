"""The journal's SQL statements: add, find, list, prune. Blocking: call it from worker threads or commands.

Raises SQLAlchemyError, which `Journal` and the commands turn into their own errors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, Engine, delete, func, select, text, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError

from sandbox_gym.journal.entry import Filter, Replay, Stored, Summary
from sandbox_gym.journal.rows import SUMMARY_COLUMNS, Columns, Prepared, as_replay, as_stored, as_summary
from sandbox_gym.journal.schema import search, tasks, verdicts, writing

_STEPS = 20_000
"""Of SQLite's virtual machine, between two looks at the clock: about a millisecond."""


class TooSlow(Exception):
    """The database was stopped at a question that took too long."""


@contextmanager
def deadline(connection: Connection, within_s: float) -> Iterator[None]:
    """All statements of the body together on SQLite; each of them on PostgreSQL. Raises TooSlow."""
    end = time.monotonic() + within_s
    sqlite = connection.connection.driver_connection if connection.dialect.name == "sqlite" else None
    if sqlite is not None:
        sqlite.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    else:
        connection.execute(text(f"SET LOCAL statement_timeout = {max(1, int(1000 * within_s))}"))
    try:
        yield
    except OperationalError as error:
        if time.monotonic() < end:
            raise
        raise TooSlow(f"no answer within {within_s:g} s") from error
    finally:
        if sqlite is not None:
            sqlite.set_progress_handler(None, 0)


T = TypeVar("T")
_PAGE = 1000
_PRUNE_SHARE = 20
"""A round of pruning by size deletes this fraction of the verdicts, so that no writer waits long."""
_PRUNE_ROWS = 2000


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a pruning deleted, and the size that remains."""

    verdicts: int
    tasks: int
    size_bytes: int


class Store:
    """One open database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._insert = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert

    def close(self) -> None:
        """Idempotent."""
        self._engine.dispose()

    def add(self, batch: Sequence[Prepared]) -> dict[str, Replay]:
        """Add all in one transaction. Returns for each entry with a key the verdict on record under it. Where another
        request was first, that is the other's verdict, and the entry is not added."""
        with writing(self._engine) as connection:
            self._lock(connection, "ROW EXCLUSIVE")
            self._add_tasks(connection, [prepared.task for prepared in batch])
            rows = [prepared.columns for prepared in batch]
            connection.execute(self._insert(verdicts).on_conflict_do_nothing(), rows)
            self._add_search(connection, [prepared.search for prepared in batch])
            return self._on_record(connection, [row for row in rows if row["idempotency_key"] is not None])

    def _lock(self, connection: Connection, mode: str) -> None:
        """Excludes pruning while verdicts are added, so that no task is deleted under a new verdict. SQLite has one
        writer."""
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"LOCK TABLE {tasks.name} IN {mode} MODE"))

    def _add_tasks(self, connection: Connection, rows: Sequence[Columns]) -> None:
        by_digest = {str(row["digest"]): row for row in rows}
        there = connection.execute(select(tasks.c.digest).where(tasks.c.digest.in_(by_digest))).scalars()
        for known in there.all():
            del by_digest[known]
        if by_digest:
            connection.execute(self._insert(tasks).on_conflict_do_nothing(), list(by_digest.values()))

    def _add_search(self, connection: Connection, rows: Sequence[Columns]) -> None:
        added = verdicts.c.request_id.in_([row["request_id"] for row in rows])
        ids = {row[0]: row[1] for row in connection.execute(select(verdicts.c.request_id, verdicts.c.id).where(added))}
        found = [{**row, "id": ids[str(row["request_id"])]} for row in rows if row["request_id"] in ids]
        if found:
            connection.execute(self._insert(search).on_conflict_do_nothing(), found)

    def _on_record(self, connection: Connection, rows: Sequence[Columns]) -> dict[str, Replay]:
        if not rows:
            return {}
        keys = {(row["server"], row["idempotency_key"]) for row in rows}
        columns = (verdicts.c.server, verdicts.c.idempotency_key, *_REPLAY)
        where = tuple_(verdicts.c.server, verdicts.c.idempotency_key).in_(list(keys))
        found = connection.execute(select(*columns).where(where)).mappings().all()
        by_key = {(row["server"], row["idempotency_key"]): as_replay(row) for row in found}
        return {str(row["request_id"]): by_key[row["server"], row["idempotency_key"]] for row in rows}

    def find(self, server: str, key: str) -> Replay | None:
        """The finished verdict under a key."""
        where = (verdicts.c.server == server) & (verdicts.c.idempotency_key == key)
        with self._engine.connect() as connection:
            row = connection.execute(select(*_REPLAY).where(where)).mappings().one_or_none()
        return None if row is None else as_replay(row)

    def summaries(self, wanted: Filter, *, limit: int | None) -> list[Summary]:
        """The latest first."""
        columns = [verdicts.c[name] for name in SUMMARY_COLUMNS]
        statement = select(*columns).where(*_conditions(wanted)).order_by(verdicts.c.id.desc()).limit(limit)
        with self._engine.connect() as connection:
            return [as_summary(row) for row in connection.execute(statement).mappings()]

    def get(self, number: int) -> Stored | None:
        """Everything recorded under an id; None when it was pruned. Raises CodecError."""
        joined = verdicts.join(tasks, verdicts.c.task_digest == tasks.c.digest)
        named = joined.outerjoin(search, search.c.id == verdicts.c.id)
        columns = (*verdicts.columns, tasks.c.row, search.c.label)
        statement = select(*columns).select_from(named).where(verdicts.c.id == number)
        with self._engine.connect() as connection:
            row = connection.execute(statement).mappings().one_or_none()
        return None if row is None else as_stored(row)

    def ids(self, wanted: Filter) -> Iterator[int]:
        """The earliest first; without a transaction across the ids."""
        after, base = 0, select(verdicts.c.id).where(*_conditions(wanted)).order_by(verdicts.c.id).limit(_PAGE)
        while True:
            with self._engine.connect() as connection:
                ids = connection.execute(base.where(verdicts.c.id > after)).scalars().all()
            yield from ids
            if len(ids) < _PAGE:
                return
            after = ids[-1]

    def ask(self, question: Callable[[Connection], T], within_s: float) -> T:
        """An answer that reads only. Raises TooSlow where the database takes longer than `within_s`."""
        with self._engine.connect() as connection, deadline(connection, within_s):
            return question(connection)

    def size_bytes(self) -> int:
        """Bytes of all rows; the file is a little larger."""
        with self._engine.connect() as connection:
            return _size(connection)

    def prune(self, *, max_bytes: float, max_age_s: float) -> Pruned:
        """Delete verdicts that are too old, then the oldest until the rest fits, then tasks without a verdict."""
        gone = tasks_gone = 0
        while deleted := self._delete(verdicts.c.finished_at < time.time() - max_age_s, _PRUNE_ROWS):
            gone += deleted[0]
            tasks_gone += deleted[1]
        if self.size_bytes() > max_bytes:
            target = 0.9 * max_bytes  # a margin, so that the next verdict does not prune again
            while self.size_bytes() > target and (deleted := self._delete(None, None)):
                gone += deleted[0]
                tasks_gone += deleted[1]
        if gone:
            self._shrink()
        return Pruned(gone, tasks_gone, self.size_bytes())

    def _delete(self, where: ColumnElement[bool] | None, rows: int | None) -> tuple[int, int] | None:
        """Delete the oldest that match. Returns how many verdicts and tasks, None when no verdict matched."""
        with writing(self._engine) as connection:
            self._lock(connection, "SHARE ROW EXCLUSIVE")
            if rows is None:
                count = connection.execute(select(func.count()).select_from(verdicts)).scalar_one()
                rows = max(1, min(_PRUNE_ROWS, count // _PRUNE_SHARE))
            oldest = select(verdicts.c.id, verdicts.c.task_digest).order_by(verdicts.c.finished_at).limit(rows)
            chosen = connection.execute(oldest if where is None else oldest.where(where)).all()
            if not chosen:
                return None
            for table in (search, verdicts):
                connection.execute(delete(table).where(table.c.id.in_([row.id for row in chosen])))
            digests = {row.task_digest for row in chosen}
            used = select(verdicts.c.task_digest).where(verdicts.c.task_digest == tasks.c.digest).exists()
            orphans = connection.execute(delete(tasks).where(tasks.c.digest.in_(digests), ~used))
            return len(chosen), orphans.rowcount

    def _shrink(self) -> None:
        """Give freed pages back to the file system; PostgreSQL's autovacuum does so by itself."""
        if self._engine.dialect.name == "sqlite":
            with closing(self._engine.raw_connection()) as connection:
                script = "PRAGMA incremental_vacuum"  # as a script, because `execute` steps once, which frees one page
                connection.cursor().executescript(script)


_REPLAY = (verdicts.c.request_id, verdicts.c.body_digest, verdicts.c.reply)


def _size(connection: Connection) -> int:
    sums = (select(func.coalesce(func.sum(table.c.size_bytes), 0)) for table in (verdicts, tasks))
    return sum(int(connection.execute(statement).scalar_one()) for statement in sums)


def _conditions(wanted: Filter) -> list[ColumnElement[bool]]:
    column = verdicts.c
    conditions: list[ColumnElement[bool]] = []
    if wanted.reward is not None:
        conditions.append(column.reward == wanted.reward)
    if wanted.verdicts_only:
        conditions.append(column.reply.is_not(None))
    if wanted.reason:
        begins = (
            each.startswith(wanted.reason, autoescape=True) for each in (column.failure_reason, column.failure_kind)
        )
        conditions.append(next(begins) | next(begins))
    if wanted.task:
        conditions.append(column.task_digest.startswith(wanted.task, autoescape=True))
    if wanted.since is not None:
        conditions.append(column.finished_at >= wanted.since)
    if wanted.server:
        conditions.append(column.server == wanted.server)
    if wanted.tampered:
        conditions.append(column.tamper != "[]")
    if wanted.tenant:
        conditions.append(column.tenant == wanted.tenant)
    if wanted.request_id:
        conditions.append(column.request_id.startswith(wanted.request_id, autoescape=True))
    return conditions
