"""What verdicts came to: counts by reason, by second and by phase, under a clock of the test's own."""

from __future__ import annotations

import dataclasses

import pytest

from sandbox_gym.contract import Judgement, Outcome, Plan, State, Status, Verdict
from sandbox_gym.contract import TestResult as Result
from sandbox_gym.contract import TestStatus as Ended
from sandbox_gym.journal import Entry, Kind, Source
from sandbox_gym.observe.feed import MAX_CHARS, MAX_EVENTS, Feed
from sandbox_gym.observe.task_labels import label_of
from sandbox_gym.server.dashboard.events import EVERY_S, Pictures
from sandbox_gym.server.dashboard.recent import MAX_VERDICTS, Recent, in_memory
from sandbox_gym.server.dashboard.shapes import FoundQuery
from sandbox_gym.server.dashboard.stored_verify import weight_of
from sandbox_gym.server.dashboard.tally import BIN_S, MAX_REASONS, MAX_SAMPLES, OTHER, WINDOW_S, Tally


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def add(tally: Tally, kind: Kind, reason: str, run_s: float = 0.1) -> None:
    tally.add(kind, reason, {"run": run_s}, run_s + 1)


def test_the_mix_counts_all_and_of_late(clock: Clock) -> None:
    tally = Tally(clock)
    add(tally, Kind.FAILED, "wrong_answer")
    add(tally, Kind.FAILED, "wrong_answer")
    add(tally, Kind.PASSED, "passed")
    clock.now += WINDOW_S + 1
    add(tally, Kind.FAILED, "wrong_answer")
    tally.refused("pool_full")
    found = [(share.kind, share.reason, share.total, share.recent) for share in tally.mix()]
    assert found == [
        (Kind.PASSED, "passed", 1, 0),
        (Kind.FAILED, "wrong_answer", 3, 1),
        (Kind.NO_VERDICT, "pool_full", 1, 1),
    ]
    assert tally.total == 5


def test_reasons_are_bounded(clock: Clock) -> None:
    tally = Tally(clock)
    for number in range(3 * MAX_REASONS):
        add(tally, Kind.FAILED, f"reason {number} {'x' * 1000}")
    mix = tally.mix()
    assert len(mix) == MAX_REASONS + 1
    assert sum(share.total for share in mix) == 3 * MAX_REASONS
    assert next(share.total for share in mix if share.reason == OTHER) == 2 * MAX_REASONS
    assert max(len(share.reason) for share in mix) <= 60


def test_rates_are_in_bins_the_last_one_whole(clock: Clock) -> None:
    tally = Tally(clock)
    for _ in range(WINDOW_S + 100):
        add(tally, Kind.PASSED, "passed")
        clock.now += 1
    clock.now = clock.now // BIN_S * BIN_S
    rates = tally.rates()
    assert len(rates) == WINDOW_S // BIN_S
    assert {counts[Kind.PASSED] for counts in rates} == {BIN_S}
    clock.now += 2 * BIN_S
    add(tally, Kind.FAILED, "wrong_answer")  # in a bin that is not over yet
    rates = tally.rates()
    assert [counts[Kind.PASSED] for counts in rates[-3:]] == [BIN_S, 0, 0]
    assert sum(counts[Kind.FAILED] for counts in rates) == 0
    clock.now += BIN_S
    assert tally.rates()[-1][Kind.FAILED] == 1


def test_percentiles_are_values_that_occurred(clock: Clock) -> None:
    tally = Tally(clock)
    for number in range(100):
        tally.add(Kind.PASSED, "passed", {"judge": 1.0, "queue": float(number + 1)}, 200.0)
    phases = {phase.name: phase for phase in tally.phases()}
    assert list(phases) == ["queue", "judge", "total"]
    assert (phases["queue"].p50_s, phases["queue"].p95_s, phases["queue"].count) == (50.0, 95.0, 100)
    clock.now += WINDOW_S + 1
    assert tally.phases() == []
    for _ in range(2 * MAX_SAMPLES):
        add(tally, Kind.PASSED, "passed")
    assert tally.phases()[0].count == MAX_SAMPLES


def entry(
    number: int = 0, *, output: bytes = b"", reward: float | None = 1.0, kind: str = "", reason: str = ""
) -> Entry:
    verdict = Verdict(reward or 0.0, (Result(0, Ended.PASSED),), isolation="namespace", timings_s={"run": 0.5})
    state = State((Outcome(Status.OK, stdout=output),), "namespace", "fake")
    source = Source("echo", {}, {"task_id": f"t{number}", "tests": ["x"]}, "answer")
    return Entry(
        request_id=f"{number:032x}",
        server="echo",
        provider="fake",
        source=source,
        judgements=(Judgement(Plan(()), state, verdict),),
        started_at=0.0,
        finished_at=2.0,
        reply=None if reward is None else {"reward": reward},
        reward=reward,
        failure_kind=kind,
        failure_reason=reason,
        tenant="a",
        label=f"t{number}",
    )


