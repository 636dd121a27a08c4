"""The dashboard over HTTP: who may look, what pages may do, what is shown, and that all of it is bounded."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient
from starlette.types import Message

from sandbox_gym.config import Settings
from sandbox_gym.contract import Run
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding import CodingResources
from sandbox_gym.server.dashboard import events
from sandbox_gym.server.dashboard.door import ACTION_HEADER, LIFE_S, Door
from sandbox_gym.server.dashboard.events import MAX_CLIENTS, Pictures, Stream
from sandbox_gym.server.dashboard.live import MAX_EVENTS, MAX_LISTED, MAX_TENANTS, queue_document
from sandbox_gym.server.dashboard.pages import PAGE
from sandbox_gym.server.dashboard.recent import Recent
from sandbox_gym.server.dashboard.verdicts import MAX_FOUND, Verdicts
from sandbox_gym.server.dashboard.wiring import door_of
from sandbox_gym.server.servers import SERVERS
from tests.load.servers import ServerProcess
from tests.server.fakes import EchoResources, exits_as_told, fake_engine, verify_body

TOKEN = "an operator's token, é"
ANSWER = "```python\nprint(2 * int(input()))\n```"
HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e"
Opening = Callable[..., TestClient]


def doubled(run: Run) -> Behaviour:
    """What the answer of these tests prints, and what a hostile one does."""
    number = int(run.stdin or b"0")
    if number == 13:
        return Behaviour(stdout=HOSTILE.encode() + b"\xff" + b"x" * 100_000, stderr=b"\x1b]0;gone\x07")
    return Behaviour(stdout=b"%d\n" % (2 * number))


@pytest.fixture
def opening() -> Iterator[Opening]:
    """Makes clients of a coding server over fake boxes."""
    opened: list[TestClient] = []

    def make(journal: Path | None = None, **fields: object) -> TestClient:
        settings = Settings.model_validate({"early_stop": False, **fields})
        provider = FakeProvider(doubled)
        url = None if journal is None else str(journal)
        app = build_app(CodingResources(settings), lambda: fake_engine(provider), settings, journal_url=url)
        client = TestClient(app, follow_redirects=False)
        client.__enter__()
        opened.append(client)
        return client

    yield make
    for client in opened:
        client.__exit__(None, None, None)


def row(*numbers: int, name: str = "doubling/1", **more: object) -> dict[str, object]:
    outputs = [str(2 * number) for number in numbers]
    return {"task_id": name, "unit_tests": {"inputs": [str(number) for number in numbers], "outputs": outputs}, **more}


def verify(client: TestClient, *numbers: int, headers: dict[str, str] | None = None, **more: Any) -> str:
    """The verdict's id."""
    answer = client.post("/verify", json=verify_body(ANSWER, verifier_metadata=row(*numbers, **more)), headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.headers["X-Sandbox-Gym-Verdict-Id"]


def get(client: TestClient, path: str) -> Any:
    answer = client.get(f"/dashboard/api/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def rejudge(client: TestClient, verdict_id: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return client.post(f"/dashboard/api/verdicts/{verdict_id}/rejudge", headers=headers or {ACTION_HEADER: "rejudge"})


# -- the door


def test_nothing_is_shown_without_the_token(opening: Opening) -> None:
    client = opening(token=TOKEN)
    page = client.get("/dashboard")
    assert (page.status_code, page.headers["location"]) == (303, "/dashboard/login")
    assert client.get("/dashboard/verdicts/" + "0" * 32).status_code == 303
    paths = ["live", "events", "verdicts", f"verdicts/{'0' * 32}", f"verdicts/{'0' * 32}/runs/0/0"]
    for path in paths:
        assert client.get(f"/dashboard/api/{path}").status_code == 401
        assert client.get(f"/dashboard/api/{path}", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.post(f"/dashboard/api/verdicts/{'0' * 32}/rejudge", headers={ACTION_HEADER: "1"}).status_code == 401


def test_a_bearer_token_shows_the_data(opening: Opening) -> None:
    client = opening(token="plain-token")
    for scheme in ("Bearer", "bearer"):
        assert client.get("/dashboard/api/live", headers={"Authorization": f"{scheme} plain-token"}).status_code == 200
    for wrong in ("Basic plain-token", "plain-token", "Bearer plain-token2", "Bearer ", "Bearer plain-toke"):
        assert client.get("/dashboard/api/live", headers={"Authorization": wrong}).status_code == 401


def test_the_form_gives_a_cookie_that_opens_the_dashboard_alone(opening: Opening) -> None:
    client = opening(token=TOKEN)
    assert "That is not the token" not in client.get("/dashboard/login").text
    wrong = client.post("/dashboard/login", data={"token": TOKEN + "x"})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    assert "That is not the token" in wrong.text
    right = client.post("/dashboard/login", data={"token": TOKEN})
    assert (right.status_code, right.headers["location"]) == (303, "/dashboard")
    cookie = right.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/dashboard", f"Max-Age={LIFE_S}"):
        assert part in cookie
    assert "Secure" not in cookie
    assert TOKEN not in cookie
    assert client.get("/dashboard").status_code == 200
    assert client.get("/dashboard/api/live").status_code == 200
    assert client.get("/dashboard/login").status_code == 303
    assert client.post("/verify", json={}).status_code == 401  # the cookie is no bearer token
    left = client.post("/dashboard/logout")
    assert left.status_code == 303
    assert client.get("/dashboard/api/live").status_code == 401


def test_over_https_the_cookie_is_secure(opening: Opening) -> None:
    client = opening(token=TOKEN)
    client.base_url = httpx.URL("https://testserver")
    assert "Secure" in client.post("/dashboard/login", data={"token": TOKEN}).headers["set-cookie"]


def test_a_cookie_ends_and_can_not_be_made_or_stretched(opening: Opening) -> None:
    clock = [1_000_000.0]
    door, other = Door("one", 1, clock=lambda: clock[0]), Door("two", 1, clock=lambda: clock[0])
    client = opening(token="one")
    client.post("/dashboard/login", data={"token": "one"})
    (name,) = [cookie for cookie in client.cookies if cookie.startswith("sandbox_gym_dashboard")]
    value = client.cookies[name]
    expires, nonce, mac = value.strip('"').split(".")
    forged = [
        f"{int(expires) + 1}.{nonce}.{mac}",
        f"{expires}.{nonce}.",
        f"{expires}.{nonce}.{'0' * 64}",
        "..",
        "",
        "x" * 5000,
        f"{expires}.{nonce}.é",
        f"٣.{nonce}.{mac}",
    ]
    for each in forged:
        client.cookies.clear()
        cookie = {b"Cookie": f"{name}={each}".encode()}
        assert client.get("/dashboard/api/live", headers=cookie).status_code == 401, each
    assert client.get("/dashboard/api/live", headers={"Cookie": f"{name}={value}"}).status_code == 200
    assert door._is_pass(value)
    assert not other._is_pass(value)
    clock[0] = int(expires) + 1.0
    assert not door._is_pass(value)


def test_the_dashboard_may_have_a_token_of_its_own(opening: Opening) -> None:
    client = opening(token="clients", dashboard_token="operators")
    assert client.get("/dashboard/api/live", headers={"Authorization": "Bearer clients"}).status_code == 401
    assert client.get("/dashboard/api/live", headers={"Authorization": "Bearer operators"}).status_code == 200
    assert client.get("/reverify_mode", headers={"Authorization": "Bearer operators"}).status_code == 401


def test_without_a_token_it_is_open_to_addresses_and_shut_to_names_of_sites(opening: Opening) -> None:
    client = opening()
    for host in ("127.0.0.1:8080", "localhost", "[::1]:8080", "coding:8080"):
        assert client.get("/dashboard/api/live", headers={"Host": host}).status_code == 200
    for host in ("rebound.example", "rebound.example:8080", "127.0.0.1.example"):
        for path in ("", "/api/live", "/login", "/api/events"):
            assert client.get(f"/dashboard{path}", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize(
    ("fields", "shut"),
    [
        ({"host": "0.0.0.0", "allow_unauthenticated": True}, True),
        ({"host": "0.0.0.0", "token": "t"}, False),
        ({"host": "0.0.0.0", "allow_unauthenticated": True, "dashboard_token": "d"}, False),
        ({"host": "127.0.0.1"}, False),
        ({"host": "::1"}, False),
    ],
)
def test_a_server_that_asks_nobody_shows_nobody(opening: Opening, fields: dict[str, object], shut: bool) -> None:
    assert bool(door_of(Settings.model_validate(fields)).closed) is shut
    client = opening(**fields)
    answer = client.get("/dashboard", headers={"Authorization": "Bearer "})
    assert (answer.status_code == 403) is shut
    if shut:
        assert "SANDBOX_GYM_DASHBOARD_TOKEN" in answer.json()["detail"]
        assert client.post("/dashboard/login", data={"token": ""}).status_code == 403


def test_it_can_be_left_out(opening: Opening) -> None:
    client = opening(dashboard=False)
    assert client.get("/dashboard").status_code == 404
    verify(client, 1)


def test_an_open_bind_still_needs_its_flag() -> None:
    settings = Settings.model_validate({"host": "0.0.0.0", "dashboard_token": "d"})
    with pytest.raises(ConfigurationError):
        build_app(EchoResources(), lambda: fake_engine(FakeProvider(exits_as_told)), settings)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {ACTION_HEADER: "1", "Origin": "http://evil.example"},
        {ACTION_HEADER: "1", "Origin": "null"},
        {ACTION_HEADER: "1", "Sec-Fetch-Site": "cross-site"},
        {ACTION_HEADER: "1", "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://testserver"},
    ],
)
def test_pages_of_other_sites_change_nothing(opening: Opening, headers: dict[str, str]) -> None:
    client = opening()
    verdict_id = verify(client, 1)
    assert rejudge(client, verdict_id, headers or {"X-Other": "1"}).status_code == 403
    own = {ACTION_HEADER: "1", "Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}
    assert rejudge(client, verdict_id, own).status_code == 200


def test_other_sites_do_not_log_anybody_in_or_out(opening: Opening) -> None:
    client = opening(token=TOKEN)
    foreign = {"Origin": "http://evil.example"}
    assert client.post("/dashboard/login", data={"token": TOKEN}, headers=foreign).status_code == 403
    assert client.post("/dashboard/logout", headers=foreign).status_code == 403


def test_a_forms_body_is_bounded(opening: Opening) -> None:
    client = opening(token=TOKEN)
    assert client.post("/dashboard/login", data={"token": "x" * 10_000}).status_code == 413
    assert client.post("/dashboard/login", content=b"&".join([b"a=1"] * 100)).status_code != 200


# -- what pages may do


@pytest.mark.parametrize(
    "path",
    ["/dashboard", "/dashboard/login", "/dashboard/static/dashboard.js", "/dashboard/api/live", "/dashboard/nothing"],
)
def test_every_answer_carries_the_strict_policy(opening: Opening, path: str) -> None:
    headers = opening(token=TOKEN).get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    for part in (
        "script-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
    ):
        assert part in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert ("no-store" in headers.get("cache-control", "")) is ("/static/" not in path)


@pytest.mark.parametrize("page", ["index.html", "verdict.html", "login.html"])
def test_pages_hold_no_inline_script_style_or_handler(page: str) -> None:
    text = (Path(events.__file__).parent / "static" / page).read_text("utf-8")
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)
    assert not re.search(r"(src|href)=\"(?!/dashboard|#)", text)


def test_scripts_parse_no_html_and_load_nothing_from_elsewhere() -> None:
    for path in (Path(events.__file__).parent / "static").glob("*.js"):
        text = path.read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            path
        )
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), path


