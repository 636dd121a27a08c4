"""The math server on the wire, real sandboxes behind it: NeMo Gym's three protocols and the tools."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from tests.server.fakes import verify_body
from tests.server.math_serving import judged, served

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module", params=["local", "docker"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with served(tmp_path_factory.mktemp("state"), request.param, math_tool_timeout_s=4.0) as client:
        yield client


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
