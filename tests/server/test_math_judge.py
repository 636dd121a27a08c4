"""The math server and its model judge: what it is asked, and what its replies are worth."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.server.fakes import verify_body
from tests.server.math_serving import judged, served

pytestmark = pytest.mark.timeout(180)


class Model(HTTPServer):
    """A model server: `say` makes the output items of a request's answer, or its whole body. It may drip."""

    say: Callable[[dict[str, object]], object]
    asked: list[dict[str, object]]
    failures: int
    seconds_per_byte: float

    def __init__(self) -> None:
        self.forget()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.asked.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
                if model.failures:
                    model.failures -= 1
                    self.send_error(503)
                    return
                said = model.say(body)
                whole = said if isinstance(said, dict) else {"output": said}
                raw = json.dumps({"id": "r", "object": "response", **whole}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self._write(raw)

            def _write(self, raw: bytes) -> None:
                if not model.seconds_per_byte:
                    self.wfile.write(raw)
                    return
                with contextlib.suppress(OSError):
                    for byte in raw:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        time.sleep(model.seconds_per_byte)

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        super().__init__(("127.0.0.1", 0), Handler)

    def forget(self) -> None:
        """What was asked, and what it was told to do."""
        self.asked, self.failures, self.seconds_per_byte = [], 0, 0.0
        self.say = lambda _request: message("[[A=B]]")

    @property
    def settings(self) -> dict[str, Any]:
        """Of a math server that asks this model."""
        url = f"http://127.0.0.1:{self.server_port}/v1"
        return {"judge_enabled": True, "judge_base_url": url, "judge_model": "m", "judge_api_key": "k"}


@pytest.fixture(scope="module")
def listening() -> Iterator[Model]:
    server = Model()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def client(listening: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with served(tmp_path_factory.mktemp("state"), "local", **listening.settings) as client:
        yield client


@pytest.fixture
def model(listening: Model) -> Model:
    """As if it had just been started."""
    listening.forget()
    return listening


def message(text: str) -> list[object]:
    return [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": text}]},
    ]


@pytest.mark.parametrize(
    ("items", "reward", "asked"),
    [
        (message("same. [[A=B]]"), 1.0, 2),
        (message("[[A!=B]] not [[A=B]]"), 0.0, 1),
        (message("[[A=B]] wait [[A!=B]]"), 0.0, 1),
        (message("[[A=B]], I say [[A=B]]"), 1.0, 2),
    ],
)
def test_a_model_judges_what_the_rules_call_different(
    client: TestClient, model: Model, items: list[object], reward: float, asked: int
) -> None:
    model.say = lambda _request: items
    document = judged(client, "the blue one", "\\boxed{azure}")
    assert (document["reward"], document["library_reward"]) == (reward, 0.0)
    evaluations = document["judge_evaluations"]
    assert isinstance(evaluations, list)
    assert len(evaluations) == len(model.asked) == asked
    assert set(evaluations[0]) == {"responses_create_params", "response"}
    assert (model.asked[0]["path"], model.asked[0]["key"]) == ("/v1/responses", "Bearer k")
    assert judged(client, "5", "\\boxed{5}")["judge_evaluations"] is None
    assert judged(client, "5", "  ")["judge_evaluations"] is None
    unfinished = judged(client, "5", "<think>five", math_options={"drop_thinking": True})
    assert unfinished["judge_evaluations"] is None
    assert len(model.asked) == asked


@pytest.mark.parametrize(
    "reply",
    [
        message("no label"),
        [],
        [{"type": "function_call", "name": "f"}],
        [{"type": "message", "content": []}],
        [{"type": "message", "content": [{"type": "refusal", "refusal": "[[A=B]]"}]}],
        {"status": "incomplete", "output": message("so far [[A=B]]")},
        {"status": "failed", "output": message("[[A!=B]]")},
    ],
)
def test_a_reply_that_decides_nothing_is_no_verdict(client: TestClient, model: Model, reply: object) -> None:
    model.say = lambda _request: reply
    answer = client.post("/verify", json=verify_body("\\boxed{azure}", expected_answer="the blue one"))
    assert (answer.status_code, answer.json()["failure_kind"]) == (503, "math:model_down")
    assert answer.json()["mask_sample"] is True


def test_a_reply_that_drips_ends_at_the_deadline(tmp_path: Path, model: Model) -> None:
    model.say = lambda _request: message("same " * 50 + "[[A=B]]")
    model.seconds_per_byte = 0.5  # minutes for the whole reply, and no single read is slow
    with served(tmp_path, "local", judge_timeout_s=1.5, **model.settings) as client:
        answer = client.post("/verify", json=verify_body("\\boxed{azure}", expected_answer="the blue one"))
        assert (answer.status_code, answer.json()["failure_kind"]) == (503, "math:model_down")
        assert "within 1.5 s" in answer.json()["failure_reason"]
    model.seconds_per_byte = 0.0


def test_the_model_gets_what_was_extracted_or_the_whole_text(client: TestClient, model: Model) -> None:
    model.say = lambda _request: message("[[A!=B]]")

    def answer_given(text: str, **row: object) -> str | None:
        before = len(model.asked)
        judged(client, "the blue one", text, **row)
        if len(model.asked) == before:
            return None
        messages = model.asked[-1]["input"]
        assert isinstance(messages, list)
        return str(messages[1]["content"].partition("<answer_b>")[2].partition("</answer_b>")[0].strip())

    assert answer_given("long way, \\boxed{azure}") == "azure"
    assert answer_given("I would say the azure one") == "I would say the azure one"
    assert answer_given("The answer is $\\frac{1}{2}$.") == "1/2"
    assert answer_given("<think>red?</think> azure", math_options={"drop_thinking": True}) == "azure"
    assert answer_given("I would say the azure one", math_options={"boxed_only": True}) is None


def test_the_second_question_has_the_answers_swapped(client: TestClient, model: Model) -> None:
    def first_is_gold(request: dict[str, object]) -> list[object]:
        text = json.dumps(request["input"])
        return message("[[A=B]]" if text.index("blue") < text.index("azure") else "[[A!=B]]")

    model.say = first_is_gold
    document = judged(client, "the blue one", "\\boxed{azure}")
    assert (document["reward"], len(model.asked)) == (0.0, 2)


def test_a_model_that_does_not_answer_is_no_verdict(client: TestClient, model: Model) -> None:
    model.failures = 1
    assert judged(client, "the blue one", "\\boxed{azure}")["reward"] == 1.0
    model.failures = 100
    answer = client.post("/verify", json=verify_body("\\boxed{azure}", expected_answer="the blue one"))
    assert (answer.status_code, answer.json()["failure_kind"]) == (503, "math:model_down")
    assert answer.json()["mask_sample"] is True
