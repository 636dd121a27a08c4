"""The short row: a row with the answer's text beside its task, on the servers and in the command's files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sandbox_gym.cli.rows import as_request
from sandbox_gym.config import Settings
from sandbox_gym.errors import BoxLost, RequestError
from sandbox_gym.server.openapi import examples
from sandbox_gym.server.protocol.envelope import body_of
from sandbox_gym.server.protocol.wire import Document, VerifyRequest, dumps
from sandbox_gym.server.registry import SERVERS
from tests.server.conftest import Serving
from tests.server.dashboards import Opening
from tests.server.fakes import EchoResources, verify_body


def test_it_is_judged_as_its_long_form_and_only_the_verdict_comes_back(serving: Serving) -> None:
    client = serving().client
    for text, reward in (("print(1)", 1.0), ("exit 1", 0.0)):
        short = client.post("/verify", json={"answer": text, "hash_id": "x", "verifier_metadata": {"a": 1}})
        long = client.post("/verify", json=verify_body(text, hash_id="x", verifier_metadata={"a": 1}))
        assert (short.status_code, short.json()["reward"]) == (200, reward)
        assert short.headers["X-Sandbox-Gym-Verdict-Id"]
        assert not {"answer", "hash_id", "response", "verifier_metadata"} & set(short.json())
        assert set(short.json()) == set(long.json()) - {*verify_body(hash_id="x"), "verifier_metadata"}
        assert short.json()["extracted_model_output"] == text


@pytest.mark.parametrize(
    ("body", "field", "problem"),
    [
        ({}, "response", "is missing"),
        ({"verifier_metadata": {}}, "response", "is missing"),
        ({"answer": 7}, "answer", "is 7"),
        ({"answer": None}, "answer", "is None"),
        ({"answer": ["x"], "model_patch": "y"}, "answer", "is ['x']"),
        ({"answer": "x", "verifier_metadata": []}, "verifier_metadata", "is []"),
        ({"answer": "x", "verifier_metadata": {"bad": True}}, "verifier_metadata.bad", "is there"),
        ({"answer": "x", "responses_create_params": 7}, "responses_create_params", "is 7"),
        ({"answer": "x", "response": {}}, "responses_create_params", "is missing"),
        ({"answer": "x", "response": "y", "verifier_metadata": {}}, "response", "is a text beside an `answer`"),
        ({"response": None}, "response", "is missing"),
    ],
)
def test_a_wrong_field_is_named(serving: Serving, body: Document, field: str, problem: str) -> None:
    refused = serving().client.post("/verify", json=body)
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, field)
    assert refused.json()["error"]["problem"].startswith(problem)
    if problem in ("is 7", "is None", "is ['x']", "is []"):
        assert re.match("it must be a valid .*/docs", refused.json()["error"]["remedy"])
    if (field, problem) == ("response", "is missing"):
        assert "`answer`" in refused.json()["error"]["remedy"]


def test_a_response_that_is_null_is_none(serving: Serving) -> None:
    told = serving().client.post("/verify", json={"answer": "exit 1", "response": None, "verifier_metadata": {}})
    assert (told.status_code, told.json()["reward"]) == (200, 0.0)


def test_without_a_verdict_it_is_masked_and_not_sent_back(serving: Serving) -> None:
    def fail(request: VerifyRequest) -> None:
        raise BoxLost("gone")

    client = serving(EchoResources(before=fail)).client
    told = client.post("/verify", json={"answer": "x", "hash_id": "x"})
    assert (told.status_code, told.json()["mask_sample"], told.json()["failure_kind"]) == (
        503,
        True,
        "echo:sandbox_lost",
    )
    assert int(told.headers["Retry-After"]) >= 1
    assert "hash_id" not in told.json()
    assert client.post("/verify?no_verdict=body", json={"answer": "x"}).status_code == 200


def test_a_key_holds_for_it_too(opening: Opening, tmp_path: Path) -> None:
    client = opening(tmp_path / "journal.sqlite")
    row = {
        "verifier_metadata": {"unit_tests": {"inputs": ["2"], "outputs": ["4"]}},
        "answer": "print(2 * int(input()))",
    }
    key = {"Idempotency-Key": "k"}
    first, again = (client.post("/verify", json=row, headers=key) for _ in range(2))
    assert (first.json()["reward"], again.headers["X-Sandbox-Gym-Replayed"]) == (1.0, "true")
    assert again.content == first.content
    other = client.post("/verify", json={**row, "answer": "print(4)"}, headers=key)
    assert (other.status_code, other.json()["error"]["field"]) == (422, "Idempotency-Key")


@pytest.mark.parametrize("kind", list(SERVERS))
def test_its_task_is_that_of_the_long_form(kind: str) -> None:
    """So that the journal, the radar and workers take both for one task; the answer is no part of it."""
    server = SERVERS[kind](Settings(), kind)
    rows = {"coding": examples.CODING, "math": examples.MATH, "swe": examples.SWE}[kind]
    for long in rows.values():
        short = {name: value for name, value in long.items() if name != "response"} | {"answer": "x"}
        assert server.row(body_of(short)) == server.row(long)


def test_files_of_the_command_are_read_by_the_same_function() -> None:
    short: Document = {"answer": "x", "verifier_metadata": {}}
    assert as_request(0, dumps(short)) == body_of(short)
    with pytest.raises(RequestError, match="answer: is 7; it must be a valid string"):
        as_request(0, b'{"answer": 7}')
    assert as_request(0, b'{"response": {"output": []}}')["responses_create_params"] == {"input": []}
