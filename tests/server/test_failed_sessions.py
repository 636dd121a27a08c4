"""Seeds and sessions that fail for a reason of ours: no verdict, told in the client's own form, and never a reward."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.errors import (
    BoxLost,
    ImageNotPulled,
    ImageRefused,
    InstanceFailed,
    PoolFull,
    ProviderDown,
    RequestError,
    SessionClosed,
)
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.nemo_gym.failed_sessions import MARK, FailedSessions
from sandbox_gym.server.protocol.resources import Tool, ToolCall
from sandbox_gym.server.protocol.shapes import NO_VERDICT_HEADER
from sandbox_gym.server.protocol.wire import Document
from tests.server.conftest import Serving
from tests.server.fakes import EchoResources, exits_as_told, fake_engine, verify_body

ROWS = Settings.from_flat({"no_verdict": "row"})
FAULTS = {
    "instance_failed": InstanceFailed("building x-1: step install failed"),
    "image_not_pulled": ImageNotPulled("image a/b can't be pulled: connection refused"),
    "image_refused": ImageRefused("image a/b can't be pulled: manifest unknown"),
    "provider_down": ProviderDown("the pool is down"),
    "pool_full": PoolFull("no place"),
    "internal": ZeroDivisionError("a bug"),
}
STATUS = {"image_refused": 422, "pool_full": 429, "internal": 500}


@dataclass
class Failing(EchoResources):
    """Seeds and calls raise what they are told to."""

    seed_error: Exception | None = None
    call_error: Exception | None = None

    @property
    def tools(self) -> Mapping[str, Tool]:
        async def note(engine: Engine, call: ToolCall) -> Document:
            if self.call_error is not None:
                raise self.call_error
            return {"done": True}

        return {"note": note}

    async def seed(self, engine: Engine, session_id: str, row: Document) -> None:
        if self.seed_error is not None:
            raise self.seed_error


@pytest.mark.parametrize("kind", FAULTS)
def test_a_collection_goes_on_after_a_seed_that_failed(
    serving: Serving, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As simple_agent of NeMo Gym 0.4.0 does it: seed and verify must be 200, a tool's error goes to the model."""
    server = serving(Failing(seed_error=FAULTS[kind]), ROWS)
    seeded = server.client.post("/seed_session", json={"responses_create_params": {"input": []}})
    assert seeded.status_code == 200
    assert seeded.headers[NO_VERDICT_HEADER] == f"echo:{kind}"
    assert (seeded.json()["mask_sample"], seeded.json()["failure_kind"]) == (True, f"echo:{kind}")
    told = server.client.post("/note", json={})
    assert told.status_code == STATUS.get(kind if kind == "image_refused" else "", 503)
    assert told.json()["failure_kind"] == kind
    assert "the session could not be seeded" in told.json()["detail"]
    for _ in range(2):  # a retry finds the same
        verified = server.client.post("/verify", json=verify_body()).json()
        assert (verified["reward"], verified["mask_sample"]) == (0.0, True)
        assert verified["failure_kind"] == verified["_ng_failure_class"] == f"echo:{kind}"
    logged = capsys.readouterr().out
    assert "seed_failed" in logged
    assert f"kind={kind}" in logged
    assert f'sandbox_gym_session_failures_total{{kind="{kind}"}} 1.0' in server.client.get("/metrics").text


@pytest.mark.parametrize("kind", FAULTS)
def test_by_default_a_seed_that_failed_is_an_error_and_its_verify_no_verdict(serving: Serving, kind: str) -> None:
    resources = Failing(seed_error=FAULTS[kind])
    client = serving(resources).client
    seeded = client.post("/seed_session", json={})
    assert (seeded.status_code, seeded.json()["failure_kind"]) == (STATUS.get(kind, 503), kind)
    assert ("Retry-After" in seeded.headers) == (kind != "image_refused")
    verified = client.post("/verify", json=verify_body())
    assert verified.status_code == (422 if kind == "image_refused" else 503)
    assert (verified.json()["mask_sample"], verified.json()["failure_kind"]) == (True, f"echo:{kind}")
    resources.seed_error = None
    assert client.post("/seed_session", json={}).status_code == 200
    assert client.post("/note", json={}).json() == {"done": True}
    verified = client.post("/verify", json=verify_body())
    assert (verified.status_code, verified.json()["mask_sample"]) == (200, False)