def test_the_ring_keeps_the_latest_within_its_budget() -> None:
    recent = Recent(1_000_000)
    for number in range(300):
        recent.finished(entry(number, output=b"x" * 10_000))
    assert recent.size_bytes <= 1_000_000
    assert 10 < len(recent) < 100
    assert recent.find(f"{0:032x}") is None
    kept = recent.find(f"{299:032x}")
    assert kept is not None
    assert (kept.label, kept.tenant, kept.passed, kept.tests) == ("t299", "a", 1, 1)
    stored = kept.stored()
    assert stored.judgements is not None
    assert stored.judgements[0].state is not None
    assert recent.tally.total == 300


def test_the_ring_is_bounded_in_number_too() -> None:
    recent = Recent(1e12)
    for number in range(MAX_VERDICTS + 50):
        recent.finished(entry(number))
    assert len(recent) == MAX_VERDICTS
    assert recent.size_bytes == sum(kept.size_bytes for kept in recent.latest(10**9))


def test_of_a_long_verify_only_the_summary_is_kept() -> None:
    recent = Recent(100_000)
    recent.finished(entry(1, output=b"x" * 50_000))
    kept = recent.find(f"{1:032x}")
    assert kept is not None
    assert (kept.judgements, kept.reply, kept.source.row, kept.source.answer) == (None, None, {}, "")
    assert (kept.label, kept.reward, kept.passed, kept.tests) == ("t1", 1.0, 1, 1)


def test_lists_are_filtered_latest_first() -> None:
    recent = Recent(1e9)
    recent.finished(entry(1))
    recent.finished(entry(2, reward=0.0, reason="wrong_answer"))
    recent.finished(entry(3, reward=None, kind="echo:box_lost"))
    assert [kept.kind for kept in recent.latest(9)] == [Kind.NO_VERDICT, Kind.FAILED, Kind.PASSED]
    assert [kept.reason for kept in recent.latest(9)] == ["box_lost", "wrong_answer", "passed"]
    assert [kept.request_id[-1] for kept in recent.latest(9, in_memory(FoundQuery(outcome="failed")))] == ["2"]
    assert [kept.request_id[-1] for kept in recent.latest(9, in_memory(FoundQuery(reason="box_lost")))] == ["3"]
    assert recent.latest(9, in_memory(FoundQuery(outcome="tamper"))) == []
    assert len(recent.latest(1)) == 1


def test_an_entrys_size_grows_with_everything_it_holds() -> None:
    def size(one: Entry) -> int:
        recent = Recent(1e9)
        recent.finished(one)
        return recent.size_bytes

    plain = entry()
    longer = [
        entry(output=b"x" * 5000),
        dataclasses.replace(plain, source=dataclasses.replace(plain.source, answer="x" * 5000)),
        dataclasses.replace(plain, source=dataclasses.replace(plain.source, row={"tests": ["x" * 5000]})),
        dataclasses.replace(plain, source=dataclasses.replace(plain.source, row={"tests": [[]] * 5000})),
        dataclasses.replace(plain, reply={"reward": 1.0, "test_output": "x" * 5000}),
    ]
    assert all(size(one) >= size(plain) + 4900 for one in longer)
    assert weight_of({"a": [1, {"b": "xyz"}]}) > weight_of({"a": [1]})


@pytest.mark.parametrize(
    ("row", "body", "label"),
    [
        ({"task_id": "row/1"}, {"task_id": "body/1"}, "row/1"),
        ({}, {"instance_id": "org__repo-1"}, "org__repo-1"),
        ({"id": 7}, {}, "7"),
        ({"id": True, "name": ""}, {"responses_create_params": {"input": "Double it.\nSecond"}}, "Double it."),
        ({}, {"responses_create_params": {"input": [{"content": "Last words"}]}}, "Last words"),
        ({}, {"responses_create_params": {"input": [{"content": [1]}]}}, "unnamed task"),
        ({"task_id": "x" * 5000}, {}, "x" * 120),
    ],
)
def test_a_task_is_called_what_people_call_it(row: dict[str, object], body: dict[str, object], label: str) -> None:
    assert label_of(row, body) == label


def test_the_feed_is_bounded_and_latest_first() -> None:
    feed = Feed(Clock())
    for number in range(2 * MAX_EVENTS):
        feed.note("crash", cause="unexplained", why=f"{number} " + "x" * 9999, attempt=1)
    feed.note("retry", attempt=2)
    latest = feed.latest(3)
    assert [event.kind for event in latest] == ["retry", "crash", "crash"]
    assert [event.number for event in latest] == [2 * MAX_EVENTS + 1, 2 * MAX_EVENTS, 2 * MAX_EVENTS - 1]
    assert len(latest[1].why) == MAX_CHARS
    assert len(feed.latest(10**6)) == MAX_EVENTS
    assert feed.counts == {"crash": 2 * MAX_EVENTS, "retry": 1}


def test_a_picture_is_made_once_for_all_who_look() -> None:
    clock, numbers = Clock(), iter(range(100))
    pictures = Pictures(lambda: {"number": next(numbers)}, clock)
    assert {pictures.now() for _ in range(1000)} == {b'{"number":0}'}
    clock.now += EVERY_S
    assert {pictures.now() for _ in range(1000)} == {b'{"number":1}'}
    assert pictures.made == 2
