"""The dashboard from the journal: what a restart leaves, searches, charts, a task's page, two windows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.journal.rows import task_digest
from sandbox_gym.server.dashboard.verdicts import MAX_FOUND
from tests.journal.filling import FLAKY, HACKED, RUN, fill, label_of, row_of
from tests.server.dashboards import HOSTILE, Opening, get, verify

COUNT = 1200
EARLIER = {"headers": {"X-Sandbox-Gym-Tenant": "trainer", "X-Sandbox-Gym-Run": "r1", "X-Sandbox-Gym-Step": "7"}}


def until(client: TestClient, path: str, seen: Any) -> Any:
    """The document once it is as wanted: the journal is written, and read after a start, in the background."""
    for _ in range(200):
        document = get(client, path)
        if seen(document):
            return document
        time.sleep(0.05)
    raise AssertionError(document)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "journal.sqlite"
    fill(str(path), COUNT, until=time.time() - 30, days=0.2)
    return path


def test_after_a_restart_everything_is_there(opening: Opening, tmp_path: Path) -> None:
    journal = tmp_path / "journal.sqlite"
    first = opening(journal=journal)
    verdict_id = verify(first, 1, 2, **EARLIER)
    masked = verify(first, 1, 13)
    until(first, "verdicts", lambda found: len(found["verdicts"]) == 2)
    first.__exit__(None, None, None)

    again = opening(journal=journal)
    picture = until(again, "live", lambda picture: picture["radar"]["hours"])
    assert [one["id"] for one in picture["verdicts"]["latest"]] == [masked, verdict_id]
    assert picture["verdicts"]["total"] == 0  # since the start, which was just now
    assert {share["reason"]: share["recent"] for share in picture["verdicts"]["mix"]}["passed"] == 1
    assert (
        sum(map(sum, picture["verdicts"]["rates"])) + sum(share["recent"] for share in picture["verdicts"]["mix"]) >= 2
    )
    assert sum(hour["verifies"] for hour in picture["radar"]["hours"]) == 2
    listed = picture["verdicts"]["latest"][1]
    assert (listed["label"], listed["tenant"], listed["kind"], listed["passed"], listed["tests"]) == (
        "doubling/1", "trainer", "passed", 2, 2,
    )  # fmt: skip
    page = get(again, f"verdicts/{verdict_id}")
    assert (page["where"], page["label"], page["tenant"]) == ("journal", "doubling/1", "trainer")
    assert page["has_task"] is True
    verify(again, 1, 2)
    until(again, "live", lambda picture: picture["verdicts"]["total"] == 1)
    assert 'sandbox_gym_verifies_total{tenant="trainer"}' not in again.get("/metrics").text  # of this process alone


def test_a_search_finds_by_task_tenant_text_status_sign_and_step(opening: Opening, filled: Path) -> None:
    client = opening(journal=filled)
    for query, fits in {
        f"text={label_of(HACKED)}": lambda one: one["label"] == label_of(HACKED),
        "tenant=eval": lambda one: one["tenant"] == "eval",
        "outcome=no_verdict": lambda one: one["kind"] == "no_verdict",
        "outcome=tamper": lambda one: one["tamper"] == 1,
        "sign=pytest_patched": lambda one: one["tamper"] == 1,
        "reason=wrong_answer": lambda one: one["kind"] == "failed",
        f"task={task_digest(row_of(FLAKY))}": lambda one: one["label"] == label_of(FLAKY),
        f"run={RUN}&step_from=500&step_to=520": lambda one: one["tenant"] == "trainer",
    }.items():
        found = get(client, f"verdicts?{query}")
        assert found["where"] == "journal"
        assert found["verdicts"], query
        assert all(map(fits, found["verdicts"])), query
    first = get(client, "verdicts")
    second = get(client, f"verdicts?before={first['next']}")
    ids = [one["id"] for one in first["verdicts"] + second["verdicts"]]
    assert len(set(ids)) == len(ids) == 2 * MAX_FOUND
    for wrong in ("since=x", "since=nan", "outcome=x", "before=1", "step_from=-1", f"text={'x' * 201}", "text=%00"):
        assert client.get(f"/dashboard/api/verdicts?{wrong}").status_code == 422, wrong


def test_rewards_are_drawn_over_time_and_steps(opening: Opening, filled: Path) -> None:
    client = opening(journal=filled)
    seen = get(client, "history")
    assert seen["sums"]["verifies"] == sum(one["sums"]["verifies"] for one in seen["bins"]) == COUNT
    assert len(seen["bins"]) <= 100
    assert [one["at"] for one in seen["bins"]] == sorted(one["at"] for one in seen["bins"])
    assert all((one["at"] - seen["start"]) % seen["width"] == 0 for one in seen["bins"])
    assert seen["sums"]["passed"] + seen["sums"]["failed"] + seen["sums"]["no_verdict"] == COUNT
    assert len(seen["tasks"]) == COUNT // 40
    steps = get(client, f"history?run={RUN}&axis=step")
    assert (steps["width"], steps["bins"][0]["at"], steps["bins"][-1]["at"]) == (50, 0, 1950)
    rates = [one["sums"]["pass_rate"] for one in steps["bins"]]
    assert sum(rates[-10:]) > sum(rates[:10])
    nothing = get(client, "history?tenant=nobody")
    assert (nothing["bins"], nothing["sums"]["verifies"], nothing["sums"]["reward"]) == ([], 0, None)


def test_a_tasks_page_has_its_flaky_and_hacked_tests_and_its_answers(opening: Opening, filled: Path) -> None:
    client = opening(journal=filled)
    flaky, hacked = (get(client, f"tasks/{task_digest(row_of(number))}") for number in (FLAKY, HACKED))
    assert flaky["label"] == label_of(FLAKY)
    assert [test["flaky"] > 0 for test in flaky["tests"]] == [False, True]
    assert [test["hacked"] > 0 for test in hacked["tests"]] == [True, True]
    assert hacked["sums"]["signed"] > 0
    assert sum(answer["times"] for answer in hacked["answers"]) == hacked["looked_at"]
    assert [answer["signs"] for answer in hacked["answers"] if answer["signs"]] == [["pytest_patched"]]
    for digest in ("0" * 64, "0", "%00"):
        assert client.get(f"/dashboard/api/tasks/{digest}").status_code == 404


def test_two_windows_say_which_tasks_moved(opening: Opening, filled: Path) -> None:
    client = opening(journal=filled)
    steps = "a_step_from=0&a_step_to=500&b_step_from=1500&b_step_to=2000"
    found = get(client, f"compare?run={RUN}&{steps}")
    assert found["b"]["pass_rate"] > found["a"]["pass_rate"]
    assert found["likely"] > 3
    assert abs(found["tasks"][0]["likely"]) == max(abs(task["likely"]) for task in found["tasks"])
    assert not found["cut"]
    middle = time.time() - 0.1 * 86_400
    times = get(client, f"compare?a_until={middle}&b_since={middle}")
    assert times["a"]["verifies"] + times["b"]["verifies"] == COUNT
    empty = get(client, "compare?tenant=nobody")
    assert (empty["a"]["verifies"], empty["likely"], empty["tasks"]) == (0, 0, [])


def test_hostile_names_are_inert_everywhere(opening: Opening, tmp_path: Path) -> None:
    client = opening(journal=tmp_path / "journal.sqlite")
    verify(client, 1, name=HOSTILE, headers={"X-Sandbox-Gym-Tenant": "<b>"})
    found = until(client, "verdicts", lambda found: found["verdicts"])
    inert = "<img src=x onerror=alert(1)>⟨ESC⟩[31m⟨U+202E⟩"
    [one] = found["verdicts"]
    assert one["label"] == inert
    assert get(client, f"tasks/{one['task']}")["label"] == inert
    assert get(client, "history")["tasks"][0]["label"] == inert
    assert get(client, "verdicts?text=%3Cimg")["verdicts"] == [one]


def test_without_a_journal_memory_is_searched_and_the_rest_says_why(opening: Opening) -> None:
    client = opening()
    verify(client, 1, headers={"X-Sandbox-Gym-Tenant": "a"})
    wrong = verify(client, 13, name="other")
    assert [one["id"] for one in get(client, "verdicts?text=OTHER wrong")["verdicts"]] == [wrong] or [
        one["id"] for one in get(client, "verdicts?text=OTHER")["verdicts"]
    ] == [wrong]
    assert len(get(client, "verdicts?tenant=a")["verdicts"]) == 1
    assert get(client, "verdicts?until=5")["verdicts"] == []
    assert get(client, "live")["journal"] is False
    answer = client.get("/dashboard/api/history")
    assert (answer.status_code, "journal_url" in answer.json()["detail"]) == (404, True)


def test_pages_are_for_those_who_are_let_in(opening: Opening) -> None:
    client = opening(token="t" * 20)
    for path in ("history", "compare", "tasks/" + "0" * 64):
        assert client.get(f"/dashboard/{path}").headers["location"] == "/dashboard/login"
        assert client.get(f"/dashboard/api/{path}").status_code == 401