@pytest.mark.parametrize("path", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", ""])
def test_only_static_files_are_served(opening: Opening, path: str) -> None:
    assert opening().get(f"/dashboard/static/{path}").status_code == 404


def test_the_nemo_gym_cookie_is_not_set_by_the_dashboard(opening: Opening) -> None:
    client = opening()
    assert "set-cookie" not in client.get("/dashboard").headers
    assert "set-cookie" in client.get("/").headers


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
    app = build_app(EchoResources(), lambda: fake_engine(provider), Settings.model_validate({}))
    with TestClient(app) as client:
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
    engine_feed = _feed_of(client)
    for number in range(MAX_LISTED + 10):
        verify(client, 1, name="n" * 5000 + str(number), headers={"X-Sandbox-Gym-Tenant": "t" * 200})
        engine_feed.note("crash", cause="c" * 9999, why=HOSTILE * 999)
    picture = get(client, "live")
    assert len(picture["verdicts"]["latest"]) == MAX_LISTED
    assert len(picture["feed"]["events"]) == MAX_EVENTS
    assert len(json.dumps(picture)) < 64_000
    found = get(client, "verdicts")
    assert len(found["verdicts"]) == min(MAX_FOUND, MAX_LISTED + 10)


def _feed_of(client: TestClient) -> Any:
    """The running engine's feed: what its own crashes go to."""
    return _dashboard_of(client).pictures._make.__self__._engine.metrics.feed


def _dashboard_of(client: TestClient) -> Any:
    application: Any = client.app
    stack = application.middleware_stack
    while not hasattr(stack, "_dashboard"):
        stack = stack.app
    return stack._dashboard


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
    kept = _dashboard_of(client).verdicts._recent.find(verdict_id)
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
    verdicts = Verdicts(Recent(0))
    async with verdicts._judges:
        verdicts._recent = _recent_of(client)
        with pytest.raises(Exception, match="another verdict"):
            await verdicts.rejudge(verdict_id)
    found = await verdicts.rejudge(verdict_id)
    assert found is not None
    assert found["agreement"] == "agrees"


def _recent_of(client: TestClient) -> Recent:
    recent: Recent = _dashboard_of(client).verdicts._recent
    return recent


# -- the stream


async def _never() -> Message:
    await anyio.sleep_forever()
    raise AssertionError


@pytest.mark.anyio
async def test_a_client_that_takes_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "SEND_S", 0.2)
    pictures = Pictures(lambda: {"n": 1})
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if len(sent) == 2:
            await anyio.sleep_forever()

    scope = {"type": "http", "method": "GET", "path": "/dashboard/api/events", "headers": []}
    with anyio.fail_after(10):
        await Stream(pictures)(scope, _never, send)
    assert pictures.clients == 0
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]


