"""The journal for servers: records entries, with or without waiting for the disk; finds finished verdicts by key.

One writer commits all entries that have arrived since its last transaction. Blocking calls run in worker threads.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread
import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from sandbox_gym.codec import CodecError
from sandbox_gym.errors import JournalDown
from sandbox_gym.faults import is_of_machine
from sandbox_gym.journal.backlog import Backlog, Item
from sandbox_gym.journal.entry import Entry, Filter, Replay, Stored
from sandbox_gym.journal.rows import prepare
from sandbox_gym.journal.schema import cause, open_database
from sandbox_gym.journal.store import Store, TooSlow
from sandbox_gym.limits import MIB
from sandbox_gym.settings.run import JournalSettings

WAIT_S = 30.0
"""Seconds that a verify waits at most for space in the backlog, for its commit, or for a lookup."""
CLOSE_S = 30.0
"""Seconds that a stop waits at most for the backlog to be written."""
PRUNE_EVERY_S = 60.0
_RETRY_S = (0.1, 0.5, 2.0, 5.0)
_READERS = 4
_ASKERS = 2
ASK_S = 10.0
"""Seconds that the database may spend on one question of the dashboard's."""

T = TypeVar("T")
_log = structlog.get_logger(__name__)


class Journal:
    """An open journal. `add` and `write` raise JournalDown when the database does not keep up."""

    def __init__(self, store: Store, *, state_max_bytes: float, max_bytes: float, max_age_s: float) -> None:
        self._store = store
        self._state_max_bytes = state_max_bytes
        self._max_bytes = max_bytes
        self._max_age_s = max_age_s
        self._backlog = Backlog()
        self._writer = anyio.CapacityLimiter(1)
        self._readers = anyio.CapacityLimiter(_READERS)
        self._askers = anyio.CapacityLimiter(_ASKERS)
        self._written = self._failed = self._batches = self._unpruned_bytes = 0
        self._failing = 0
        self._much_written = anyio.Event()

    def stats(self) -> dict[str, int]:
        """Entries that wait, were written, failed; transactions, and failed attempts of the next one."""
        return {
            "backlog": len(self._backlog),
            "written": self._written,
            "failed": self._failed,
            "batches": self._batches,
            "failing": self._failing,
        }

    async def add(self, entry: Entry) -> None:
        """Queue an entry, which is written soon. Waits only while the backlog is full."""
        await self._put(Item(entry))

    async def write(self, entry: Entry) -> Replay | None:
        """Queue an entry and wait until it is committed. With a key: returns the verdict on record under it, which is
        another request's where that was first."""
        item = Item(entry, awaited=True)
        await self._put(item)
        await _in_time(item.done.wait, "the verdict was not committed")
        if item.error:
            raise JournalDown(item.error)
        return item.on_record

    async def _put(self, item: Item) -> None:
        await _in_time(partial(self._backlog.put, item), "the journal's backlog had no space")

    async def find(self, server: str, key: str) -> Replay | None:
        """The finished verdict under a key. Raises JournalDown."""
        return await self._read(partial(self._store.find, server, key))

    async def stored(self, request_id: str) -> Stored | None:
        """Everything recorded of one verify, by its whole id. Raises JournalDown."""
        return await self._read(partial(self._stored, request_id))

    async def ask(self, question: Callable[[Connection], T], within_s: float = ASK_S) -> T:
        """An answer for people, which verifies' own lookups don't wait for. Raises JournalDown, which names the bound
        where the question took too long."""
        return await self._read(partial(self._store.ask, question, within_s), self._askers, 2 * within_s)

    async def _read(
        self, call: Callable[[], T], limiter: anyio.CapacityLimiter | None = None, wait_s: float = WAIT_S
    ) -> T:
        """Run `call` in a thread. Raises JournalDown, also where this process is out of threads, descriptors or
        memory."""
        try:
            with anyio.fail_after(wait_s):
                return await self._in_thread(call, limiter or self._readers)
        except TimeoutError:
            raise JournalDown(f"no answer from the journal within {wait_s:g} s") from None
        except TooSlow as error:
            raise JournalDown(f"the journal gave {error}: ask for a shorter time, or for one task") from None
        except (SQLAlchemyError, CodecError) as error:
            raise JournalDown(f"journal: {_why(error)}") from None
        except Exception as error:
            if not is_of_machine(error):
                raise
            raise JournalDown(f"journal: {_why(error)}") from error

    def _stored(self, request_id: str) -> Stored | None:
        number = next(self._store.ids(Filter(request_id=request_id)), None)
        found = None if number is None else self._store.get(number)
        return found if found is not None and found.summary.request_id == request_id else None

    @staticmethod
    async def _in_thread(call: Callable[[], T], limiter: anyio.CapacityLimiter) -> T:
        return await anyio.to_thread.run_sync(call, limiter=limiter)

    async def run(self) -> None:
        """Write entries until `close`, and then until none is left. Entries that can't be written now wait in the
        bounded backlog and are tried again."""
        while batch := await self._backlog.batch():
            try:
                await self._write(batch)
                self._failing = 0
            except Exception as error:
                wait_s = _RETRY_S[min(self._failing, len(_RETRY_S) - 1)]
                self._failing += 1
                _log.error("journal_down", why=_why(error), waiting=len(self._backlog), retry_in_s=wait_s)
                await anyio.sleep(wait_s)
                continue
            await self._backlog.drop(len(batch))

    async def _write(self, batch: Sequence[Item]) -> None:
        """Commit a batch. A batch that the database refuses is written entry by entry, so that one entry can't lose
        another."""
        try:
            await self._commit(batch)
        except (OperationalError, InterfaceError, PoolTimeout):
            raise
        except Exception as error:
            if is_of_machine(error):  # the entries are all right
                raise
            if len(batch) > 1:
                for item in batch:
                    await self._write([item])
                return
            item = batch[0]
            item.error = f"the journal refused the verdict: {_why(error)}"
            item.done.set()
            self._failed += 1
            _log.error("journal_refused", request_id=item.entry.request_id, why=_why(error))

    async def _commit(self, batch: Sequence[Item]) -> None:
        todo = [item for item in batch if not item.done.is_set()]
        on_record, size_bytes = await self._in_thread(partial(self._add, todo), self._writer)
        self._batches += 1
        self._written += len(todo)
        self._unpruned_bytes += size_bytes
        if self._unpruned_bytes > self._max_bytes / 20:
            self._much_written.set()
        for item in todo:
            item.on_record = on_record.get(item.entry.request_id)
            item.done.set()

    def _add(self, items: Sequence[Item]) -> tuple[dict[str, Replay], int]:
        """In the writer's thread: the verdicts on record under the items' keys, and the bytes written."""
        rows = [prepare(item.entry, state_max_bytes=self._state_max_bytes) for item in items]
        return (self._store.add(rows) if rows else {}), sum(row.size_bytes for row in rows)

    async def prune_regularly(self) -> None:
        """Prune by size and age: every minute, and after each twentieth of the size limit."""
        while True:
            self._much_written = anyio.Event()
            self._unpruned_bytes = 0
            try:
                prune = partial(self._store.prune, max_bytes=self._max_bytes, max_age_s=self._max_age_s)
                pruned = await self._in_thread(prune, self._writer)
                if pruned.verdicts:
                    _log.info("journal_pruned", verdicts=pruned.verdicts, tasks=pruned.tasks, size=pruned.size_bytes)
            except Exception as error:
                _log.error("journal_prune_failed", why=_why(error))
                await anyio.sleep(_RETRY_S[-1])
            with anyio.move_on_after(PRUNE_EVERY_S):
                await self._much_written.wait()

    async def close(self) -> None:
        """Accept no more entries; `run` ends when it has written the waiting ones."""
        await self._backlog.close()


