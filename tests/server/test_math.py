"""The math server on the wire, real sandboxes behind it: NeMo Gym's three protocols, the tools, the model judge."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.server.app import build_app
from sandbox_gym.server.math.server import MathResources
from tests.server.fakes import verify_body

pytestmark = pytest.mark.timeout(180)


@contextmanager
def served(tmp_path: Path, provider: str = "local", **fields: object) -> Iterator[TestClient]:
    patient = {"math_wall_time_s": 60}  # a busy machine must not make this no verdict
    settings = Settings.from_flat({"provider": provider, "state_dir": tmp_path, "boxes": 2, **patient, **fields})
    resources = MathResources(settings)
    app = build_app(resources, lambda: open_engine(settings, sessions="math"), settings)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


@pytest.fixture(scope="module", params=["local", "docker"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with served(tmp_path_factory.mktemp("state"), request.param, math_tool_timeout_s=4.0) as client:
        yield client


def judged(client: TestClient, gold: object, text: str, **row: object) -> dict[str, object]:
    answer = client.post("/verify", json=verify_body(text, question="q", expected_answer=gold, **row))
    assert answer.status_code == 200, answer.text
    document: dict[str, object] = answer.json()
    return document


@pytest.mark.parametrize(
    ("gold", "text", "reward", "rung"),
    [
        ("32", "so it is \\boxed{32}", 1.0, "text"),
        ("\\frac{1}{2}", "\\boxed{0.5}", 1.0, "number"),
        ("\\sin^2 x + \\cos^2 x + y", "\\boxed{1+y}", 1.0, "math_verify"),
        ("\\sin^2 x + \\cos^2 x + y", "\\boxed{2+y}", 0.0, "math_verify"),
        ("7", "it is 7", 1.0, "math_verify"),
        ("7", "The answer is $\\frac{14}{2}$.", 1.0, "number"),
        ("7", "it is 8", 0.0, "math_verify"),
        ("5\\text{ cm}", "The answer is 5 m.", 0.0, "veto"),
        ("7", "no idea", 0.0, "extraction"),
        ("7", "\\boxed{}", 0.0, "extraction"),
    ],
)
def test_math_with_judges_fields(client: TestClient, gold: str, text: str, reward: float, rung: str) -> None:
    document = judged(client, gold, text)
    assert (document["reward"], document["library_reward"], document["expected_answer"]) == (reward, reward, gold)
    assert document["judge_evaluations"] is None
    assert (document["mask_sample"], document["failure_kind"]) == (False, None)
    assert document["verdict"]["decided_by"] == rung  # type: ignore[index]
    assert (document["extracted_answer"] is None) == (rung == "extraction")


def test_an_answer_that_costs_too_much_is_wrong_and_says_so(client: TestClient) -> None:
    document = judged(client, "7", "\\boxed{\\binom{100000000}{50000000}}")
    assert (document["reward"], document["mask_sample"]) == (0.0, False)
    assert document["failure_kind"] == "math:answer_cpu_time_limit"
    assert judged(client, "\\sin^2 x + \\cos^2 x + y", "\\boxed{1+y}")["reward"] == 1.0


def test_a_row_whose_own_answer_costs_too_much_is_masked(client: TestClient) -> None:
    document = judged(client, "\\binom{100000000}{50000000} + x", "\\boxed{7 + y}")
    assert document["mask_sample"] is True
    assert str(document["failure_kind"]).startswith("math:")


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({}, "expected_answer"),
        ({"expected_answer": " "}, "expected_answer"),
        ({"expected_answer": ["1"]}, "expected_answer"),
        ({"expected_answer": "1", "question": 4}, "question"),
        ({"expected_answer": "1", "math_options": {"speed": 1}}, "math_options.speed"),
        ({"expected_answer": "1", "math_options": {"last_box": "first"}}, "math_options.last_box"),
        ({"expected_answer": "1", "math_options": {"plain_answer": 1}}, "math_options.plain_answer"),
        ({"expected_answer": "1", "verifier_type": "comp_coding"}, "verifier_type"),
        ({"expected_result": {}}, "expected_result"),
    ],
)
def test_what_is_wrong_is_named(client: TestClient, row: dict[str, object], field: str) -> None:
    answer = client.post("/verify", json=verify_body("\\boxed{1}", **row))
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


def test_what_math_verify_finds_in_a_text_is_the_extracted_answer(client: TestClient) -> None:
    document = judged(client, "7", "First 3, and so the answer is $\\frac{15}{2}$.")
    assert (document["extracted_answer"], document["reward"]) == ("15/2", 0.0)
    assert document["failure_kind"] is None


def test_a_rows_options(client: TestClient) -> None:
    assert judged(client, "4", "The answer is 4.", math_options={"boxed_only": True})["reward"] == 0.0
    assert judged(client, "4", "The answer is 4.", math_options={"plain_answer": True})["reward"] == 1.0
    assert judged(client, 4, "\\boxed{3}, no: \\boxed{4}")["reward"] == 1.0


def test_math_with_code_takes_the_latest_box_of_text_or_tool(client: TestClient) -> None:
    def verify(items: list[dict[str, object]], expected: str) -> dict[str, object]:
        body = verify_body("", expected_result=expected, expected_code_contains="")
        body["response"]["output"] = items  # type: ignore[index]
        answer = client.post("/verify", json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, object] = answer.json()
        return found

    def said(text: str) -> dict[str, object]:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}

    def tool(stdout: str) -> dict[str, object]:
        return {"type": "function_call_output", "call_id": "c", "output": json.dumps({"stdout": stdout})}

    found = verify([tool("\\boxed{1}"), said("it is \\boxed{3.1415927}")], "3.14159265")
    assert (found["reward"], found["accuracy"], found["extracted_answer"]) == (1.0, True, "3.1415927")
    found = verify([tool("\\boxed{1}"), tool("\\boxed{2}"), tool("none"), said("done")], "2")
    assert (found["reward"], found["extracted_answer"]) == (1.0, "2")
    found = verify([said("it is 3.14159265")], "3.14159265")
    assert (found["reward"], found["extracted_answer"]) == (0.0, None)
    found = verify([said("it is \\boxed{3.2}")], "3.14159265")
    assert (found["reward"], found["accuracy"]) == (0.0, False)


def test_the_python_tool(client: TestClient) -> None:
    client.cookies.clear()
    client.post("/seed_session", json={})

    def run(code: str) -> dict[str, object]:
        document: dict[str, object] = client.post("/execute_python", json={"code": code}).json()
        assert set(document) == {"success", "stdout", "stderr", "error_message", "result"}
        return document

    assert run("x = 41\nprint('hi')\nx + 1") == {
        "success": True, "stdout": "hi\n", "stderr": "", "error_message": None, "result": "42",
    }  # fmt: skip
    assert run("def f(n): return 1 if n == 0 else n * f(n - 1)\nf(5)")["result"] == "120"
    failed = run("print('before')\n1 / 0")
    assert (failed["success"], failed["stdout"]) == (False, "before\n")
    assert failed["error_message"] == "ZeroDivisionError: division by zero"
    assert str(run("sympy.simplify('sin(y)**2 + cos(y)**2'), int(np.arange(4).sum())")["result"]) == "(1, 6)"
    slow = run("y = 1\nprint('part', flush=True)\nimport time; time.sleep(60)")
    assert (slow["success"], slow["stdout"]) == (False, "part\n")
    assert "interrupted; variables are kept" in str(slow["error_message"])
    assert run("x, y")["result"] == "(41, 1)"
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nx = 0\nwhile True: pass"
    assert "killed; variables are as before it" in str(run(stubborn)["error_message"])
    assert run("x, y")["result"] == "(41, 1)"
    assert "died during this call; variables are as before it" in str(
        run("x = 0\nimport os; os._exit(1)")["error_message"]
    )
    assert run("x, y")["result"] == "(41, 1)"
    assert client.post("/end_session", json={}).json()["success"] is True
    assert "NameError" in str(run("x")["error_message"])


def test_ns_tools_delegates_and_counts(client: TestClient) -> None:
    client.cookies.clear()
    client.post("/seed_session", json={})
    answer = client.post("/stateful_python_code_exec", json={"code": "print('a')\n6 * 7"})
    assert (answer.text, answer.headers["content-type"]) == ("a\n42", "text/plain; charset=utf-8")
    client.post("/stateful_python_code_exec", json={"code": "import time; time.sleep(30)"})
    long = client.post("/stateful_python_code_exec", json={"code": "print('x' * 100_000)"}).text
    assert len(long) < 25_000
    assert "bytes left out" in long
    document = judged(client, "70", "\\boxed{70}", verifier_type="math_with_judge", id="aime25-0")
    delegated = document["delegated_response"]
    assert isinstance(delegated, dict)
    assert (document["reward"], delegated["reward"], delegated["extracted_answer"]) == (1.0, 1.0, "70")
    assert (document["num_tool_calls"], document["tool_timeout_count"], document["tool_request_timeout_count"]) == (
        3,
        1,
        0,
    )
    total, average = document["total_tool_execution_time_seconds"], document["avg_tool_call_time_seconds"]
    assert isinstance(total, float)
    assert isinstance(average, float)
    assert total == pytest.approx(3 * average)
    assert total > 1.0


class Model(HTTPServer):
    """A model server: `say` makes the output items of a request's answer, or its whole body. It may drip."""

    def __init__(self, say: Callable[[dict[str, object]], object]) -> None:
        self.asked: list[dict[str, object]] = []
        self.failures = 0
        self.seconds_per_byte = 0.0
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.asked.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
                if model.failures:
                    model.failures -= 1
                    self.send_error(503)
                    return
                said = say(body)
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

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