def test_one_client_may_ask_for_rows(serving: Serving) -> None:
    client = serving(Failing(seed_error=FAULTS["instance_failed"])).client
    wish = {NO_VERDICT_HEADER: "body"}
    assert client.post("/seed_session", json={}, headers=wish).status_code == 200
    assert client.post("/verify?no_verdict=body", json=verify_body()).json()["mask_sample"] is True


def test_a_seed_by_id_has_no_field_that_nemo_gym_does_not_know(serving: Serving) -> None:
    client = serving(Failing(seed_error=FAULTS["instance_failed"]), ROWS).client
    seeded = client.post("/seed_session", json={"resources_session_id": "s1", "task_data": {}})
    assert (seeded.status_code, seeded.json()) == (200, {"resources_session_id": "s1"})
    assert seeded.headers[NO_VERDICT_HEADER] == "echo:instance_failed"
    assert client.post("/verify", json=verify_body()).json()["mask_sample"] is True


def test_a_restart_between_seed_and_verify_makes_no_zero() -> None:
    def restarted(resources: Failing) -> TestClient:
        app = build_app(resources, lambda: fake_engine(FakeProvider(exits_as_told)), ROWS, session_secret="s" * 32)
        return TestClient(app, base_url="http://localhost")

    with restarted(Failing(seed_error=FAULTS["provider_down"])) as first:
        first.post("/seed_session", json={})
    with restarted(Failing()) as second:
        second.cookies.update(first.cookies)
        verified = second.post("/verify", json=verify_body()).json()
        assert (verified["mask_sample"], verified["failure_kind"]) == (True, "echo:provider_down")
        assert "the pool is down" in verified["failure_reason"]
        second.post("/seed_session", json={})
        assert second.post("/verify", json=verify_body()).json()["mask_sample"] is False


@pytest.mark.parametrize("error", [RequestError("row", "is wrong", "mend it"), SessionClosed("closed")])
def test_the_callers_fault_stays_the_callers(serving: Serving, error: Exception) -> None:
    client = serving(Failing(seed_error=error), ROWS).client
    assert client.post("/seed_session", json={}).status_code in (422, 409)
    assert client.post("/verify", json=verify_body()).json()["mask_sample"] is False


@pytest.mark.parametrize(("error", "masked"), [(ProviderDown("down"), True), (BoxLost("lost"), False)])
def test_a_session_that_never_started_has_no_verdict(serving: Serving, error: Exception, masked: bool) -> None:
    """Only failures from before anything of the model's ran: a lost sandbox may be its own doing."""
    resources = Failing(call_error=error)
    client = serving(resources, ROWS).client
    client.post("/seed_session", json={})
    for _ in range(3):
        assert client.post("/note", json={}).status_code == 503
    verified = client.post("/verify", json=verify_body()).json()
    assert verified["mask_sample"] is masked
    client.post("/seed_session", json={})
    client.post("/note", json={})
    resources.call_error = None
    assert client.post("/note", json={}).status_code == 200  # it did start after all
    resources.call_error = error
    client.post("/note", json={})
    assert client.post("/verify", json=verify_body()).json()["mask_sample"] is False


def test_a_verify_that_hits_a_bug_is_a_masked_row_where_rows_are_asked_for(serving: Serving) -> None:
    def fail(request: object) -> None:
        raise ZeroDivisionError

    client = serving(Failing(before=fail), ROWS).client
    verified = client.post("/verify", json=verify_body())
    assert (verified.status_code, verified.json()["failure_kind"]) == (200, "echo:internal")
    assert "logged under id" in verified.json()["failure_reason"]
    assert serving(Failing(before=fail)).client.post("/verify", json=verify_body()).status_code == 500


def test_a_cookie_of_another_form_breaks_nothing(serving: Serving) -> None:
    class Forged:
        def __init__(self, mark: object) -> None:
            self.scope = {"session": {MARK: mark}}

    sessions = FailedSessions()
    for mark in (None, 7, "x", [], ["a"], [1, 2, 3], {"a": 1}, [["a"], "b", True]):
        assert sessions.failure(Forged(mark), "s") is None  # type: ignore[arg-type]
    found = sessions.failure(Forged(["<b>" * 99, "y" * 9999, "z"]), "s")  # type: ignore[arg-type]
    assert found is not None
    assert (found.failure_kind, len(str(found))) == ("session_failed", 400)
    assert json.dumps(found.failure_kind)
