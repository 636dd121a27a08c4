"""NeMo Evaluator's protocol over a file of rows: seeds by number, verdicts on texts, sizes, and what stays hidden."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.contract import Run
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.server import CodingResources
from sandbox_gym.server.math.server import MathResources
from sandbox_gym.server.protocol.dataset import Dataset
from sandbox_gym.server.protocol.resources import ResourcesServer
from sandbox_gym.server.protocol.wire import Document
from tests.server.fakes import fake_engine, verify_body

HIDDEN = "91827204"
DOUBLE = {"unit_tests": {"inputs": ["2", "45913602"], "outputs": ["4", HIDDEN]}, "difficulty": "easy"}
TRIPLE = {"unit_tests": {"inputs": ["2"], "outputs": ["6"]}}
CODING: list[Document] = [
    {"responses_create_params": {"input": "Double it."}, "verifier_metadata": DOUBLE, "hash_id": "h"},
    {"prompt": "Triple it.", "verifier_metadata": TRIPLE, "solution": "print(int(input())*3)"},
]
MATH: list[Document] = [
    {"question": "1/2 + 1/4?", "expected_answer": "3/4"},
    {"question": "6 * 7?", "expected_answer": 42},
]
RIGHT = "```python\nprint(int(input())*2)\n```"


def behave(run: Run) -> Behaviour:
    code = run.program.files[run.program.main].decode()
    factor = int(code.partition("*")[2][:1] or 0)
    return Behaviour(stdout=f"{int(run.stdin or 0) * factor}\n".encode())


def written(folder: Path, rows: list[Document]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
    return path


@contextmanager
def serving(resources: ResourcesServer, rows: Path | None, *, down: bool = False) -> Iterator[TestClient]:
    settings = Settings.model_validate({"provider": "fake"})
    dataset = None if rows is None else Dataset.opened(rows)
    provider = FakeProvider(behave, down=down)
    with TestClient(
        build_app(resources, lambda: fake_engine(provider), settings, dataset=dataset), base_url="http://localhost"
    ) as client:
        yield client


@pytest.fixture
def coding(tmp_path: Path) -> Iterator[TestClient]:
    with serving(CodingResources(Settings.model_validate({})), written(tmp_path, CODING)) as client:
        yield client


@pytest.fixture
def math(tmp_path: Path) -> Iterator[TestClient]:
    with serving(MathResources(Settings.model_validate({})), written(tmp_path, MATH)) as client:
        yield client


def evaluated(client: TestClient, seed: Document, text: str) -> Document:
    body = {"response": text, "expected": seed["expected_answer"], "metadata": seed["metadata"]}
    answer = client.post("/verify", json=body)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert isinstance(document, dict)
    return document


def test_size_and_health(coding: TestClient) -> None:
    assert coding.get("/dataset_size").json() == {"size": 2}
    health = coding.get("/health").json()
    assert (health["status"], health["benchmark"], health["dataset_size"]) == ("ok", "rows", 2)
    assert health["protocol"] == "evaluator"


def test_a_seed_asks_and_tells_nothing_of_the_tests(coding: TestClient) -> None:
    first = coding.post("/seed_session", json={"idx": 0}).json()
    assert first["messages"] == [{"role": "user", "content": "Double it."}]
    assert (first["prompt"], first["expected_answer"]) == ("Double it.", "")
    assert (first["metadata"]["difficulty"], first["metadata"]["hash_id"]) == ("easy", "h")
    assert coding.post("/seed_session").json() == first
    second = coding.post("/seed_session", json={"idx": 1})
    assert second.json()["prompt"] == "Triple it."
    for hidden in (HIDDEN, "unit_tests", "*3"):
        assert hidden not in coding.post("/seed_session", json={"idx": 0}).text + second.text


@pytest.mark.parametrize("index", [2, -1, "0", 0.5, True, None])
def test_a_number_that_is_none_of_the_rows(coding: TestClient, index: object) -> None:
    answer = coding.post("/seed_session", json={"idx": index})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "idx")


def test_a_texts_verdict(coding: TestClient) -> None:
    seed = coding.post("/seed_session", json={"idx": 0}).json()
    right = evaluated(coding, seed, RIGHT)
    assert right["reward"] == 1.0
    assert right["extracted_answer"] == "print(int(input())*2)"
    assert right["scoring_details"]["verdict"]["tests"][1]["status"] == "passed"  # type: ignore[index]
    wrong = evaluated(coding, seed, RIGHT.replace("*2", "*3"))
    assert (wrong["reward"], wrong["scoring_details"]["failure_reason"]) == (0.0, "wrong_answer")  # type: ignore[index]
    other = coding.post("/seed_session", json={"idx": 1}).json()
    assert evaluated(coding, other, RIGHT)["reward"] == 0.0
    assert evaluated(coding, other, RIGHT.replace("*2", "*3"))["reward"] == 1.0
    assert HIDDEN not in json.dumps(right)


def test_a_seed_of_another_file_is_refused(coding: TestClient) -> None:
    seed = coding.post("/seed_session", json={"idx": 0}).json()
    metadata = {**seed["metadata"], "sandbox_gym_row": 1}
    answer = coding.post("/verify", json={"response": RIGHT, "expected": "", "metadata": metadata})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "metadata.sandbox_gym_task")
    for metadata in ({}, {"sandbox_gym_row": "0"}, {"sandbox_gym_row": 9}):
        answer = coding.post("/verify", json={"response": RIGHT, "expected": "", "metadata": metadata})
        assert answer.status_code == 422


def test_nemo_gyms_own_protocol_goes_on_but_not_its_tools(coding: TestClient) -> None:
    own = verify_body(RIGHT, verifier_metadata=DOUBLE)
    answer = coding.post("/verify", json=own).json()
    assert answer["reward"] == 1.0
    assert answer["response"] == own["response"]
    assert coding.post("/seed_session", json=CODING[0]).json() == {}
    for tool in ("run_code", "run_tests", "bash", "python"):
        assert coding.post(f"/{tool}", json={"code": "print(1)", "command": "true"}).status_code == 404


def test_without_a_dataset_the_task_travels(tmp_path: Path) -> None:
    with serving(CodingResources(Settings.model_validate({})), None) as client:
        body = {"response": RIGHT, "expected": "", "metadata": {"verifier_metadata": DOUBLE, "uuid": "u"}}
        assert client.post("/verify", json=body).json()["reward"] == 1.0
        assert client.get("/dataset_size").status_code == 422
        assert client.post("/seed_session", json={"idx": 0}).json() == {}
        completion = {"choices": [{"message": {"role": "assistant", "content": RIGHT}}]}
        gym_form = {"response": completion, "verifier_metadata": DOUBLE, "responses_create_params": {"input": "?"}}
        answer = client.post("/verify", json=gym_form).json()
        assert (answer["reward"], answer["response"]) == (1.0, completion)


def test_no_verdict_is_an_error_and_shows_no_row(tmp_path: Path) -> None:
    with serving(CodingResources(Settings.model_validate({})), written(tmp_path, CODING), down=True) as client:
        seed = client.post("/seed_session", json={"idx": 0}).json()
        body = {"response": RIGHT, "expected": "", "metadata": seed["metadata"]}
        answer = client.post("/verify?no_verdict=body", json=body)
        assert (answer.status_code, answer.json()["mask_sample"]) == (503, True)
        assert HIDDEN not in answer.text


def test_math_rows(math: TestClient) -> None:
    seeds = [math.post("/seed_session", json={"idx": index}).json() for index in (0, 1)]
    assert [seed["expected_answer"] for seed in seeds] == ["3/4", "42"]
    assert evaluated(math, seeds[0], r"\boxed{0.75}")["reward"] == 1.0
    assert evaluated(math, seeds[0], r"\boxed{42}")["reward"] == 0.0
    assert evaluated(math, seeds[1], r"\boxed{42}")["extracted_answer"] == "42"
    alone = {"response": r"\boxed{7}", "expected": "7"}
    assert math.post("/verify", json=alone).json()["reward"] == 1.0
    native = verify_body(r"\boxed{7}", verifier_metadata={"expected_answer": "7", "question": "?"})
    assert math.post("/verify", json=native).json()["reward"] == 1.0


@pytest.mark.parametrize(
    "line", ["[]", "{", '{"verifier_metadata": {}}', '{"responses_create_params": {"input": [1]}}']
)
def test_a_file_with_a_line_that_asks_nothing(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, CODING)
    path.write_text(path.read_text() + line)
    with pytest.raises(ConfigurationError, match="line 4"):
        Dataset.opened(path)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        Dataset.opened(tmp_path / "none.jsonl")
    with pytest.raises(ConfigurationError, match="no rows"):
        Dataset.opened(written(tmp_path, []))