@pytest.mark.anyio
async def test_a_slow_client_gets_the_latest_picture_not_a_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "EVERY_S", 0.01)
    numbers = iter(range(10**9))
    pictures = Pictures(lambda: {"n": next(numbers)})
    bodies: list[bytes] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body" and message["body"]:
            bodies.append(message["body"])
            await anyio.sleep(0.2)
            for _ in range(50):  # others look on meanwhile
                pictures.now()
                await anyio.sleep(0)

    scope = {"type": "http", "method": "GET", "path": "/dashboard/api/events", "headers": []}
    with anyio.move_on_after(1.5):
        await Stream(pictures)(scope, _never, send)
    assert pictures.clients == 0
    assert 2 <= len(bodies) <= 8
    seen = [int(re.findall(rb'"n":(\d+)', body)[0]) for body in bodies]
    assert seen == sorted(set(seen))


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess("fake", tmp_path_factory.mktemp("dashboard"), settings={"SANDBOX_GYM_JOURNAL": "off"}) as server:
        yield server


def _pictures(answer: httpx.Response, most: int) -> Iterator[dict[str, Any]]:
    """The first `most` events of a stream."""
    for line in answer.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))
            most -= 1
        if not most:
            return


def test_the_stream_follows_at_its_own_pace_whatever_the_load(process: ServerProcess) -> None:
    with httpx.stream("GET", f"{process.url}/dashboard/api/events", timeout=30) as answer, httpx.Client() as client:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["content-security-policy"]
        pictures = _pictures(answer, 3)
        before = next(pictures)["verdicts"]["total"]
        began, posted = time.monotonic(), 0
        while time.monotonic() - began < 2:
            body = verify_body(ANSWER, verifier_metadata=row(1))
            posted += client.post(f"{process.url}/verify", json=body, timeout=30).status_code == 200
        after = [picture["verdicts"]["total"] for picture in pictures]
    assert posted > 5
    assert len(after) == 2  # of seconds, not of verdicts
    assert before <= after[0] <= after[1] <= before + posted
    assert after[1] > before


