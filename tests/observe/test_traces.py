"""Traces of a server, as a collector gets them: the tree, whose it is, what it says, and what it must not."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.contract import Run
from sandbox_gym.engine import open_engine
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.observe import traces
from sandbox_gym.observe.runs import MOST
from sandbox_gym.observe.tracing import open_tracing
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.server import CodingResources
from sandbox_gym.server.math.server import MathResources
from sandbox_gym.server.protocol.resources import ResourcesServer
from tests.cli.running import coding_row, command, rows_file
from tests.e2b.servers import PoolServer
from tests.load.servers import ServerProcess
from tests.observe.collector import Collector, Health, Seen, collecting
from tests.server.fakes import EchoResources, fake_engine, verify_body

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNSAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
TRACE_ID, CALLERS_SPAN = CALLER.split("-")[1:3]
SERVER = 2
CLIENT = 3


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with exporting_to("well", monkeypatch) as collector:
        yield collector


@contextmanager
def exporting_to(health: Health, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting(health) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield collector


@contextmanager
def serving(
    behave: Callable[[Run], Behaviour], resources: ResourcesServer | None = None, **fields: object
) -> Iterator[TestClient]:
    """A server over fake boxes, its traces sent when it ends, if not before."""
    settings = Settings.from_flat({"traces": True, **fields})
    chosen = resources or EchoResources()
    tracing = open_tracing(settings.traces, "tested")
    app = build_app(chosen, lambda: fake_engine(FakeProvider(behave)), settings, tracing=tracing)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


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


SECRETS = ("stdin-5f2c", "expected-9d1e", "printed-77ab", "source-31c0", "thought-a4e2")


def _coding_body() -> dict[str, object]:
    stdin, expected, printed, source, _ = SECRETS
    body = verify_body(f"```python\nprint('{printed}')  # {source}\n```")
    tests = {"inputs": [stdin, stdin], "outputs": [expected, printed]}
    return {**body, "verifier_metadata": {"unit_tests": tests, "early_stop": False}}


def test_real_boxes_and_nothing_of_tasks_and_answers(collector: Collector, tmp_path: Path) -> None:
    settings = Settings.from_flat({"traces": True, "state_dir": tmp_path, "boxes": 2, "early_stop": False})
    tracing = open_tracing(True, "tested")
    app = build_app(CodingResources(settings), lambda: open_engine(settings), settings, tracing=tracing)
    with TestClient(app, base_url="http://localhost") as client:
        document = client.post("/verify", json=_coding_body()).json()
        client.post("/run_code", json={"code": f"raise SystemExit('{SECRETS[4]}')", "language": "python"})
    assert document["reward"] == 0.0
    verify = collector.one("verify")
    assert (verify.attributes["sandbox_gym.reason"], verify.attributes["sandbox_gym.tests"]) == ("wrong_answer", 2)
    attempt = next(span for span in collector.spans if span.span_id == collector.named("run")[0].parent_id)
    below = collector.below(attempt)
    assert below[:2] == ["queue", "acquire"]
    assert sorted(below[2:]) == ["put", "run", "run"]
    put = collector.named("put")[0]
    assert int(str(put.attributes["sandbox_gym.bytes"])) > 0
    for secret in SECRETS:
        assert not any(secret.encode() in body for body in collector.bodies), secret


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


@pytest.mark.parametrize("wanted", ["false", "true"])
def test_only_who_wants_traces_pays_for_their_imports(wanted: str, tmp_path: Path) -> None:
    """FastAPI imports OpenTelemetry's names of its own accord; what makes and sends spans is ours to leave alone."""
    settings = {"PYTHONPROFILEIMPORTTIME": "1", "SANDBOX_GYM_TRACES": wanted}
    server = ServerProcess("fake", tmp_path, settings=settings)
    try:
        assert httpx.get(server.url, timeout=30).is_success
    finally:
        server.stop()
    costs = [line for line in server.log().splitlines() if line.startswith("import time:")]
    assert any(line.endswith(" sandbox_gym.observe.traces") for line in costs)
    names = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto", "sandbox_gym.observe.otel")
    paid = {name for name in names if any(f" {name}" in line for line in costs)}
    assert paid == (set(names) if wanted == "true" else set())


