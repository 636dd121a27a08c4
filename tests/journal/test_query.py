"""Questions over many verdicts: what matches, in pages; sums over time, steps and tasks; nothing runs for long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pytest
from sqlalchemy import Connection, text

from sandbox_gym.contract import TestStatus as Ended
from sandbox_gym.journal import Entry, Kind
from sandbox_gym.journal.query import Found, Wanted, added, alike, by_task, extent, find, reasons, series, total
from sandbox_gym.journal.rows import prepare, task_digest
from sandbox_gym.journal.schema import open_database
from sandbox_gym.journal.store import Store, TooSlow
from sandbox_gym.limits import MIB
from tests.journal.entries import entry, no_verdict
from tests.journal.filling import HACKED, RUN, fill, label_of, row_of, signed

T = TypeVar("T")
COUNT = 600
NOW = 1_800_000_000.0
DAY_S = 86_400.0
TABLES = ", ".join(f"journal_search {name}" for name in "abcd")


class Asked:
    """A filled journal, and questions to it."""

    def __init__(self, url: str) -> None:
        self.store = Store(open_database(url, create=True))

    def __call__(self, question: Callable[[Connection], T]) -> T:
        return self.store.ask(question, 30.0)

    def found(self, wanted: Wanted) -> int:
        return len(self(lambda connection: find(connection, wanted, most=10_000)))


@pytest.fixture
def empty(url: str) -> Iterator[Asked]:
    asked = Asked(url)
    yield asked
    asked.store.close()


@pytest.fixture
def asked(url: str) -> Iterator[Asked]:
    fill(url, COUNT, until=NOW, days=2.0)
    asked = Asked(url)
    yield asked
    asked.store.close()


def add(asked: Asked, *entries: Entry) -> None:
    asked.store.add([prepare(one, state_max_bytes=MIB) for one in entries])


def test_pages_follow_each_other_without_a_gap(asked: Asked) -> None:
    pages, before = list[Found](), None
    while True:
        page = asked(partial(find, wanted=Wanted(), most=170, before=before))
        pages += page
        if len(page) < 170:
            break
        before = (page[-1].finished_at, page[-1].id)
    assert len({one.request_id for one in pages}) == len(pages) == COUNT
    assert [one.finished_at for one in pages] == sorted((one.finished_at for one in pages), reverse=True)


def test_sums_over_time_steps_tasks_and_reasons_are_those_of_all(asked: Asked) -> None:
    whole = asked(lambda connection: total(connection, Wanted()))
    assert whole.verifies == COUNT
    assert 0 < whole.passed < COUNT
    assert whole.no_verdict > 0
    first, last = asked(lambda connection: extent(connection, Wanted(), "time")) or (0, 0)
    assert (last, first) == (NOW, NOW - 2 * DAY_S + 2 * DAY_S / COUNT)
    over_time = asked(lambda connection: series(connection, Wanted(), "time", NOW - 2 * DAY_S, 3600))
    assert len(over_time) == 49
    assert [number for number, _ in over_time] == list(range(49))
    tasks = asked(lambda connection: by_task(connection, Wanted(), most=1000))
    for parts in ([sums for _, sums in over_time], [task.sums for task in tasks]):
        assert replace(added(parts), seconds=0.0) == replace(whole, seconds=0.0)
    assert {task.label for task in tasks} == {label_of(number) for number in range(COUNT // 40)}
    assert sum(count for *_, count in asked(lambda connection: reasons(connection, Wanted(), most=9))) == COUNT
    run = Wanted(run=RUN)
    steps = asked(lambda connection: series(connection, run, "step", 0, 100))
    assert [number for number, _ in steps] == list(range(20))
    assert added(sums for _, sums in steps).verifies == asked.found(run) == COUNT * 4 // 5
    assert asked(lambda connection: extent(connection, run, "step")) == (0, 1993)
    assert asked(lambda connection: extent(connection, Wanted(tenant="nobody"), "time")) is None
    counts = asked(lambda connection: alike(connection, Wanted(), period_s=60, most=10_000))
    assert sum(one.count for one in counts) == COUNT
    assert counts[0].at == NOW


def test_every_field_narrows(asked: Asked) -> None:
    digest = task_digest(row_of(HACKED))
    by_kind = {kind: asked.found(Wanted(kind=kind)) for kind in Kind}
    assert sum(by_kind.values()) == COUNT
    assert asked.found(Wanted(reason="sandbox_lost")) == by_kind[Kind.NO_VERDICT]
    assert asked.found(Wanted(tenant="eval")) == COUNT // 5
    assert asked.found(Wanted(task=digest)) == asked.found(Wanted(text=label_of(HACKED).upper())) > 0
    assert asked.found(Wanted(signed=True)) == asked.found(Wanted(sign="pytest_patched")) > 0
    assert asked.found(Wanted(sign="pytest")) == 0
    assert asked.found(Wanted(server="math")) == 0
    assert asked.found(Wanted(since=NOW - DAY_S, until=NOW)) == COUNT // 2
    assert asked.found(Wanted(run=RUN, step_from=1000, step_to=1000)) == 1
    assert asked.found(Wanted(text=f"{label_of(HACKED)} pytest_p")) == asked.found(Wanted(signed=True))
    latest = asked(lambda connection: find(connection, Wanted(), most=1))[0]
    assert asked.found(Wanted(text=latest.request_id[:12])) == asked.found(Wanted(text=latest.request_id)) == 1
    assert asked.found(Wanted(text=digest[:10])) == asked.found(Wanted(task=digest))


def test_words_of_a_search_are_no_patterns(empty: Asked) -> None:
    odd = replace(entry(), label="100 % of_a\\b 'q\" ∅ ÄB", tenant="t")
    add(empty, odd, replace(entry(), label="100 x ofxa"))
    for words in ("100 %", "of_a", "\\b", "'q\"", "∅", "äb", "_"):
        assert empty.found(Wanted(text=words)) == 1, words
    for words in ("%100", "o_f", "__", "'; DROP TABLE journal_search; --"):
        assert empty.found(Wanted(text=words)) == 0, words


def test_statuses_say_what_changed_between_runs(empty: Asked) -> None:
    judged = entry().judgements[0]
    first, second = judged.verdict.tests
    again = replace(judged, verdict=replace(judged.verdict, tests=(replace(first, status=Ended.TIME_LIMIT), second)))
    skipped = replace(judged, verdict=replace(judged.verdict, tests=(first, replace(second, status=Ended.SKIPPED))))
    add(empty, entry(), entry(b"no"), replace(entry(), judgements=(judged, again)), no_verdict())
    add(empty, replace(entry(), judgements=(skipped, judged)), signed(entry(), "a_sign"))
    rows = empty(lambda connection: find(connection, Wanted(), most=10))
    found = {one.id: (one.statuses, one.passed, one.tests, one.signs) for one in rows}
    assert [found[number] for number in sorted(found)] == [
        ("pp", 2, 2, ""), ("fp", 1, 2, ""), ("~p", 1, 2, ""), ("", 0, 0, ""), ("pp", 2, 2, ""),
        ("pp", 2, 2, " a_sign "),
    ]  # fmt: skip


def test_a_pruned_verdict_is_not_found(empty: Asked) -> None:
    add(empty, entry(age_s=1000), entry())
    empty.store.prune(max_bytes=MIB, max_age_s=500)
    assert empty.found(Wanted()) == 1


def test_a_question_that_takes_too_long_is_stopped(asked: Asked) -> None:
    def endless(connection: Connection) -> object:
        return connection.execute(text(f"SELECT count(*) FROM {TABLES} WHERE a.id + b.id + c.id + d.id < 0")).scalar()

    began = time.monotonic()
    with pytest.raises(TooSlow, match=r"within 0\.2 s"):
        asked.store.ask(endless, 0.2)
    assert time.monotonic() - began < 20
    assert asked.found(Wanted()) == COUNT  # the connection is of use again
