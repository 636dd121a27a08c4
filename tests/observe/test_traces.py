"""Traces of a server, as a collector gets them: the tree, whose it is, what it says, and what it must not."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.observe import traces
from sandbox_gym.observe.runs import MOST
from sandbox_gym.observe.tracing import open_tracing
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.server import CodingResources
from tests.observe.collector import Collector, Health
from tests.observe.tracing import CALLER, CALLERS_SPAN, SERVER, TRACE_ID, UNSAMPLED, exporting_to, serving
from tests.server.fakes import EchoResources, fake_engine, verify_body


def test_a_verifys_tree_hangs_below_the_caller(collector: Collector) -> None:
    headers = {"traceparent": CALLER, "X-Request-Id": "r-7", "X-Sandbox-Gym-Tenant": "team"}
    with serving(lambda _run: Behaviour()) as client:
        answer = client.post("/verify", json=verify_body(), headers=headers)
    assert answer.status_code == 200
    assert {span.trace_id for span in collector.spans} == {TRACE_ID}
    assert {span.service for span in collector.spans} == {"tested"}
    root = collector.one("POST /verify")
    assert (root.parent_id, root.kind, root.failed) == (CALLERS_SPAN, SERVER, None)
    assert root.attributes["http.response.status_code"] == 200
    assert root.attributes["sandbox_gym.request_id"] == "r-7"
    assert root.attributes["sandbox_gym.verdict_id"] == answer.headers["X-Sandbox-Gym-Verdict-Id"]
    verify, attempt, run = collector.one("verify"), collector.one("attempt"), collector.one("run")
    assert collector.below(root) == ["verify"]
    assert collector.below(verify) == ["attempt", "judge"]
    assert collector.below(attempt) == ["queue", "acquire", "run"]
    assert verify.attributes["sandbox_gym.reason"] == "passed"
    assert (verify.attributes["sandbox_gym.tenant"], verify.attributes["sandbox_gym.provider"]) == ("team", "fake")
    assert attempt.attributes["sandbox_gym.runs"] == 1
    assert (run.attributes["sandbox_gym.index"], run.attributes["sandbox_gym.status"]) == (0, "ok")
    boxes = collector.one("acquire").attributes["sandbox_gym.box_ids"]
    assert isinstance(boxes, list)
    assert str(boxes[0]).startswith("fake-")
    for span in collector.spans:
        assert root.start_ns <= span.start_ns <= span.end_ns <= root.end_ns, span


def test_a_lost_box_is_an_error_of_its_attempt_and_a_retry_an_event(collector: Collector) -> None:
    lives = iter([Behaviour(lose_box=True), Behaviour()])
    with serving(lambda _run: next(lives)) as client:
        assert client.post("/verify", json=verify_body()).json()["reward"] == 1.0
    first, second = collector.named("attempt")
    assert (first.failed, second.failed) == ("sandbox_lost", None)
    verify = collector.one("verify")
    assert verify.failed is None
    assert verify.attributes["sandbox_gym.attempts"] == 2
    assert verify.events == [
        ("box_lost", {"sandbox_gym.attempt": 1, "sandbox_gym.cause": "unexplained", "sandbox_gym.oom_kills": 0}),
        ("retry", {"sandbox_gym.attempt": 2, "sandbox_gym.after": "sandbox_lost"}),
    ]
    boxes = [span.attributes["sandbox_gym.box_ids"] for span in collector.named("acquire")]
    assert boxes[0] != boxes[1]


@pytest.mark.parametrize("wanted", ["error", "row"])
def test_no_verdict_is_an_error(collector: Collector, wanted: str) -> None:
    with serving(lambda _run: Behaviour(lose_box=True), no_verdict=wanted) as client:
        assert client.post("/verify", json=verify_body()).json()["mask_sample"] is True
    assert collector.one("verify").failed == "sandbox_lost"
    assert collector.one("POST /verify").failed == ("503" if wanted == "error" else None)


def test_a_failed_answer_is_no_error(collector: Collector) -> None:
    with serving(lambda _run: Behaviour(exit_code=3)) as client:
        assert client.post("/verify", json=verify_body()).json()["reward"] == 0.0
    assert {span.failed for span in collector.spans} == {None}
    assert collector.one("run").attributes["sandbox_gym.status"] == "runtime_error"
    assert collector.one("verify").attributes["sandbox_gym.reason"] == "failed"


def test_what_the_caller_does_not_sample_is_not_sent(collector: Collector) -> None:
    with serving(lambda _run: Behaviour()) as client:
        client.post("/verify", json=verify_body(), headers={"traceparent": UNSAMPLED})
        client.post("/verify", json=verify_body(), headers={"traceparent": "no such thing"})
        client.get("/health")
        client.get("/metrics")
    assert len({span.trace_id for span in collector.spans}) == 1, "the one with nonsense for a parent begins its own"
    assert TRACE_ID not in {span.trace_id for span in collector.spans}
    assert collector.one("POST /verify").parent_id == ""


def test_strangers_make_no_spans(collector: Collector) -> None:
    with serving(lambda _run: Behaviour(), token="secret") as client:
        assert client.post("/verify", json=verify_body()).status_code == 401
        assert client.post("/verify", json=verify_body(), headers={"Authorization": "Bearer secret"}).is_success
    assert len(collector.named("POST /verify")) == 1


def test_standard_variables_hold(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    with serving(lambda _run: Behaviour()) as client:
        client.post("/verify", json=verify_body())
    assert {span.service for span in collector.spans} == {"mine"}
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    before = len(collector.spans)
    with serving(lambda _run: Behaviour()) as client:
        assert client.post("/verify", json=verify_body()).is_success
    assert len(collector.spans) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "3"),
    ],
)
def test_what_can_not_be_had_is_told_at_the_start(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match="OTEL_"):
        open_tracing(True, "tested")


def test_thousands_of_runs_are_a_hundred_spans(collector: Collector, tmp_path: Path) -> None:
    settings = Settings.from_flat({"traces": True, "provider": "fake", "early_stop": False, "boxes": 2})
    resources = CodingResources(settings)
    body = {**verify_body("```python\nprint(1)\n```"), "verifier_metadata": {"unit_tests": _tests(3 * MOST)}}
    with serving(lambda _run: Behaviour(stdout=b"1\n"), resources) as client:
        assert client.post("/verify", json=body).json()["reward"] == 1.0
    assert len(collector.named("run")) == MOST
    attempt = collector.one("attempt")
    assert (attempt.attributes["sandbox_gym.runs"], attempt.attributes["sandbox_gym.runs_without_span"]) == (
        3 * MOST,
        2 * MOST,
    )


def _tests(count: int) -> dict[str, list[str]]:
    return {"inputs": [str(n) for n in range(count)], "outputs": ["1"] * count}


@pytest.mark.parametrize("health", ["hangs", "refuses"])
def test_a_collector_that_is_ill_costs_nobody_a_verdict(health: Health, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue is full after the first few; every verify that follows is answered while the collector is still at
    the first batch."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")
    with exporting_to(health, monkeypatch) as collector, serving(lambda _run: Behaviour()) as client:
        assert client.post("/verify", json=verify_body()).json()["reward"] == 1.0
        assert collector.asked.wait(20)
        for _ in range(40):
            assert client.post("/verify", json=verify_body()).json()["reward"] == 1.0
        assert collector.spans == []


def test_a_collector_that_is_not_there_costs_nobody_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    with exporting_to("well", monkeypatch):
        pass  # its port is closed now
    with serving(lambda _run: Behaviour()) as client:
        for _ in range(20):
            assert client.post("/verify", json=verify_body()).json()["reward"] == 1.0


def test_what_is_not_traced_makes_nothing() -> None:
    assert traces.span("run", {"index": 1}) is traces.NOTHING
    assert (traces.traced(), traces.carried()) == (False, {})


def test_a_replay_says_so_and_has_no_more(collector: Collector, tmp_path: Path) -> None:
    settings = Settings.from_flat({"traces": True})
    tracing = open_tracing(True, "tested")
    provider = FakeProvider(lambda _run: Behaviour())
    journal = str(tmp_path / "journal.sqlite")
    app = build_app(EchoResources(), lambda: fake_engine(provider), settings, journal_url=journal, tracing=tracing)
    with TestClient(app, base_url="http://localhost") as client:
        for _ in range(2):
            assert client.post("/verify", json=verify_body(), headers={"Idempotency-Key": "k"}).is_success
    first, second = collector.named("POST /verify")
    assert (first.attributes["sandbox_gym.replayed"], second.attributes["sandbox_gym.replayed"]) == (False, True)
    assert (collector.below(first), collector.below(second)) == (["verify"], [])
