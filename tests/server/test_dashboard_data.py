"""What the dashboard shows: the live picture, verdicts, their runs, and all of it bounded."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.observe.radar import Verified
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.dashboard.live import MAX_EVENTS, MAX_LISTED, MAX_TENANTS, queue_document
from sandbox_gym.server.dashboard.pages import PAGE
from sandbox_gym.server.dashboard.recent import Recent
from sandbox_gym.server.dashboard.verdicts import MAX_FOUND, Verdicts
from sandbox_gym.server.registry import SERVERS
from tests.server.dashboards import (
    ANSWER,
    HOSTILE,
    Opening,
    dashboard_of,
    doubled,
    feed_of,
    get,
    recent_of,
    rejudge,
    verify,
)
from tests.server.fakes import EchoResources, fake_engine, verify_body

# -- the live picture


def test_the_picture_says_what_the_server_does(opening: Opening) -> None:
    client = opening()
    verify(client, 1, 2, headers={"X-Sandbox-Gym-Tenant": "trainer"})
    verify(client, 1, 13)
    picture = get(client, "live")
    assert picture["server"]["kind"] == "coding"
    assert picture["server"]["provider"] == "fake"
    pool = picture["pool"]
    assert (pool["slots"], pool["leases"], pool["leased"], pool["waiting"]) == (4, 2, 0, 0)
    assert pool["alive"] == pool["warm"] == 1
    assert picture["queue"] == {"waiting": 0, "tenants": [], "others": {"tenants": 0, "waiting": 0}}
    verdicts = picture["verdicts"]
    mix = {(share["kind"], share["reason"]): (share["recent"], share["total"]) for share in verdicts["mix"]}
    assert mix == {("passed", "passed"): (1, 1), ("failed", "output_limit"): (1, 1)} or mix == {
        ("passed", "passed"): (1, 1),
        ("failed", "wrong_answer"): (1, 1),
    }
    assert [one["kind"] for one in verdicts["latest"]] == ["failed", "passed"]
    latest = verdicts["latest"][1]
    assert (latest["label"], latest["tenant"], latest["reward"]) == ("doubling/1", "trainer", 1.0)
    assert (latest["passed"], latest["tests"], latest["attempts"]) == (2, 2, 1)
    assert {phase["name"] for phase in picture["phases"]} >= {"queue", "acquire", "run", "judge", "total"}
    assert picture["feed"] == {"counts": {}, "events": []}


def test_lost_boxes_are_told_with_their_retries_and_end_as_no_verdict() -> None:
    provider = FakeProvider(lambda run: Behaviour(lose_box=True))
    app = build_app(EchoResources(), lambda: fake_engine(provider), Settings.from_flat({}))
    with TestClient(app, base_url="http://localhost") as client:
        assert client.post("/verify", json=verify_body("x")).status_code == 503
        picture = get(client, "live")
        assert picture["feed"]["counts"] == {"crash": 2, "retry": 1}
        assert [event["kind"] for event in picture["feed"]["events"]] == ["crash", "retry", "crash"]
        assert picture["feed"]["events"][0]["cause"] == "unexplained"
        (one,) = picture["verdicts"]["latest"]
        assert (one["kind"], one["reward"]) == ("no_verdict", None)
        page = get(client, f"verdicts/{one['id']}")
        assert page["can_rejudge"] is False
        assert "no verdict" in page["missing"][0]
        assert page["facts"]["reward"] is None


def test_every_list_of_the_picture_is_bounded(opening: Opening) -> None:
    client = opening()
    engine_feed = feed_of(client)
    for number in range(MAX_LISTED + 10):
        verify(client, 1, name="n" * 5000 + str(number), headers={"X-Sandbox-Gym-Tenant": "t" * 200})
        engine_feed.note("crash", cause="c" * 9999, why=HOSTILE * 999)
    picture = get(client, "live")
    assert len(picture["verdicts"]["latest"]) == MAX_LISTED
    assert len(picture["feed"]["events"]) == MAX_EVENTS
    assert len(json.dumps(picture)) < 64_000
    found = get(client, "verdicts")
    assert len(found["verdicts"]) == min(MAX_FOUND, MAX_LISTED + 10)


def test_queues_of_many_tenants_are_summed_up() -> None:
    shown: Any = queue_document({f"tenant {number}{HOSTILE}": number for number in range(100)})
    assert shown["waiting"] == sum(range(100))
    assert len(shown["tenants"]) == MAX_TENANTS
    assert shown["tenants"][0] == {"tenant": "tenant 99<img src=x onerror=alert(1)>⟨ESC⟩[31m⟨U+202E⟩", "waiting": 99}
    assert shown["others"] == {"tenants": 88, "waiting": sum(range(88))}


def test_verdicts_can_be_filtered(opening: Opening) -> None:
    client = opening()
    verify(client, 1)
    wrong = verify(client, 13)
    (found,) = get(client, "verdicts?outcome=failed")["verdicts"]
    assert found["id"] == wrong
    assert get(client, f"verdicts?outcome=failed&reason={found['reason']}")["verdicts"] == [found]
    assert get(client, "verdicts?outcome=no_verdict")["verdicts"] == []
    assert client.get("/dashboard/api/verdicts?outcome=everything").status_code == 422


# -- a verdict's page


def test_a_verdicts_page_has_task_answer_tests_outputs_and_timings(opening: Opening) -> None:
    client = opening()
    page = get(client, f"verdicts/{verify(client, 1, 2)}")
    assert (page["where"], page["label"], page["missing"], page["can_rejudge"]) == ("memory", "doubling/1", [], True)
    facts = page["facts"]
    assert (facts["reward"], facts["isolation"], facts["integrity"], facts["attempts"]) == (1.0, "none", "isolated", 1)
    assert facts["limits"]["memory_bytes"] == 1024 << 20
    assert set(page["timings_s"]) == {"queue", "acquire", "run", "judge"}
    assert page["answer"]["text"] == ANSWER
    assert page["code"]["text"] == "print(2 * int(input()))"
    assert json.loads(page["task"]["text"])["unit_tests"]["outputs"] == ["2", "4"]
    assert [test["status"] for test in page["tests"]["rows"]] == ["passed", "passed"]
    run = get(client, f"verdicts/{page['id']}/runs/0/1")
    assert (run["given"]["text"], run["expected"]["text"]) == ("2", "4")
    (part,) = run["parts"]
    assert (part["status"], part["exit_code"], part["streams"]["stdout"]["text"]) == ("ok", 0, "4\n")


def test_hostile_texts_are_inert_and_cut_with_a_count(opening: Opening) -> None:
    client = opening()
    page = get(client, f"verdicts/{verify(client, 13, name=HOSTILE)}")
    assert page["label"] == "<img src=x onerror=alert(1)>⟨ESC⟩[31m⟨U+202E⟩"
    (part,) = get(client, f"verdicts/{page['id']}/runs/0/0")["parts"]
    stdout = part["streams"]["stdout"]
    assert stdout["text"].startswith("<img src=x onerror=alert(1)>⟨ESC⟩[31m⟨U+202E⟩\\xff")
    assert stdout["total"] > 100_000 > 32_000 >= stdout["total"] - stdout["cut"]
    assert f"{stdout['cut']:,} bytes not shown" in stdout["text"]
    assert part["streams"]["stderr"]["text"] == "⟨ESC⟩]0;gone⟨BEL⟩"
    answer = client.get(f"/dashboard/api/verdicts/{page['id']}/runs/0/0")
    assert answer.headers["content-type"] == "application/json"
    assert b"\x1b" not in answer.content


def test_tests_come_in_pages(opening: Opening) -> None:
    client = opening()
    verdict_id = verify(client, *range(20, 20 + PAGE + 5))
    first, second = get(client, f"verdicts/{verdict_id}"), get(client, f"verdicts/{verdict_id}?start={PAGE}")
    assert (first["tests"]["total"], len(first["tests"]["rows"])) == (PAGE + 5, PAGE)
    assert [test["index"] for test in second["tests"]["rows"]] == list(range(PAGE, PAGE + 5))
    for start in ("-1", "x", "9" * 99, "٣"):
        assert client.get(f"/dashboard/api/verdicts/{verdict_id}", params={"start": start}).status_code == 200


def test_what_is_not_there_is_404(opening: Opening) -> None:
    client = opening()
    verdict_id = verify(client, 1)
    paths = ["0" * 32, "x", HOSTILE.encode().hex(), f"{verdict_id}/runs/0/9", f"{verdict_id}/runs/7/0"]
    paths += [
        f"{verdict_id}/runs/0/x",
        f"{verdict_id}/runs/0/build:0",
        f"{verdict_id}/runs/0/٣",
        f"{'0' * 32}/runs/0/0",
    ]
    for path in paths:
        answer = client.get(f"/dashboard/api/verdicts/{path}")
        gone = answer.status_code == 404 or answer.json()["parts"] == []
        assert gone, path
    assert rejudge(client, "0" * 32).status_code == 404


def test_a_verdict_judged_again_agrees(opening: Opening) -> None:
    client = opening()
    for numbers in ((1, 2), (1, 13)):
        found = rejudge(client, verify(client, *numbers)).json()
        assert (found["agreement"], found["what"]) == ("agrees", "")


def test_a_verdict_that_is_another_one_now_says_where(opening: Opening) -> None:
    client = opening()
    verdict_id = verify(client, 1)
    kept = dashboard_of(client).verdicts._recent.find(verdict_id)
    kept.source.row["unit_tests"]["outputs"][0] = "3"  # as if the verifier had changed its mind
    found = rejudge(client, verdict_id).json()
    assert found["agreement"] == "disagrees"
    assert "reward" in found["what"]


def test_from_the_journal_when_memory_has_let_go(opening: Opening, tmp_path: Path) -> None:
    client = opening(journal=tmp_path / "journal.sqlite", dashboard_memory_mb=0)
    verdict_id = verify(client, 1, 2)
    for _ in range(100):
        page = get(client, f"verdicts/{verdict_id}")
        if page["where"] == "journal":
            break
        time.sleep(0.05)
    assert page["where"] == "journal"
    assert page["answer"]["text"] == ANSWER
    assert get(client, f"verdicts/{verdict_id}/runs/0/0")["parts"][0]["streams"]["stdout"]["text"] == "2\n"
    found = rejudge(client, verdict_id).json()
    assert (found["agreement"], found["planned_otherwise"]) == ("agrees", False)


def test_without_memory_or_journal_the_page_says_what_is_gone(opening: Opening) -> None:
    client = opening(dashboard_memory_mb=0)
    page = get(client, f"verdicts/{verify(client, 1)}")
    assert (page["answer"], page["task"], page["can_rejudge"]) == (None, None, False)
    assert "only its summary" in page["missing"][0]
    assert rejudge(client, page["id"]).json()["agreement"] == "no_state"


@pytest.mark.anyio
async def test_one_verdict_is_judged_again_at_a_time(opening: Opening) -> None:
    client = opening()
    verdict_id = verify(client, 1)
    verdicts = Verdicts(Recent(0), "coding")
    async with verdicts._judges:
        verdicts._recent = recent_of(client)
        with pytest.raises(Exception, match="another verdict"):
            await verdicts.rejudge(verdict_id)
    found = await verdicts.rejudge(verdict_id)
    assert found is not None
    assert found["agreement"] == "agrees"


# -- every server


@pytest.mark.parametrize("kind", sorted(SERVERS))
def test_every_server_has_one(kind: str) -> None:
    settings = Settings.from_flat({})
    app = build_app(SERVERS[kind](settings, kind), lambda: fake_engine(FakeProvider(doubled)), settings)
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/dashboard").status_code == 200
        assert get(client, "live")["server"]["kind"] == kind


@pytest.mark.parametrize(("answer", "kind"), [(r"\boxed{4}", "passed"), (r"\boxed{5}", "failed")])
def test_an_answer_that_rules_decide_has_a_page_without_runs(answer: str, kind: str) -> None:
    settings = Settings.from_flat({})
    app = build_app(SERVERS["math"](settings, "math"), lambda: fake_engine(FakeProvider(doubled)), settings)
    body = verify_body(answer, question="2 + 2?", expected_answer="4", uuid="m1")
    with TestClient(app, base_url="http://localhost") as client:
        assert client.post("/verify", json=body).status_code == 200
        (one,) = get(client, "live")["verdicts"]["latest"]
        assert one["kind"] == kind
        page = get(client, f"verdicts/{one['id']}")
        assert page["missing"] == ["Nothing had to be run for this verdict."]
        assert json.loads(page["task"]["text"])["expected_answer"] == "4"
        assert page["facts"]["decided_by"]
        assert rejudge(client, one["id"]).json()["agreement"] == "agrees"


# -- the radar


def test_the_radar_says_what_rose_and_names_answers(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    client = opening()
    radar = feed_of(client, "radar")
    now = time.time() - 7200
    monkeypatch.setattr(radar, "_clock", lambda: now)
    first = ""
    for number in range(500):
        now += 12
        signs = {"pytest_patched": HOSTILE} if number > 400 and number % 20 == 0 else {}
        first = first or (f"{number:032x}" if signs else "")
        radar.add(Verified(f"{number:032x}", "trainer", f"task {HOSTILE} {number % 4}", signs))
    shown = get(client, "live")["radar"]
    [rise] = shown["rises"]
    assert (rise["kind"], rise["tenant"], rise["before"], rise["count"]) == ("pytest_patched", "trainer", 0.0, 4)
    assert rise["first"][0]["id"] == first
    assert first in rise["text"]
    assert {task["count"] for task in rise["tasks"]} == {4}
    assert sum(hour["verifies"] for hour in shown["hours"]) == 500
    assert "\x1b" not in json.dumps(shown, ensure_ascii=False)
    assert "\u202e" not in json.dumps(shown, ensure_ascii=False)


def test_verifies_are_on_the_radar_by_tenant_and_task(opening: Opening) -> None:
    client = opening()
    verify(client, 1, 2, headers={"X-Sandbox-Gym-Tenant": "trainer"})
    verify(client, 1, 2, name="doubling/2")
    [hour, *_] = get(client, "live")["radar"]["hours"]
    assert (hour["verifies"], hour["kinds"]) == (2, {})
    assert {one["tenant"]: one["verifies"] for one in hour["tenants"]} == {"trainer": 1, "": 1}
    assert 'sandbox_gym_verifies_total{tenant="trainer"} 1.0' in client.get("/metrics").text


def test_verdicts_are_found_by_a_sign(opening: Opening) -> None:
    client = opening()
    plain, signed = verify(client, 1), verify(client, 2)
    kept = recent_of(client)._kept
    kept[signed] = replace(kept[signed], verdict=replace(kept[signed].verdict, tamper=("pytest_patched",)))
    assert [one["id"] for one in get(client, "verdicts?sign=pytest_patched")["verdicts"]] == [signed]
    assert {one["id"] for one in get(client, "verdicts")["verdicts"]} == {plain, signed}
