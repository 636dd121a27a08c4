"""POST /verify: the echo, and every status it can end with."""

from __future__ import annotations

import errno
import json
from typing import Final

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.errors import (
    BoxLost,
    DeadlineExceeded,
    InstanceFailed,
    JournalDown,
    ModelDown,
    PoolFull,
    ProviderDown,
    Unavailable,
)
from sandbox_gym.server.protocol import exchange
from sandbox_gym.server.protocol.wire import VerifyRequest
from sandbox_gym.server.registry import misdirected
from tests.server.conftest import Serving
from tests.server.dashboards import Opening
from tests.server.fakes import JSON, EchoResources, verify_body


def test_a_right_answer_is_echoed_whole_and_gets_its_reward(serving: Serving) -> None:
    body = verify_body(hash_id="x", nested={"a": [1, None, 2.5]})
    answer = serving().client.post("/verify", json=body)
    assert answer.status_code == 200
    document = answer.json()
    assert {key: document[key] for key in body} == body
    assert document["reward"] == 1.0
    assert document["mask_sample"] is False
    assert document["failure_kind"] is None
    assert document["verdict"]["attempts"] == 1


def test_a_wrong_answer_is_reward_zero_unmasked(serving: Serving) -> None:
    document = serving().client.post("/verify", json=verify_body("exit 1")).json()
    assert (document["reward"], document["mask_sample"], document["failure_reason"]) == (0.0, False, "wrong")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"response": None}, "response"),
        ({"response": {}}, "response.output"),
        ({"response": {"output": "text"}}, "response.output"),
        ({"response": {"output": [7]}}, "response.output[0]"),
        ({"response": {"output": [{"type": "message", "content": 7}]}}, "response.output[0].content"),
        ({"response": {"output": [{"type": "message", "content": [7]}]}}, "response.output[0].content[0]"),
        (
            {"response": {"output": [{"type": "message", "content": [{"type": "output_text"}]}]}},
            "response.output[0].content[0].text",
        ),
        ({"responses_create_params": []}, "responses_create_params"),
        ({"verifier_metadata": "x"}, "verifier_metadata"),
        ({"verifier_metadata": {"bad": True}}, "verifier_metadata.bad"),
    ],
)
def test_a_wrong_field_is_named(serving: Serving, change: dict[str, object], field: str) -> None:
    answer = serving().client.post("/verify", json={**verify_body(), **change})
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field
    assert answer.json()["detail"]
    assert "reward" not in answer.json()


@pytest.mark.parametrize(
    ("path", "body", "headers", "field", "shown", "remedy"),
    [
        ("/verify", {"answer": 5}, {}, "answer", "is 5", "it must be a valid string; "),
        (
            "/verify",
            {"answer": "x" * 999},
            {"X-Sandbox-Gym-Step": "-3"},
            "X-Sandbox-Gym-Step",
            "is '-3'",
            "it must be ",
        ),
        ("/verify", {"response": {"output": "y" * 999}}, {}, "response.output", f"is '{'y' * 79}…", "it must be a "),
        ("/bash", {"command": "ls", "timeout_s": "a"}, {}, "timeout_s", "is 'a'", "it must be a valid number; "),
        ("/aggregate_metrics", {"verify_responses": {}}, {}, "verify_responses", "is {}", "it must be a valid list; "),
        (
            *("/verify", {"answer": "x", "verifier_metadata": {"unit_tests": {"inputs": "1", "outputs": ["1"]}}}, {}),
            *("verifier_metadata.unit_tests.inputs", "is '1'", "give a list of strings"),
        ),
    ],
)
def test_a_wrong_field_has_its_value_and_a_remedy(
    opening: Opening, path: str, body: dict[str, object], headers: dict[str, str], field: str, shown: str, remedy: str
) -> None:
    wanted = verify_body() if "response" in body else {}
    answer = opening().post(path, json={**wanted, **body}, headers=headers)
    error = answer.json()["error"]
    assert (answer.status_code, error["field"], error["problem"]) == (422, field, shown)
    assert error["remedy"].startswith(remedy)


CODING: Final[dict[str, object]] = {"verifier_metadata": {"unit_tests": {"inputs": ["1"], "outputs": ["1"]}}}


@pytest.mark.parametrize(
    ("kind", "row", "named"),
    [
        ("coding", {"expected_answer": "1"}, "math"),
        ("coding", {"FAIL_TO_PASS": ["a"]}, "swe"),
        ("math", CODING, "coding"),
        ("swe", CODING, "coding"),
        ("coding", {}, ""),
        ("math", {}, ""),
        ("swe", {"FAIL_TO_PASS": []}, ""),
        ("echo", {"expected_answer": "1"}, ""),
    ],
)
def test_a_row_for_another_server_is_told(kind: str, row: dict[str, object], named: str) -> None:
    assert misdirected(row, kind) == (f"; by its fields it is for `sandbox-gym serve {named}`" if named else "")


def test_the_reply_says_whose_row_it_is(opening: Opening) -> None:
    error = opening().post("/verify", json={"answer": "1", "expected_answer": "1"}).json()["error"]
    assert error["field"] == "verifier_metadata.unit_tests"
    assert error["remedy"].endswith("; by its fields it is for `sandbox-gym serve math`")


@pytest.mark.parametrize("missing", ["response", "responses_create_params"])
def test_a_missing_field_is_named(serving: Serving, missing: str) -> None:
    body = verify_body()
    del body[missing]
    answer = serving().client.post("/verify", json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, missing)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b'{"a":' * 200_000, b"9" * 10_000])
def test_what_is_no_json_object_is_422(serving: Serving, raw: bytes) -> None:
    answer = serving().client.post("/verify", content=raw, headers=JSON)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "body")


