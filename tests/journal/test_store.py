"""What goes in comes out, filtered and pruned, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_gym.codec import digest
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.journal import Entry, Filter, Key, Stored
from sandbox_gym.journal.rows import Prepared, prepare, task_digest
from sandbox_gym.journal.schema import SCHEMA_VERSION, meta, open_database, parse_url, search, writing
from sandbox_gym.journal.store import Store
from sandbox_gym.limits import MIB, Limits
from tests.journal.entries import ROW, entry, no_verdict

YEAR_S = 365 * 86_400.0


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = Store(open_database(url, create=True))
    yield store
    store.close()


def ready(*entries: Entry, state_max_bytes: float = MIB) -> list[Prepared]:
    return [prepare(each, state_max_bytes=state_max_bytes) for each in entries]


def whole(store: Store, wanted: Filter) -> list[Stored]:
    found = [store.get(number) for number in store.ids(wanted)]
    return [each for each in found if each is not None]


def noisy(number: int) -> Entry:
    """100 kB that no compression makes less."""
    return entry(os.urandom(100_000), row={**ROW, "difficulty": str(number)})


def test_a_verify_comes_back_whole(store: Store) -> None:
    right = entry(b"2\n\xff\0")
    store.add(ready(right))
    (stored,) = whole(store, Filter())
    assert stored.source == right.source
    assert stored.judgements is not None
    (judgement,) = stored.judgements
    assert (judgement.state, judgement.verdict) == (right.judgements[0].state, right.judgements[0].verdict)
    assert judgement.plan_digest == digest(right.judgements[0].plan) == stored.summary.plan_digest
    assert str(stored.reply) == str(right.reply)
    summary = stored.summary
    assert (summary.task_digest, summary.answer_digest) == (task_digest(ROW), digest(right.source.answer))
    assert summary.limits["cpu_time_s"] == Limits().cpu_time_s
    assert (summary.reward, summary.failure_reason) == (0.0, "wrong_answer")
    assert (summary.provider, summary.isolation, summary.integrity, summary.image) == (
        "fake", "none", "isolated", "python",
    )  # fmt: skip
    assert (summary.started_at, summary.finished_at) == (right.started_at, right.finished_at)


def test_a_no_verdict_is_on_record_without_a_reward(store: Store) -> None:
    store.add(ready(no_verdict()))
    (stored,) = whole(store, Filter())
    assert (stored.summary.reward, stored.summary.failure_kind, stored.reply) == (None, "coding:sandbox_lost", None)
    assert stored.judgements == ()
    assert list(whole(store, Filter(verdicts_only=True))) == []


def test_outputs_over_the_bound_are_left_out(store: Store) -> None:
    store.add(ready(entry(b"x" * 2000), state_max_bytes=1000))
    (stored,) = whole(store, Filter())
    assert stored.judgements is None
    assert stored.reply is not None


def test_the_first_verdict_under_a_key_stays(store: Store) -> None:
    key = Key("k", "digest")
    first, second, other = entry(key=key), entry(b"no", key=key), entry(key=key, server="other")
    assert store.add(ready(first))[first.request_id].request_id == first.request_id
    assert store.add(ready(second, other)) == {
        second.request_id: store.find("coding", "k"),
        other.request_id: store.find("other", "k"),
    }
    assert len(store.summaries(Filter(), limit=None)) == 2
    found = store.find("coding", "k")
    assert found is not None
    assert (found.request_id, found.body_digest, found.reply["reward"]) == (first.request_id, "digest", 1.0)
    assert store.find("coding", "j") is None


def test_two_of_one_key_in_one_batch_are_one(store: Store) -> None:
    first, second = entry(key=Key("k", "d")), entry(key=Key("k", "d"))
    winners = store.add(ready(first, second))
    assert {winner.request_id for winner in winners.values()} == {first.request_id}
    assert set(winners) == {first.request_id, second.request_id}


def test_a_no_verdict_takes_no_key(store: Store) -> None:
    store.add(ready(replace(no_verdict(), key=Key("k", "d"))))
    assert store.find("coding", "k") is None
    kept = entry(key=Key("k", "d"))
    assert store.add(ready(kept))[kept.request_id].request_id == kept.request_id


def test_the_same_entry_twice_is_one(store: Store) -> None:
    """A commit whose answer was lost is done again."""
    once = entry()
    store.add(ready(once))
    store.add(ready(once))
    assert len(store.summaries(Filter(), limit=None)) == 1


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (Filter(), 5),
        (Filter(reward=1.0), 2),
        (Filter(reward=0.0), 2),
        (Filter(reason="wrong"), 2),
        (Filter(reason="coding:sandbox"), 1),
        (Filter(reason="wr%"), 0),
        (Filter(server="other"), 1),
        (Filter(task=task_digest(ROW)[:8]), 4),
        (Filter(task="%"), 0),
        (Filter(reward=1.0, server="other"), 0),
        (Filter(verdicts_only=True), 4),
    ],
)
def test_filters(store: Store, wanted: Filter, count: int) -> None:
    odd = entry(b"no", row={**ROW, "difficulty": "easy"}, server="other")
    store.add(ready(entry(), entry(), entry(b"no"), odd, no_verdict()))
    assert len(store.summaries(wanted, limit=None)) == count
    assert len(list(whole(store, wanted))) == count


def test_lists_are_latest_first_and_by_time_and_by_id(store: Store) -> None:
    old, new = entry(age_s=3600), entry()
    store.add(ready(old, new))
    assert [each.request_id for each in store.summaries(Filter(), limit=None)] == [new.request_id, old.request_id]
    assert [each.request_id for each in store.summaries(Filter(), limit=1)] == [new.request_id]
    since = Filter(since=new.finished_at - 60)
    assert [each.request_id for each in store.summaries(since, limit=None)] == [new.request_id]
    assert [each.request_id for each in store.summaries(Filter(request_id=old.request_id), limit=None)] == [
        old.request_id
    ]


def test_a_task_is_stored_once(store: Store) -> None:
    store.add(ready(entry()))
    one = store.size_bytes()
    big = {**ROW, "prompt": os.urandom(100_000).hex()}
    store.add(ready(*(entry(row=big) for _ in range(5))))
    store.add(ready(*(entry(row=big) for _ in range(5))))
    assert store.size_bytes() < 20 * one + 200_000


def test_pruning_by_age_takes_tasks_that_nobody_needs(store: Store) -> None:
    lonely = entry(row={**ROW, "difficulty": "old"}, age_s=YEAR_S)
    store.add(ready(lonely, entry(age_s=YEAR_S), entry()))
    pruned = store.prune(max_bytes=MIB, max_age_s=YEAR_S / 2)
    assert (pruned.verdicts, pruned.tasks) == (2, 1)
    assert len(list(whole(store, Filter()))) == 1


def test_pruning_by_size_keeps_the_latest(store: Store) -> None:
    entries = [noisy(number) for number in range(40)]
    store.add(ready(*entries))
    assert store.prune(max_bytes=100 * MIB, max_age_s=YEAR_S).verdicts == 0
    pruned = store.prune(max_bytes=2 * MIB, max_age_s=YEAR_S)
    assert pruned.size_bytes == store.size_bytes() < 2 * MIB
    kept = [stored.summary.request_id for stored in whole(store, Filter())]
    assert 5 < len(kept) < 20
    assert kept == [each.request_id for each in entries[-len(kept) :]]


def test_the_file_shrinks_with_its_content(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    store = Store(open_database(str(path), create=True))
    for _ in range(4):
        store.add(ready(*(noisy(number) for number in range(20))))
        store.prune(max_bytes=2 * MIB, max_age_s=YEAR_S)
    store.close()
    assert path.stat().st_size < 3 * MIB


def test_adding_and_pruning_at_once_lose_no_task(url: str, store: Store) -> None:
    """A verdict whose task another process prunes would have no row to be judged again with."""
    done = threading.Event()
    pruner = Store(open_database(url, create=False))

    def prune() -> None:
        while not done.is_set():
            pruner.prune(max_bytes=MIB, max_age_s=0.0)

    thread = threading.Thread(target=prune)
    thread.start()
    kept = []
    try:
        for _ in range(60):
            store.add(ready(entry(age_s=1), entry(age_s=-3600)))
            kept.append(len(store.summaries(Filter(since=0), limit=None)))
    finally:
        done.set()
        thread.join()
        pruner.close()
    assert len(list(whole(store, Filter()))) == len(store.summaries(Filter(), limit=None)) >= 60


def test_opening_again_finds_what_was_written(url: str, store: Store) -> None:
    store.add(ready(entry()))
    again = Store(open_database(url, create=False))
    assert len(again.summaries(Filter(), limit=None)) == 1
    again.close()


def test_two_that_open_at_once_both_can(url: str) -> None:
    errors: list[Exception] = []

    def make() -> None:
        try:
            open_database(url, create=True).dispose()
        except ConfigurationError as error:
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_later_versions_journal_is_refused_and_left_alone(url: str) -> None:
    engine = open_database(url, create=True)
    with writing(engine) as connection:
        connection.execute(meta.update().values(schema_version=SCHEMA_VERSION + 1))
    engine.dispose()
    with pytest.raises(ConfigurationError, match="later sandbox-gym"):
        open_database(url, create=True)


def test_reading_makes_no_journal(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no journal"):
        open_database(url, create=False)
    assert not (tmp_path / "journal.sqlite").exists()


def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state" / "journal.sqlite"
    open_database(str(path), create=True).dispose()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("text", ["sqlite://", "sqlite:///:memory:", "mysql://h/d", "oracle://x", "http://x", "://"])
def test_urls_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="journal"):
        parse_url(text)


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(ConfigurationError) as raised:
        open_database("postgresql://gym:s3cret@127.0.0.1:1/nothing", create=True)
    assert "127.0.0.1:1" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("precious notes, " * 100)
    with pytest.raises(ConfigurationError, match="not a database"):
        open_database(str(path), create=True)
    assert path.read_text() == "precious notes, " * 100


def test_a_folder_that_cannot_be_made_is_told_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="SANDBOX_GYM_STATE_DIR"):
        open_database(str(tmp_path / "file" / "journal.sqlite"), create=True)


def test_signs_of_tampering_and_tenants_are_filters(store: Store) -> None:
    """A rerun that saw nothing does not hide what the first run saw."""
    judged = entry().judgements[0]
    signed = replace(judged, verdict=replace(judged.verdict, tamper=("pytest_patched",)))
    one = replace(entry(), judgements=(signed, judged), tenant="a")
    two = replace(entry(), tenant="a")
    three = replace(entry(), judgements=(signed,), tenant="b")
    store.add([prepare(each, state_max_bytes=MIB) for each in (one, two, three)])

    def found(wanted: Filter) -> set[str]:
        return {summary.request_id for summary in store.summaries(wanted, limit=None)}

    assert found(Filter(tampered=True)) == {one.request_id, three.request_id}
    assert found(Filter(tenant="a")) == {one.request_id, two.request_id}
    assert found(Filter(tampered=True, tenant="a")) == {one.request_id}
    assert {(each.tenant, each.tamper) for each in store.summaries(Filter(tampered=True), limit=None)} == {
        ("a", ("pytest_patched",)),
        ("b", ("pytest_patched",)),
    }


def test_a_journal_of_version_1_is_brought_up(url: str) -> None:
    """It has no tenants; what is in it stays, and says so by an empty name."""
    engine = open_database(url, create=True)
    old = Store(engine)
    old.add([prepare(entry(), state_max_bytes=MIB)])
    with writing(engine) as connection:
        search.drop(connection)
        connection.exec_driver_sql("ALTER TABLE journal_verdicts DROP COLUMN tenant")
        connection.execute(meta.update().values(schema_version=1))
    old.close()
    store = Store(open_database(url, create=False))
    new = replace(entry(), tenant="a")
    store.add([prepare(new, state_max_bytes=MIB)])
    assert [each.tenant for each in store.summaries(Filter(), limit=None)] == ["a", ""]
    assert store.get(2) is not None
    store.close()
