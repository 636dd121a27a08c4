"""The other routes, the cookie, the door."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import httpx2 as httpx
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.server.app import build_app, check_bind
from tests.server.conftest import Serving
from tests.server.fakes import EchoResources, fake_engine, verify_body

COOKIE = "EchoResources___echo"
TESTS = {"inputs": ["1"], "outputs": ["2"]}


def settings(**fields: object) -> Settings:
    return Settings.model_validate(fields)


def test_liveness_and_reverify_mode(serving: Serving) -> None:
    client = serving().client
    assert client.get("/").json() == {"status": "ok"}
    assert client.get("/reverify_mode").json() == {"reverify_mode": "stateless"}
    missing, misused = client.get("/nothing"), client.get("/verify")
    assert (missing.status_code, misused.status_code, misused.headers["Allow"]) == (404, 405, "POST")
    assert missing.json() == {"detail": "there is no GET /nothing: GET /openapi.json lists what there is"}
    assert misused.json() == {"detail": "there is no GET /verify: it takes POST"}


def test_health_says_provider_isolation_and_counters(serving: Serving) -> None:
    answer = serving().client.get("/health")
    assert answer.status_code == 200
    document = answer.json()
    assert (document["status"], document["provider"], document["isolation"]) == ("ok", "fake", "none")
    assert document["stats"]["verdicts"] == 1


def test_health_is_503_when_the_provider_is_down(serving: Serving) -> None:
    answer = serving(down=True).client.get("/health")
    assert answer.status_code == 503
    assert answer.json()["status"] == "down"
    assert "down" in answer.json()["reason"]
    assert answer.headers["Retry-After"]


def test_the_cookie_is_nemo_gyms_and_comes_with_every_answer(serving: Serving) -> None:
    client = serving().client
    first = client.post("/seed_session")
    assert first.json() == {}
    assert COOKIE in first.cookies
    second = client.post("/verify", json=verify_body())
    assert COOKIE in second.headers["set-cookie"]


def test_a_cookie_keeps_its_session_and_another_gets_another(serving: Serving) -> None:
    server = serving()
    server.client.post("/seed_session", json={"public_tests": TESTS, "responses_create_params": {}})
    assert server.client.post("/note", json={}).json() == {"seen": TESTS}
    server.client.cookies.clear()
    assert server.client.post("/note", json={}).json() == {"seen": None}


def test_seed_and_close_by_id(serving: Serving) -> None:
    client = serving().client
    seed = {
        "resources_session_id": "s1",
        "episode_id": "e",
        "task_id": "t",
        "task_data": {"public_tests": TESTS},
    }
    assert client.post("/seed_session", json=seed).json() == {"resources_session_id": "s1"}
    assert client.post("/note", json={}).json() == {"seen": TESTS}
    close = {"resources_session_id": "s1", "episode_id": "e"}
    for _ in range(2):
        closed = client.post("/close_session", json=close)
        assert (closed.status_code, closed.json()) == (200, {"resources_session_id": "s1"})
    assert client.post("/note", json={}).json() == {"seen": None}
    assert client.post("/seed_session", json=seed).status_code == 409
    assert client.post("/note", json={}).json() == {"seen": None}


def test_close_of_what_was_never_seeded_succeeds_and_holds(serving: Serving) -> None:
    client = serving().client
    assert client.post("/close_session", json={"resources_session_id": "never"}).status_code == 200
    assert client.post("/seed_session", json={"resources_session_id": "never"}).status_code == 409
    assert client.post("/close_session", json={}).json()["error"]["field"] == "resources_session_id"
    assert client.post("/seed_session", json={"resources_session_id": 7}).status_code == 422


def test_the_token_is_asked_for_everywhere_but_at_liveness_and_health(serving: Serving) -> None:
    client = serving(settings=settings(token="s3cret")).client
    assert client.get("/").status_code == 200
    assert client.get("/health").status_code == 200
    for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic s3cret"}):
        answer = client.post("/verify", json=verify_body(), headers=header)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert client.get("/openapi.json").status_code == 401
    right = {"Authorization": "Bearer s3cret"}
    assert client.post("/verify", json=verify_body(), headers=right).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
def test_an_open_bind_needs_a_token_or_the_flag(host: str) -> None:
    with pytest.raises(ConfigurationError, match="SANDBOX_GYM_TOKEN"):
        check_bind(settings(host=host))
    check_bind(settings(host=host, token="t"))
    check_bind(settings(host=host, allow_unauthenticated=True))


def test_a_pool_is_never_open_and_is_not_told_of_a_flag_that_does_nothing() -> None:
    with pytest.raises(ConfigurationError, match="SANDBOX_GYM_TOKEN") as found:
        check_bind(settings(host="0.0.0.0", allow_unauthenticated=True), may_be_open=False)
    assert "unauthenticated" not in str(found.value).lower()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_needs_none(host: str) -> None:
    check_bind(settings(host=host))


def test_aggregate_metrics_checks_its_body(serving: Serving) -> None:
    client = serving().client
    assert client.post("/aggregate_metrics", json={}).json()["error"]["field"] == "verify_responses"
    bad = client.post("/aggregate_metrics", json={"verify_responses": [{"reward": "x"}]})
    assert (bad.status_code, bad.json()["error"]["field"]) == (422, "verify_responses[0].reward")
    good = client.post("/aggregate_metrics", json={"verify_responses": [{"reward": 1.0}]}).json()
    assert good["key_metrics"]["pass@1/accuracy"] == 100.0


async def _disconnecting_verify() -> None:
    resources = EchoResources(hang=True, cancelled=anyio.Event())
    app = build_app(resources, lambda: fake_engine(FakeProvider()), settings())
    body = httpx.Request("POST", "http://localhost/verify", json=verify_body()).content
    incoming: list[dict[str, object]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, object]:
        if incoming:
            return incoming.pop()
        await anyio.sleep(0.05)
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        """Nobody listens."""

    scope = {
        "type": "http", "method": "POST", "path": "/verify", "raw_path": b"/verify", "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")], "http_version": "1.1",
        "scheme": "http", "server": ("t", 80), "client": ("t", 1),
        "root_path": "",
    }  # fmt: skip
    async with app.router.lifespan_context(app):
        with anyio.fail_after(5):
            await app(scope, receive, send)
        assert resources.cancelled is not None
        assert resources.cancelled.is_set()


def test_a_client_that_leaves_ends_its_verify() -> None:
    anyio.run(_disconnecting_verify)


async def _two_hundred_at_once() -> AsyncIterator[int]:
    app = build_app(EchoResources(), lambda: fake_engine(FakeProvider(), deadline_s=30), settings())
    statuses: list[int] = []
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

            async def one() -> None:
                statuses.append((await client.post("/verify", json=verify_body(), timeout=30)).status_code)

            async with anyio.create_task_group() as group:
                for _ in range(90):
                    group.start_soon(one)
    for status in statuses:
        yield status


def test_many_at_once_all_get_their_verdict() -> None:
    async def collect() -> list[int]:
        return [status async for status in _two_hundred_at_once()]

    assert anyio.run(collect) == [200] * 90


def test_metrics_count_verdicts_by_reason(serving: Serving) -> None:
    client = serving().client
    client.post("/verify", json=verify_body())
    text = client.get("/metrics").text
    assert 'sandbox_gym_verdicts_total{reason="passed"}' in text
    assert "sandbox_gym_phase_seconds_bucket" in text
    assert "sandbox_gym_pool_waiting 0.0" in text


def test_a_request_id_is_kept_or_made(serving: Serving) -> None:
    client = serving().client
    assert client.get("/", headers={"X-Request-Id": "abc-1"}).headers["X-Request-Id"] == "abc-1"
    for bad in ("", "x" * 500, "tab\there"):
        assert len(client.get("/", headers={"X-Request-Id": bad}).headers["X-Request-Id"]) == 32


@pytest.mark.parametrize("given", ["0", "-1", "soon", "nan", "inf", ""])
def test_a_wrong_deadline_is_named(serving: Serving, given: str) -> None:
    answer = serving().client.post("/verify", json=verify_body(), headers={"X-Sandbox-Gym-Deadline-S": given})
    assert answer.status_code == 422
    assert "X-Sandbox-Gym-Deadline-S" in answer.text
