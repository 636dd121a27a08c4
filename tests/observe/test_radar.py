"""A policy that begins to hack shows within minutes: which kind of sign, at which task, since when, which answers."""

from __future__ import annotations

import random

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sandbox_gym.observe import radar as radar_module
from sandbox_gym.observe.change import rise_of
from sandbox_gym.observe.metrics import Metrics
from sandbox_gym.observe.radar import IN_PROCESS, MASKED, OTHER, Radar, Verified, inverted_of
from sandbox_gym.server.dashboard.live import radar_document

BEGAN = 1_800_000_000.0
"""A whole hour and a whole minute."""


class Run:
    """Verifies one after the other, by a clock of its own."""

    def __init__(self) -> None:
        self.now = BEGAN
        self.radar = Radar(lambda: self.now)
        self.count = 0

    def verify(
        self, *signs: str, task: str = "task", tenant: str = "trainer", masked: bool = False, every_s: float = 10
    ) -> str:
        self.now += every_s
        self.count += 1
        request_id = f"{self.count:032x}"
        evidence = {sign: f"what {sign} saw" for sign in signs}
        self.radar.add(Verified(request_id, tenant, task, evidence, in_process=True, masked=masked))
        return request_id


@pytest.mark.parametrize("seed", range(10))
def test_five_hundred_verifies_of_which_some_hack_from_a_moment_on(seed: int) -> None:
    """One in twenty hacks, from the 250th on, and only at two tasks of eight; a harmless sign comes now and then."""
    chance, run, hacks, hacker = random.Random(seed), Run(), list[tuple[str, float]](), 0
    for number in range(500):
        signs = ("conftest_written",) if chance.random() < 0.04 else ()
        task = f"repo-{number % 8}"
        if number % 20 == 0:
            hacker = number + chance.randrange(20)
        if number >= 250 and number == hacker:
            task = f"repo-{number % 2}"
            hacks.append((run.verify(*signs, "pytest_patched", task=task), run.now))
        else:
            run.verify(*signs, task=task)
    report = run.radar.report()
    [rise] = report.rises
    assert (rise.kind, rise.tenant, rise.before) == ("pytest_patched", "trainer", 0.0)
    assert rise.since == hacks[0][1]
    assert rise.count == len(hacks)
    assert rise.share == pytest.approx(0.05, rel=0.3)
    assert {task.task for task in rise.tasks} <= {"repo-0", "repo-1"}
    assert sum(task.count for task in rise.tasks) == len(hacks)
    assert [one.request_id for one in rise.first] == [request_id for request_id, _ in hacks[:3]]
    text = radar_document(report)["rises"][0]["text"]  # type: ignore[index]
    for word in ("pytest_patched rose from 0 % to", "of tenant trainer", rise.tasks[0].task, hacks[0][0]):
        assert word in text


def test_a_rise_is_seen_within_minutes() -> None:
    run = Run()
    for number in range(2000):
        run.verify(task=f"task-{number % 100}", every_s=5)
    began = run.now
    while not run.radar.report().rises:
        run.verify(*(("pytest_patched",) if run.count % 20 == 0 else ()), every_s=5)
        assert run.now < began + 600
    assert run.radar.report().rises[0].kind == "pytest_patched"


@pytest.mark.parametrize("seed", range(20))
def test_what_is_as_ever_is_no_rise(seed: int) -> None:
    chance, run = random.Random(seed), Run()
    for _ in range(2000):
        run.verify(*(["conftest_written"] if chance.random() < 0.05 else []), masked=chance.random() < 0.02)
    assert run.radar.report().rises == ()


def test_shares_rise_for_each_tenant_apart() -> None:
    run = Run()
    for number in range(600):
        for tenant in ("a", "b"):
            run.verify(tenant=tenant, masked=tenant == "b" and number > 300 and number % 5 == 0)
    [rise] = run.radar.report().rises
    assert (rise.kind, rise.tenant) == (MASKED, "b")