@contextmanager
def model(say: Callable[[dict[str, object]], object]) -> Iterator[Model]:
    server = Model(say)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def judge_of(server: Model) -> dict[str, object]:
    """The settings that ask this model."""
    return {"judge_enabled": True, "judge_base_url": server.url}


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
    tmp_path: Path, items: list[object], reward: float, asked: int
) -> None:
    with model(lambda _request: items) as server:
        where = {"judge_model": "m", "judge_api_key": "k"}
        with served(tmp_path, "local", judge_enabled=True, judge_base_url=server.url, **where) as client:
            document = judged(client, "the blue one", "\\boxed{azure}")
            assert (document["reward"], document["library_reward"]) == (reward, 0.0)
            evaluations = document["judge_evaluations"]
            assert isinstance(evaluations, list)
            assert len(evaluations) == len(server.asked) == asked
            assert set(evaluations[0]) == {"responses_create_params", "response"}
            assert (server.asked[0]["path"], server.asked[0]["key"]) == ("/v1/responses", "Bearer k")
            assert judged(client, "5", "\\boxed{5}")["judge_evaluations"] is None
            assert judged(client, "5", "  ")["judge_evaluations"] is None
            unfinished = judged(client, "5", "<think>five", math_options={"drop_thinking": True})
            assert unfinished["judge_evaluations"] is None
            assert len(server.asked) == asked


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
def test_a_reply_that_decides_nothing_is_no_verdict(tmp_path: Path, reply: object) -> None:
    with model(lambda _request: reply) as server, served(tmp_path, "local", **judge_of(server)) as client:
        answer = client.post("/verify", json=verify_body("\\boxed{azure}", expected_answer="the blue one"))
        assert (answer.status_code, answer.json()["failure_kind"]) == (503, "math:model_down")
        assert answer.json()["mask_sample"] is True


