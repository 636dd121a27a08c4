"""Traces over real sandboxes and processes: a pool's, a command's, a model judge's; and who pays for their imports."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.observe.tracing import open_tracing
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.server import CodingResources
from sandbox_gym.server.math.server import MathResources
from tests.cli.running import coding_row, command, rows_file
from tests.e2b.servers import PoolServer
from tests.load.servers import ServerProcess
from tests.observe.collector import Collector, Seen
from tests.observe.tracing import CALLER, CLIENT, SERVER, TRACE_ID
from tests.server.fakes import verify_body

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