def test_only_so_many_look_on(process: ServerProcess) -> None:
    opened = []
    try:
        for _ in range(MAX_CLIENTS):
            client = httpx.Client(timeout=30)
            stream = client.stream("GET", f"{process.url}/dashboard/api/events")
            opened.append((client, stream))
            assert stream.__enter__().status_code == 200
        refused = httpx.get(f"{process.url}/dashboard/api/events", timeout=30)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        assert httpx.get(f"{process.url}/dashboard/api/live", timeout=30).status_code == 200
    finally:
        for client, stream in opened:
            stream.__exit__(None, None, None)
            client.close()
    for _ in range(100):  # those who leave make room
        with httpx.stream("GET", f"{process.url}/dashboard/api/events", timeout=30) as answer:
            if answer.status_code == 200:
                return
        time.sleep(0.1)
    raise AssertionError("nobody was let in again")


def test_a_server_stops_while_somebody_looks_on(tmp_path: Path) -> None:
    with ServerProcess("fake", tmp_path, settings={"SANDBOX_GYM_JOURNAL": "off"}) as server:
        with httpx.stream("GET", f"{server.url}/dashboard/api/events", timeout=30) as answer:
            pictures = _pictures(answer, -1)
            next(pictures)
            server.process.send_signal(signal.SIGTERM)
            assert all(picture["server"] for picture in pictures)  # to the end, which comes
        server.process.wait(30)
        assert "timeout graceful shutdown exceeded" not in server.log()
        assert "Traceback" not in server.log(), server.log()
        assert "without completing" not in server.log()


