"""The coding resources server on the wire: code_gen's fields, the tools, hidden tests that stay hidden."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.contract import Run
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.server import CodingResources
from sandbox_gym.verifiers.coding import parse_task, task_fields
from tests.server.fakes import JSON, fake_engine, verify_body

DOUBLE = "print(int(input())*2)"
UNIT_TESTS = {"inputs": ["1\n", "2\n", "3\n"], "outputs": ["2\n", "4\n", "6\n"]}


def behave(run: Run) -> Behaviour:
    """Doubles its input if the program says so; else floods, or is silent."""
    code = run.program.files[run.program.main].decode("utf-8", "replace")
    if "*2" in code:
        return Behaviour(stdout=f"{int(run.stdin) * 2}\n".encode())
    if "flood" in code:
        return Behaviour(stdout=b"\xff" + b"a" * 70_000, stderr=b"e")
    return Behaviour()


def opened(**fields: object) -> TestClient:
    settings = Settings.model_validate({"provider": "fake", **fields})
    return TestClient(
        build_app(CodingResources(settings), lambda: fake_engine(FakeProvider(behave)), settings),
        base_url="http://localhost",
    )


@pytest.fixture
def client() -> Iterator[TestClient]:
    with opened() as client:
        yield client


def row(code: str, **metadata: object) -> dict[str, object]:
    metadata = {"unit_tests": UNIT_TESTS, "difficulty": "easy", **metadata}
    return verify_body(f"So:\n```python\n{code}\n```\n", verifier_metadata=metadata, hash_id="h")


def test_a_right_program_gets_code_gens_fields(client: TestClient) -> None:
    document = client.post("/verify", json=row(DOUBLE)).json()
    assert document["reward"] == 1.0
    assert document["extracted_model_code"] == DOUBLE
    assert document["extracted_model_output"].startswith("So:")
    assert document["result"] == [True, True, True]
    assert isinstance(document["metadata"], dict)
    assert document["unit_tests_time_taken"] >= 0
    assert document["difficulty"] == "easy"
    assert document["reasoning_format_violation_rate"] == 0.0
    assert [test["status"] for test in document["verdict"]["tests"]] == ["passed"] * 3
    assert (document["mask_sample"], document["failure_reason"], document["hash_id"]) == (False, None, "h")
    assert "CodingResources___coding" in client.cookies


def test_a_row_may_hold_its_tests_itself(client: TestClient) -> None:
    fields = {"unit_tests": UNIT_TESTS, "difficulty": "easy", "_ng_rollout_index": 3}
    for code, reward in ((DOUBLE, 1.0), ("print(1)", 0.0)):
        long = client.post("/verify", json=verify_body(code, **fields)).json()
        short = client.post("/verify", json={"answer": code, **fields}).json()
        assert (long["reward"], long["difficulty"], long["_ng_rollout_index"]) == (reward, "easy", 3)
        assert (short["reward"], short["difficulty"]) == (reward, "easy")
    elsewhere = client.post("/verify", json=verify_body(DOUBLE, verifier_metadata={"difficulty": "easy"}, **fields))
    assert (elsewhere.status_code, elsewhere.json()["error"]["field"]) == (422, "verifier_metadata.unit_tests")


@pytest.mark.parametrize(
    "row",
    [
        {
            "task_id": "x/1",
            "prompt": "def f(a):\n",
            "entry_point": "f",
            "test": "def check(c):\n    assert c(1) == 2\n",
        },
        {"task_id": 2, "text": "Double.", "code": "def f(a): return 2 * a", "test_list": ["assert f(1) == 2"]},
        {"task_id": "M/3", "prompt": "", "entry_point": "f", "base_input": [[1]], "canonical_solution": "f = abs"},
        {"id": 4, "unit_tests": UNIT_TESTS},
    ],
)
def test_rows_of_data_sets_are_their_tests(row: dict[str, object]) -> None:
    limits = Settings().limits()
    found = task_fields({**verify_body("x"), **row, "_rollout": 7, "agent_ref": {"name": "a"}})
    assert found == row
    assert task_fields({"answer": "y", **row}) == row
    assert parse_task(found, limits=limits, early_stop=True).tests == parse_task(
        task_fields({"verifier_metadata": row}), limits=limits, early_stop=True
    ).tests  # fmt: skip
    assert task_fields({"answer": "y", "prompt": "p", "verifier_metadata": None}) is None


def test_a_row_with_a_test_alone_is_told_what_it_lacks(client: TestClient) -> None:
    told = client.post("/verify", json={"answer": "x", "test": "def test_f(): assert f()"})
    assert (told.status_code, told.json()["error"]["field"]) == (422, "verifier_metadata.entry_point")


def test_a_wrong_program_stops_early_unless_told_not_to(client: TestClient) -> None:
    early = client.post("/verify", json=row("pass")).json()
    assert [test["status"] for test in early["verdict"]["tests"]] == ["wrong_answer", "skipped", "skipped"]
    assert early["failure_reason"]
    whole = client.post("/verify", json=row("pass", early_stop=False)).json()
    assert [test["status"] for test in whole["verdict"]["tests"]] == ["wrong_answer"] * 3
    assert (early["reward"], whole["reward"]) == (0.0, 0.0)


@pytest.mark.parametrize("text", ["", "  \n", "```python\n```"])
def test_an_answer_without_code_is_reward_zero_without_a_sandbox(client: TestClient, text: str) -> None:
    document = client.post("/verify", json=verify_body(text, verifier_metadata={"unit_tests": UNIT_TESTS})).json()
    assert (document["reward"], document["result"], document["extracted_model_code"]) == (0.0, None, None)
    assert (document["mask_sample"], bool(document["failure_reason"])) == (False, True)


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        (None, "verifier_metadata.unit_tests"),
        ({}, "verifier_metadata.unit_tests"),
        ({"unit_tests": {"inputs": [], "outputs": []}}, "verifier_metadata.unit_tests.inputs"),
        ({"unit_tests": {"inputs": ["a"], "outputs": []}}, "verifier_metadata.unit_tests.outputs"),
        ({"unit_tests": UNIT_TESTS, "time_limit_s": "x"}, "verifier_metadata.time_limit_s"),
    ],
)
def test_a_row_that_cant_be_judged_is_422_even_without_an_answer(
    client: TestClient, metadata: object, field: str
) -> None:
    for text in (DOUBLE, ""):
        answer = client.post("/verify", json=verify_body(text, verifier_metadata=metadata))
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


def test_a_right_answer_behind_its_thoughts_is_right_where_no_penalty_is_set() -> None:
    thought = f"<think>```python\nprint(0)\n```</think>\n```python\n{DOUBLE}\n```"
    for text, reward, reason in ((thought, 1.0, None), (thought.replace(DOUBLE, "print(0)"), 0.0, "wrong_answer")):
        short = {"answer": text, "verifier_metadata": row(DOUBLE)["verifier_metadata"]}
        with opened() as client:
            document = client.post("/verify", json=short).json()
        assert (document["reward"], document["failure_reason"]) == (reward, reason)
        assert (document["mask_sample"], document["reasoning_format_violation_rate"]) == (False, 1.0)


def test_think_tags_cost_the_penalty() -> None:
    body = row(DOUBLE)
    body["response"]["output"][0]["content"][0]["text"] += "</think>" + f"\n```python\n{DOUBLE}\n```"  # type: ignore[index]
    with opened(reasoning_format_penalty=-0.5) as client:
        document = client.post("/verify", json=body).json()
    assert (document["reward"], document["reasoning_format_violation_rate"]) == (-0.5, 1.0)
    assert document["verdict"]["reward"] == 1.0


def test_run_code_shows_bounded_text(client: TestClient) -> None:
    document = client.post("/run_code", json={"language": "python", "code": DOUBLE, "stdin": "21\n"}).json()
    assert (document["stdout"], document["exit_code"], document["status"]) == ("42\n", 0, "ok")
    flood = client.post("/run_code", json={"language": "python", "code": "flood"}).json()
    assert len(flood["stdout"]) == 64 * 1024
    assert flood["stdout"].startswith("\ufffda")
    assert (flood["stdout_cut_bytes"], flood["stderr_cut_bytes"]) == (70_001 - 64 * 1024, 0)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        ({"language": "cobol", "code": ""}, "language"),
        ({"language": "python"}, "code"),
        ({"code": 7}, "code"),
    ],
)
def test_run_code_names_what_is_wrong(client: TestClient, call: object, field: str) -> None:
    answer = client.post("/run_code", json=call)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


def test_run_tests_takes_the_sessions_public_tests_and_never_the_hidden_ones(client: TestClient) -> None:
    assert client.post("/run_tests", json={"code": DOUBLE}).json()["error"]["field"] == "public_tests"
    seed = {"verifier_metadata": {"unit_tests": UNIT_TESTS}}
    client.post("/seed_session", json=seed)
    assert client.post("/run_tests", json={"code": DOUBLE}).status_code == 422
    public = {"inputs": ["5", "6"], "outputs": ["10", "13"]}
    client.post("/seed_session", json={"verifier_metadata": {"unit_tests": UNIT_TESTS, "public_tests": public}})
    document = client.post("/run_tests", json={"code": DOUBLE}).json()
    assert (document["passed"], document["total"]) == (1, 2)
    assert [test["status"] for test in document["tests"]] == ["passed", "wrong_answer"]


def test_run_tests_takes_tests_from_the_body_and_names_their_fields(client: TestClient) -> None:
    call = {"code": f"x = '''\n```\n'''\n{DOUBLE}", "public_tests": {"inputs": ["5"], "outputs": ["10"]}}
    assert client.post("/run_tests", json=call).json()["passed"] == 1
    answer = client.post("/run_tests", json={"code": "", "public_tests": {"inputs": ["5"], "outputs": [7]}})
    assert answer.json()["error"]["field"] == "public_tests.outputs[0]"


def test_surrogates_in_tool_calls_are_no_500(client: TestClient) -> None:
    raw = b'{"language": "python", "code": "x = \'\\ud800\'", "stdin": "\\udfff"}'
    assert client.post("/run_code", content=raw, headers=JSON).status_code in (200, 422)
    raw = raw.replace(b"}", b', "public_tests": {"inputs": ["1"], "outputs": ["1"]}}')
    assert client.post("/run_tests", content=raw, headers=JSON).status_code in (200, 422)
    for body in (
        row("x = '\ud800'"),
        row("\udc80", unit_tests={"inputs": ["1\ud800"], "outputs": ["\ud800"]}),
    ):
        assert client.post("/verify", content=json.dumps(body).encode(), headers=JSON).status_code in (200, 422)


CAPTURED = {
    "entry_point": "hello",
    "test": "import contextlib, io\n\ndef check(candidate):\n"
    "    with contextlib.redirect_stdout(io.StringIO()) as said:\n"
    "        candidate()\n    assert said.getvalue() == 'hi\\n'\n",
}


@pytest.mark.parametrize("policy", ["mask", "deny"])
def test_a_test_that_needs_one_process_is_masked_or_refused_by_the_setting(policy: str) -> None:
    body = verify_body("```python\ndef hello():\n    print('hi')\n```", verifier_metadata=CAPTURED)
    with opened(in_process=policy) as client:
        response = client.post("/verify", json=body)
    document = response.json()
    if policy == "deny":
        assert response.status_code == 422
        assert "redirect_stdout" in json.dumps(document)
    else:
        assert (document["mask_sample"], document["failure_kind"], document["reward"]) == (
            True,
            "coding:in_process",
            0.0,
        )
        assert document["verdict"]["integrity_reason"].startswith("row: the test uses contextlib.redirect_stdout")
