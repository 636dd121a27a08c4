"""The writer: batches, commits before an answer, waits when it is behind, loses nothing on a clean stop."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import psycopg
import pytest

from sandbox_gym.config import Settings, default_state_dir
from sandbox_gym.errors import JournalDown
from sandbox_gym.journal import Entry, Filter, Key, Stored, Summary
from sandbox_gym.journal import backlog as backlog_module
from sandbox_gym.journal import journal as journal_module
from sandbox_gym.journal.backlog import BATCH_ENTRIES, Backlog, Item
from sandbox_gym.journal.journal import open_journal
from sandbox_gym.journal.schema import open_database
from sandbox_gym.journal.store import Store
from tests.journal.entries import entry, no_verdict

pytestmark = pytest.mark.anyio


def settings(**fields: object) -> Settings:
    return Settings.from_flat(fields)


def on_record(url: str) -> list[Summary]:
    store = Store(open_database(url, create=False))
    try:
        return store.summaries(Filter(), limit=None)
    finally:
        store.close()


def whole(url: str) -> list[Stored]:
    store = Store(open_database(url, create=False))
    try:
        return [stored for stored in map(store.get, store.ids(Filter())) if stored is not None]
    finally:
        store.close()


async def test_a_clean_stop_writes_all_that_waits(url: str) -> None:
    entries = [entry() for _ in range(300)]
    async with open_journal(url, settings().journal) as journal:
        for each in entries:
            await journal.add(each)
    assert {each.request_id for each in on_record(url)} == {each.request_id for each in entries}


async def test_a_cancelled_server_writes_them_too(url: str) -> None:
    with anyio.CancelScope() as scope:
        async with open_journal(url, settings().journal) as journal:
            for _ in range(200):
                await journal.add(entry())
            scope.cancel()
            await anyio.sleep(5)
    assert len(on_record(url)) == 200


@pytest.mark.parametrize(
    "error", [RuntimeError("can't start new thread"), MemoryError(), OSError(24, "files")], ids=str
)
async def test_what_the_machine_refuses_passes(url: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """No writer, pruner or lookup of the journal dies of it; what waits is written later."""
    left = [error] * 2

    async def refused(call: Callable[[], object], limiter: anyio.CapacityLimiter) -> object:
        if left:
            raise left.pop()
        return await anyio.to_thread.run_sync(call, limiter=limiter)

    monkeypatch.setattr(journal_module.Journal, "_in_thread", staticmethod(refused))
    async with open_journal(url, settings().journal) as journal:
        await anyio.sleep(0.1)  # the pruner's
        left[:] = [error] * 2
        await journal.write(entry())
        left[:] = [error]
        with pytest.raises(JournalDown):
            await journal.find("coding", "k")
        assert await journal.find("coding", "k") is None
        await journal.write(entry())
    assert len(on_record(url)) == 2


async def test_writes_are_batched(url: str) -> None:
    async with open_journal(url, settings().journal) as journal:
        async with anyio.create_task_group() as group:
            for number in range(200):
                group.start_soon(journal.write, entry(key=Key(str(number), "d")))
        stats = journal.stats()
    assert (stats["written"], stats["failed"], stats["backlog"]) == (200, 0, 0)
    assert stats["batches"] < 100


async def test_what_nobody_waits_for_is_written_with_what_somebody_does(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog_module, "LINGER_S", 3600.0)
    async with open_journal(url, settings().journal) as journal:
        for _ in range(5):
            await journal.add(entry())
        await anyio.wait_all_tasks_blocked()
        assert journal.stats()["backlog"] == 5
        await journal.write(entry(key=Key("k", "d")))
        assert (journal.stats()["written"], journal.stats()["batches"]) == (6, 1)
        for _ in range(BATCH_ENTRIES):
            await journal.add(entry())
        await journal.write(entry())
        await journal.add(entry())
    assert len(on_record(url)) == 6 + BATCH_ENTRIES + 2


async def test_write_returns_after_the_commit(url: str) -> None:
    async with open_journal(url, settings().journal) as journal:
        mine = entry(key=Key("k", "d"))
        kept = await journal.write(mine)
        assert kept is not None
        assert kept.request_id == mine.request_id
        assert [each.request_id for each in on_record(url)] == [mine.request_id]
        assert await journal.find("coding", "k") == kept
        assert await journal.find("coding", "other") is None


async def test_two_servers_on_one_journal_give_one_verdict(url: str) -> None:
    async with open_journal(url, settings().journal) as one, open_journal(url, settings().journal) as two:
        winners = []

        async def write(server: journal_module.Journal, mine: Entry) -> None:
            winner = await server.write(mine)
            assert winner is not None
            winners.append(winner.request_id)

        for number in range(10):
            async with anyio.create_task_group() as group:
                group.start_soon(write, one, entry(key=Key(str(number), "d")))
                group.start_soon(write, two, entry(b"no", key=Key(str(number), "d")))
    assert len(winners) == 20
    assert len(set(winners)) == 10
    assert len(on_record(url)) == 10


@pytest.mark.parametrize("linger_s", [0.0, 3600.0])
async def test_a_backlog_makes_producers_wait_and_keeps_order(linger_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog_module, "LINGER_S", linger_s)
    backlog = Backlog(max_entries=3, max_bytes=10_000)
    items = [Item(entry(answer=f"print({number})")) for number in range(10)]
    async with anyio.create_task_group() as group:

        async def produce() -> None:
            for item in items:
                await backlog.put(item)
            await backlog.close()

        group.start_soon(produce)
        seen: list[Item] = []
        while batch := await backlog.batch():
            assert len(batch) <= 3
            await anyio.wait_all_tasks_blocked()
            assert len(backlog) <= 3
            seen += batch
            await backlog.drop(len(batch))
    assert seen == items


async def test_a_backlog_is_bounded_in_bytes_but_takes_what_is_larger_alone() -> None:
    backlog = Backlog(max_entries=100, max_bytes=10_000)
    await backlog.put(Item(entry(b"x" * 50_000)))
    with anyio.move_on_after(0.05) as waited:
        await backlog.put(Item(entry()))
    assert waited.cancelled_caught
    assert len(backlog) == 1
    await backlog.drop(1)
    await backlog.put(Item(entry()))


async def test_a_value_that_no_json_holds_spoils_no_other(url: str) -> None:
    deep: list[object] = []
    for _ in range(200_000):
        deep = [deep]
    bad = entry(key=Key("bad", "d"))
    bad = replace(bad, reply={"reward": 0.0, "deep": deep})
    async with open_journal(url, settings().journal) as journal:
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(journal.write, entry())

            async def refused() -> None:
                with pytest.raises(JournalDown, match="refused"):
                    await journal.write(bad)

            group.start_soon(refused)
            group.start_soon(journal.write, no_verdict())
        assert journal.stats()["failed"] == 1
    assert len(on_record(url)) == 6


async def test_a_database_that_is_locked_delays_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox_gym.journal.schema.BUSY_TIMEOUT_S", 0.05)
    path = tmp_path / "journal.sqlite"
    async with open_journal(str(path), settings().journal) as journal:
        await journal.write(entry())
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        await journal.add(entry())
        await anyio.sleep(0.4)
        assert journal.stats()["backlog"] == 1
        with anyio.fail_after(10):
            while not journal.stats()["failing"]:
                await anyio.sleep(0.02)
        other.execute("ROLLBACK")
        other.close()
        with anyio.fail_after(10):
            while journal.stats()["backlog"]:
                await anyio.sleep(0.02)
        assert journal.stats()["failing"] == 0
    assert len(on_record(str(path))) == 2


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_a_database_that_drops_its_connections_loses_nothing(url: str) -> None:
    async with open_journal(url, settings().journal) as journal:
        with psycopg.connect(url, autocommit=True) as other:
            for number in range(5):
                for _ in range(20):
                    await journal.add(entry())
                others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid()"
                other.execute(f"{others} AND datname = current_database()")
                kept = await journal.write(entry(key=Key(str(number), "d")))
                assert kept is not None
                assert await journal.find("coding", str(number)) == kept
    assert len(on_record(url)) == 105


async def test_a_commit_that_never_comes_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox_gym.journal.schema.BUSY_TIMEOUT_S", 0.05)
    monkeypatch.setattr(journal_module, "WAIT_S", 0.3)
    path = tmp_path / "journal.sqlite"
    async with open_journal(str(path), settings().journal) as journal:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalDown, match="commit"):
            await journal.write(entry(key=Key("k", "d")))
        other.execute("ROLLBACK")
        other.close()
    (stored,) = whole(str(path))
    assert stored.summary.idempotency_key == "k", "the verdict stands, for the client's next try"


async def test_size_is_kept_while_the_server_runs(url: str) -> None:
    async with open_journal(url, settings(journal_max_mb=0.05, journal_days=1).journal) as journal:
        await journal.write(entry(age_s=3 * 86_400))
        for _ in range(60):
            await journal.write(entry())
        with anyio.fail_after(20):
            while len(on_record(url)) > 40:
                await anyio.sleep(0.02)
        oldest = on_record(url)[-1]
    assert oldest.finished_at > entry(age_s=86_400).finished_at


def test_where_the_journal_is(tmp_path: Path) -> None:
    assert settings(state_dir=tmp_path).journal_url() == str(tmp_path / "journal.sqlite")
    assert settings(journal_url="off").journal_url() is None
    assert settings(journal_url="").journal_url() is None
    assert settings(journal_url="postgresql://h/d").journal_url() == "postgresql://h/d"


def test_the_state_directory_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_state_dir() == Path("/var/lib/sandbox-gym")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert default_state_dir() == Path("/somewhere/sandbox-gym")
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_state_dir() == Path("/home/me/.local/state/sandbox-gym")