# -- every server


@pytest.mark.parametrize("kind", sorted(SERVERS))
def test_every_server_has_one(kind: str) -> None:
    settings = Settings.model_validate({})
    app = build_app(SERVERS[kind](settings, kind), lambda: fake_engine(FakeProvider(doubled)), settings)
    with TestClient(app) as client:
        assert client.get("/dashboard").status_code == 200
        assert get(client, "live")["server"]["kind"] == kind


@pytest.mark.parametrize(("answer", "kind"), [(r"\boxed{4}", "passed"), (r"\boxed{5}", "failed")])
def test_an_answer_that_rules_decide_has_a_page_without_runs(answer: str, kind: str) -> None:
    settings = Settings.model_validate({})
    app = build_app(SERVERS["math"](settings, "math"), lambda: fake_engine(FakeProvider(doubled)), settings)
    body = verify_body(answer, question="2 + 2?", expected_answer="4", uuid="m1")
    with TestClient(app) as client:
        assert client.post("/verify", json=body).status_code == 200
        (one,) = get(client, "live")["verdicts"]["latest"]
        assert one["kind"] == kind
        page = get(client, f"verdicts/{one['id']}")
        assert page["missing"] == ["Nothing had to be run for this verdict."]
        assert json.loads(page["task"]["text"])["expected_answer"] == "4"
        assert page["facts"]["decided_by"]
        assert rejudge(client, one["id"]).json()["agreement"] == "agrees"