def test_what_is_not_traced_makes_nothing() -> None:
    assert traces.span("run", {"index": 1}) is traces.NOTHING
    assert (traces.traced(), traces.carried()) == (False, {})


def test_a_pool_goes_on_with_the_trace(collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The e2b provider's requests carry the trace to the server of the sandboxes, whose spans join ours."""
    monkeypatch.setenv("SANDBOX_GYM_TRACES", "true")
    pool = PoolServer("local", tmp_path, keys="")
    fields = {"provider": "e2b", "e2b_api_url": pool.url, "e2b_api_key": "any", "e2b_creates_per_s": 100, "boxes": 2}
    settings = Settings.from_flat({**fields, "traces": True, "state_dir": tmp_path / "mine"})
    tracing = open_tracing(True, "tested")
    app = build_app(CodingResources(settings), lambda: open_engine(settings), settings, tracing=tracing)
    try:
        with TestClient(app, base_url="http://localhost") as client:
            answer = client.post("/verify", json=_coding_body(), headers={"traceparent": CALLER})
            assert answer.json()["mask_sample"] is False
    finally:
        pool.stop()
    collector.wait(lambda: _of_pool(collector))
    mine = {span.span_id: span for span in collector.spans if span.service == "tested"}
    theirs = _of_pool(collector)
    assert {mine[span.parent_id].name for span in theirs} > {"acquire"}, "runs go by requests, too"
    create = next(span for span in theirs if str(span.attributes["url.path"]).endswith("/sandboxes"))
    assert (mine[create.parent_id].name, create.kind) == ("acquire", SERVER)


def _of_pool(collector: Collector) -> list[Seen]:
    return [span for span in collector.spans if span.service == "sandbox-gym-pool" and span.trace_id == TRACE_ID]


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


def test_the_command_makes_a_trace_of_each_row(collector: Collector, tmp_path: Path) -> None:
    file = rows_file(tmp_path / "rows", [coding_row()] * 3)
    done = command("verify", file, "--provider", "fake", "--out", tmp_path / "out", SANDBOX_GYM_TRACES="true")
    assert done.returncode == 0, done.stderr
    roots = collector.named("verify row")
    assert sorted(int(str(span.attributes["sandbox_gym.row"])) for span in roots) == [0, 1, 2]
    assert {span.service for span in roots} == {"sandbox-gym-verify"}
    assert len({span.trace_id for span in roots}) == 3
    assert [collector.below(span) for span in roots] == [["verify"]] * 3


class Model(HTTPServer):
    """A model server that fails once, then finds everything equal; the traceparents that it was sent."""

    def __init__(self) -> None:
        self.carried: list[str] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                model.carried.append(self.headers["traceparent"])
                part = {"type": "output_text", "text": "[[A=B]]"}
                raw = json.dumps({"output": [{"type": "message", "content": [part]}]}).encode()
                self.send_response(503 if len(model.carried) == 1 else 200)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: object) -> None:
                return

        super().__init__(("127.0.0.1", 0), Handler)


@contextmanager
def model() -> Iterator[Model]:
    with Model() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_the_judge_model_is_told_the_trace(collector: Collector, tmp_path: Path) -> None:
    with model() as server:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        fields = {"judge_enabled": True, "judge_base_url": url, "judge_model": "m", "state_dir": tmp_path}
        settings = Settings.from_flat({"traces": True, "boxes": 2, "math_wall_time_s": 60, **fields})
        tracing = open_tracing(True, "tested")
        app = build_app(MathResources(settings), lambda: open_engine(settings), settings, tracing=tracing)
        with TestClient(app, base_url="http://localhost") as client:
            body = verify_body("\\boxed{azure}", question="q", expected_answer="the blue one")
            answer = client.post("/verify", json=body, headers={"traceparent": CALLER})
    assert answer.json()["reward"] == 1.0
    first, second = collector.named("judge_model")
    assert (first.kind, first.trace_id) == (CLIENT, TRACE_ID)
    assert ([name for name, _ in first.events], second.events) == (["retry"], [])
    assert [carried.split("-")[1:3] for carried in server.carried] == [
        [TRACE_ID, first.span_id],
        [TRACE_ID, first.span_id],
        [TRACE_ID, second.span_id],
    ]
    assert collector.below(collector.one("verify"))[0] == "attempt"
    assert collector.one("query").attributes["sandbox_gym.status"] == "ok"