def test_lone_surrogates_and_nan_come_back_as_what_any_parser_takes(serving: Serving) -> None:
    raw = json.dumps(verify_body("x\ud800y", note="\udfff", number=float("nan"))).encode()
    answer = serving().client.post("/verify", content=raw.replace(b"}]}", b'}], "huge": 1e999}', 1), headers=JSON)
    assert answer.status_code == 200
    document = json.loads(answer.content.decode("utf-8"))
    assert document["note"] == "\ufffd"
    assert document["number"] is None
    assert document["extracted_model_output"] == "x\ufffdy"


def test_deep_json_is_echoed_or_refused_but_no_500(serving: Serving) -> None:
    client = serving().client
    for depth in (100, 900, 950, 990, 5_000):
        raw = json.dumps(verify_body()).encode()[:-1] + b',"deep":' + b"[" * depth + b"]" * depth + b"}"
        assert client.post("/verify", content=raw, headers=JSON).status_code in (200, 422)


def test_output_text_joins_every_output_text_of_every_message() -> None:
    response = {
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {
                "type": "message",
                "content": [{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "n"}],
            },
            {"type": "function_call", "name": "f", "arguments": "{}"},
            {"type": "message", "content": [{"type": "output_text", "text": "b"}]},
        ]
    }
    request = VerifyRequest.parse({"responses_create_params": {}, "response": response})
    assert (request.output_text, request.reasoning_texts) == ("ab", ("hm",))


def test_a_body_over_the_cap_is_413(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MAX_BODY_BYTES", 1000)
    client = serving().client
    assert client.post("/verify", content=b" " * 1001, headers=JSON).status_code == 413
    chunks = (b" " * 600 for _ in range(2))
    assert client.post("/verify", content=chunks, headers=JSON).status_code == 413


@pytest.mark.parametrize(
    "error",
    [
        *(BoxLost("gone"), ProviderDown("no"), PoolFull("full"), DeadlineExceeded("late")),
        *(JournalDown("disk"), InstanceFailed("pip"), ModelDown("404")),  # not of an engine's making
    ],
)
def test_no_verdict_says_when_to_retry_and_masks_its_body(serving: Serving, error: Unavailable) -> None:
    def fail(request: VerifyRequest) -> None:
        raise error

    client = serving(EchoResources(before=fail)).client
    body = verify_body(hash_id="x")
    answer = client.post("/verify", json=body)
    assert answer.status_code == (429 if isinstance(error, PoolFull) else 503)
    assert int(answer.headers["Retry-After"]) >= 1
    document = answer.json()
    assert document["mask_sample"] is True
    assert document["reward"] == 0.0
    assert document["failure_kind"] == f"echo:{error.failure_kind}"
    assert document["failure_reason"] == str(error)
    assert document["response"] == body["response"]
    assert document["hash_id"] == "x"
    assert f'sandbox_gym_no_verdicts_total{{kind="{error.failure_kind}"}} 1.0' in client.get("/metrics").text


def test_a_verify_without_a_sandbox_is_counted_once(serving: Serving) -> None:
    client = serving(down=True).client
    assert client.post("/verify", json=verify_body()).status_code == 503
    assert 'sandbox_gym_no_verdicts_total{kind="provider_down"} 1.0' in client.get("/metrics").text


def test_a_client_that_cant_retry_gets_the_masked_body_as_200(serving: Serving) -> None:
    client = serving(down=True).client
    asked = client.post("/verify", json=verify_body(), headers={"X-Sandbox-Gym-No-Verdict": "body"})
    by_query = client.post("/verify?no_verdict=body", json=verify_body())
    for answer in (asked, by_query):
        assert (answer.status_code, answer.json()["mask_sample"]) == (200, True)
    assert client.post("/verify", json=verify_body()).status_code == 503


def test_a_collector_gets_rows_without_a_verdict_where_the_settings_say_so(serving: Serving) -> None:
    client = serving(settings=Settings.model_validate({"no_verdict": "row"}), down=True).client
    body = verify_body(hash_id="x")
    answer = client.post("/verify", json=body)
    document = answer.json()
    assert (answer.status_code, document["mask_sample"], document["hash_id"]) == (200, True, "x")
    assert document["_ng_failure_class"] == document["failure_kind"] == "echo:provider_down"
    whole = serving().client.post("/verify", json=body).json()
    assert "_ng_failure_class" not in whole


def test_an_unexpected_error_is_500_without_its_message(serving: Serving) -> None:
    def fail(request: VerifyRequest) -> None:
        raise ZeroDivisionError("hidden test: 42")

    client = serving(EchoResources(before=fail)).client
    answer = client.post("/verify", json=verify_body())
    assert answer.status_code == 500
    document = answer.json()
    assert (document["failure_kind"], document["mask_sample"]) == ("echo:internal", True)
    assert "logged under id" in document["failure_reason"]
    assert "hidden" not in answer.text
    assert "Traceback" not in answer.text
    assert 'sandbox_gym_no_verdicts_total{kind="internal"} 1.0' in client.get("/metrics").text


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOSPC, "no space"), OSError(errno.EMFILE, "files")])
def test_a_shortage_of_the_servers_is_a_masked_503_and_counted(serving: Serving, error: Exception) -> None:
    def fail(request: VerifyRequest) -> None:
        raise error

    client = serving(EchoResources(before=fail)).client
    answer = client.post("/verify", json=verify_body())
    document = answer.json()
    assert (answer.status_code, document["mask_sample"], document["reward"]) == (503, True, 0.0)
    assert int(answer.headers["Retry-After"]) >= 1
    kind = document["failure_kind"].partition(":")[2]
    assert f'sandbox_gym_no_verdicts_total{{kind="{kind}"}} 1.0' in client.get("/metrics").text