@asynccontextmanager
async def open_journal(url: str, settings: JournalSettings) -> AsyncIterator[Journal]:
    """A journal that writes while the context lasts. At the end it writes the waiting entries for at most CLOSE_S and
    logs how many are lost. Raises ConfigurationError."""
    engine = await anyio.to_thread.run_sync(partial(open_database, url, create=True))
    store = Store(engine)
    journal = Journal(
        store, state_max_bytes=settings.state_mb * MIB, max_bytes=settings.max_mb * MIB, max_age_s=settings.age_s
    )
    try:
        async with anyio.create_task_group() as group:
            written = anyio.Event()
            scope = anyio.CancelScope(shield=True)
            group.start_soon(_write_on, journal, scope, written)
            group.start_soon(journal.prune_regularly)
            try:
                yield journal
            finally:
                with anyio.CancelScope(shield=True):
                    await journal.close()
                    with anyio.move_on_after(CLOSE_S):
                        await written.wait()
                scope.cancel()
                group.cancel_scope.cancel()
    finally:
        if journal.stats()["backlog"]:
            _log.error("journal_entries_lost", entries=journal.stats()["backlog"])
        store.close()


async def _write_on(journal: Journal, scope: anyio.CancelScope, written: anyio.Event) -> None:
    """The writer, which a cancelled lifespan does not stop: only the end of CLOSE_S does."""
    with scope:
        await journal.run()
        written.set()


async def _in_time(wait: Callable[[], Awaitable[T]], problem: str) -> T:
    """Raises JournalDown when the wait is longer than WAIT_S."""
    try:
        with anyio.fail_after(WAIT_S):
            return await wait()
    except TimeoutError:
        raise JournalDown(f"{problem} within {WAIT_S:g} s") from None


def _why(error: Exception) -> str:
    return cause(error) if isinstance(error, SQLAlchemyError) else str(error)[:300] or type(error).__name__