def test_a_reply_that_drips_ends_at_the_deadline(tmp_path: Path) -> None:
    with model(lambda _request: message("same " * 50 + "[[A=B]]")) as server:
        server.seconds_per_byte = 0.5  # minutes for the whole reply, and no single read is slow
        with served(tmp_path, "local", judge_timeout_s=1.5, **judge_of(server)) as client:
            answer = client.post("/verify", json=verify_body("\\boxed{azure}", expected_answer="the blue one"))
            assert (answer.status_code, answer.json()["failure_kind"]) == (503, "math:model_down")
            assert "within 1.5 s" in answer.json()["failure_reason"]
        server.seconds_per_byte = 0.0


def test_the_model_gets_what_was_extracted_or_the_whole_text(tmp_path: Path) -> None:
    with model(lambda _request: message("[[A!=B]]")) as server, served(tmp_path, "local", **judge_of(server)) as client:

        def answer_given(text: str, **row: object) -> str | None:
            before = len(server.asked)
            judged(client, "the blue one", text, **row)
            if len(server.asked) == before:
                return None
            messages = server.asked[-1]["input"]
            assert isinstance(messages, list)
            return str(messages[1]["content"].partition("<answer_b>")[2].partition("</answer_b>")[0].strip())

        assert answer_given("long way, \\boxed{azure}") == "azure"
        assert answer_given("I would say the azure one") == "I would say the azure one"
        assert answer_given("The answer is $\\frac{1}{2}$.") == "1/2"
        assert answer_given("<think>red?</think> azure", math_options={"drop_thinking": True}) == "azure"
        assert answer_given("I would say the azure one", math_options={"boxed_only": True}) is None


def test_the_second_question_has_the_answers_swapped(tmp_path: Path) -> None:
    def first_is_gold(request: dict[str, object]) -> list[object]:
        text = json.dumps(request["input"])
        return message("[[A=B]]" if text.index("blue") < text.index("azure") else "[[A!=B]]")

    with model(first_is_gold) as server, served(tmp_path, judge_enabled=True, judge_base_url=server.url) as client:
        document = judged(client, "the blue one", "\\boxed{azure}")
        assert (document["reward"], len(server.asked)) == (0.0, 2)


def test_a_model_that_does_not_answer_is_no_verdict(tmp_path: Path) -> None:
    yes = model(lambda _request: message("[[A=B]]"))
    with yes as server, served(tmp_path, judge_enabled=True, judge_base_url=server.url) as client:
        server.failures = 1
        assert judged(client, "the blue one", "\\boxed{azure}")["reward"] == 1.0
        server.failures = 100
        answer = client.post("/verify", json=verify_body("\\boxed{azure}", expected_answer="the blue one"))
        assert (answer.status_code, answer.json()["failure_kind"]) == (503, "math:model_down")
        assert answer.json()["mask_sample"] is True