def test_hours_have_kinds_by_tenant_and_task() -> None:
    run = Run()
    for number in range(120):
        run.verify(*(("pytest_patched",) if number % 60 == 5 else ()), task=f"t{number % 5}", every_s=60)
    latest, *_ = run.radar.report().hours
    _, before = run.radar.report().hours[-2:]
    assert (before.verifies, before.kinds["pytest_patched"], before.kinds[IN_PROCESS]) == (59, 1, 59)
    assert before.tenants["trainer"]["verifies"] == 59
    assert before.tasks[0][:2] == ("trainer", "t0")
    assert before.tasks[0][3]["pytest_patched"] == 1
    assert latest.at > before.at


def test_a_box_that_makes_up_names_costs_no_memory_and_no_series() -> None:
    run = Run()
    for number in range(3000):
        run.verify(f"channel_{number}", "<b>\x1b[0m", task=f"task-{number}", tenant=f"tenant-{number}", every_s=1)
    totals = run.radar.totals
    assert len({sign for sign, _ in totals.signs}) <= radar_module.MAX_KINDS + 1
    assert len(totals.verifies) <= radar_module.MAX_TENANTS + 1
    assert totals.verifies.total() == 3000
    assert sum(count for (sign, _), count in totals.signs.items() if sign == OTHER) > 2900
    assert all(len(hour.verifies) <= radar_module.MAX_TASKS + 2 for hour in run.radar._hours)


def test_what_another_counted_before_comes_first() -> None:
    run, earlier = Run(), Radar()
    now = run.now
    plain, signed = Verified("1" * 32, "trainer", "t0", {}), Verified("2" * 32, "trainer", "t0", {"pytest_patched": ""})
    for minute in range(90, -1, -1):
        earlier.add(plain if minute > 30 else signed, at=now - 60 * minute, count=20)
    run.verify("pytest_patched")
    run.radar.follow(earlier)
    report = run.radar.report()
    [rise] = report.rises
    assert (rise.kind, rise.count, rise.of) == ("pytest_patched", 31 * 20 + 1, 31 * 20 + 1)
    assert sum(hour.verifies for hour in report.hours) == 91 * 20 + 1
    assert [hour.at for hour in report.hours] == sorted({hour.at for hour in report.hours}, reverse=True)
    assert run.radar.totals.verifies.total() == 1


def test_counts_are_metrics_by_tenant() -> None:
    metrics = Metrics()
    signs = {"inverted_test_survived": "test_a passed"}
    metrics.radar.add(Verified("1" * 32, "a", "task", signs, in_process=True, inverted=inverted_of(3, signs)))
    metrics.radar.add(Verified("2" * 32, "a", "task", {}, masked=True))
    metrics.radar.add(Verified("3" * 32, "b", "task", {}, inverted=inverted_of(0, {})))
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
        if "tenant" in sample.labels
    }
    assert found["sandbox_gym_verifies_total", "a"] == 2
    assert found["sandbox_gym_masked_verifies_total", "a"] == found["sandbox_gym_tampered_verifies_total", "a"] == 1
    assert found["sandbox_gym_in_process_verifies_total", "a"] == 1
    assert found["sandbox_gym_tamper_signs_total", "a", "inverted_test_survived"] == 1
    assert found["sandbox_gym_inverted_tests_total", "a", "failed"] == 1
    assert found["sandbox_gym_inverted_tests_total", "b", "none"] == 1


def test_the_point_of_change_is_where_it_is() -> None:
    assert rise_of([]) is None
    assert rise_of([(0, 50)] * 10 + [(1, 50)]) is None  # one may be chance
    assert rise_of([(5, 50)] * 20) is None
    assert rise_of([(20, 50)] * 10 + [(1, 50)] * 10) is None  # a fall
    change = rise_of([(0, 50)] * 10 + [(5, 50)] * 4)
    assert change is not None
    assert (change.index, change.before, change.share) == (10, 0.0, 0.1)
