"""Bodies that are malformed in ways that JSON allows: each is a 422 that names the field, and none is a 500."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from pathlib import Path
from typing import Any

import itsdangerous
import pytest
from fastapi.testclient import TestClient

from sandbox_gym import judging
from sandbox_gym.server.coding import server
from sandbox_gym.server.protocol import exchange
from sandbox_gym.server.protocol.wire import MAX_DEPTH
from sandbox_gym.verifiers.coding import task
from tests.server.conftest import Serving
from tests.server.dashboards import Opening
from tests.server.fakes import verify_body

TESTS = {"unit_tests": {"inputs": ["1\n"], "outputs": ["2\n"]}}


@pytest.fixture
def client(opening: Opening, tmp_path: Path) -> TestClient:
    return opening(tmp_path / "journal.sqlite")


def _asked(client: TestClient, raw: bytes | str, **headers: str) -> tuple[int, str]:
    answer = client.post("/verify", content=raw, headers={"Content-Type": "application/json", **headers})
    document = answer.json()
    return answer.status_code, document["error"]["field"] if answer.status_code == 422 else ""


def _with(**metadata: object) -> str:
    return json.dumps(verify_body(verifier_metadata={**TESTS, **metadata}))


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ('{"a": 1, "a": 1}', "a"),
        ('{"a": {"b": [{}, {"c": 1, "d": 2, "c": 3}]}}', "a.b[1].c"),
        ('{"response": {"output": []}, "response": {}}', "response"),
        (_with()[:-1] + ', "verifier_metadata": {}}', "verifier_metadata"),
    ],
)
def test_a_field_given_twice_is_named(client: TestClient, raw: str, field: str) -> None:
    assert _asked(client, raw) == (422, field)


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"unit_tests": {"inputs": ["1\ud800"], "outputs": ["2"]}}, "verifier_metadata.unit_tests.inputs[0]"),
        ({"unit_tests": {"inputs": ["1"], "outputs": ["\udfff2"]}}, "verifier_metadata.unit_tests.outputs[0]"),
        ({"difficulty": "\udc00"}, "verifier_metadata.difficulty"),
        ({"answer_files": {"\ud800": "x"}}, "verifier_metadata.answer_files"),
        (
            {"unit_tests": {"fn_name": "f", "inputs": ['"\\ud800"'], "outputs": ["1"]}},
            "verifier_metadata.unit_tests.inputs[0]",
        ),
    ],
)
def test_a_lone_surrogate_of_a_row_is_named(client: TestClient, metadata: dict[str, object], field: str) -> None:
    status, told = _asked(client, _with(**metadata))
    assert status == 422
    assert told.startswith(field)


def test_half_a_pair_in_an_answer_is_the_answer_s_own(client: TestClient) -> None:
    body = verify_body("```python\nprint('\ud800')\n```", verifier_metadata=TESTS)
    assert _asked(client, json.dumps(body))[0] == 200


def test_pairs_of_surrogates_are_characters(client: TestClient) -> None:
    raw = _with(difficulty="\U0001f600")
    assert "\\ud83d" in raw
    assert _asked(client, raw)[0] == 200


@pytest.mark.parametrize("place", ["body", "row", "response"])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_any_depth_is_judged_or_refused(client: TestClient, place: str, pair: str) -> None:
    opened, closed = ("[", "]") if pair == "[]" else ('{"a":', "}")
    for depth in (*range(MAX_DEPTH - 5, MAX_DEPTH + 2), 490, 700, 950, 2000, 100_000):
        for inner in ("1", "1e999", '"\\ud800"', "{}"):
            deep = f'"deep":{opened * depth}{inner}{closed * depth}'
            raw = json.dumps(verify_body(verifier_metadata=TESTS))
            if place == "row":
                raw = raw.replace('"unit_tests"', deep + ',"unit_tests"', 1)
            elif place == "response":
                raw = raw.replace('"output"', deep + ',"output"', 1)
            else:
                raw = f"{raw[:-1]},{deep}}}"
            status, field = _asked(client, raw)
            keyed = _asked(client, raw, **{"Idempotency-Key": f"{depth}-{inner.encode().hex()}"})
            assert keyed == (status, field)
            nested = 1 + (place != "body") + depth + (inner == "{}")
            refused = nested > MAX_DEPTH or ("ud800" in inner and place == "row")
            assert status == (422 if refused else 200), (depth, inner, field)


@pytest.mark.parametrize("field", ["memory_limit_mb", "time_limit_s"])
@pytest.mark.parametrize("number", ["1e308", "1e999", str(10**400), "1e15", "4e12"])
def test_any_number_is_a_cap_or_refused(client: TestClient, field: str, number: str) -> None:
    raw = _with(**{field: 77777}).replace("77777", number)
    assert _asked(client, raw)[0] in (200, 422)


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"1",
        b'"x"',
        b"null",
        b"{",
        b"\xff",
        b"",
        b"[" * 5000,
        b'{"session_id": ["x"]}',
        b'{"session_id": "\\ud800"}',
    ],
)
def test_a_signed_cookie_that_holds_no_session_is_none(serving: Serving, content: bytes) -> None:
    client = serving().client
    name = client.cookies.keys() or client.get("/").cookies.keys()
    key = next(iter(name))
    for encoded in (b64encode(content), content.replace(b"\xff", b"~")):
        signed = itsdangerous.TimestampSigner(key).sign(encoded).decode()
        answer = client.post("/verify", json=verify_body(), headers={"Cookie": f'{key}="{signed}"'})
        assert answer.status_code == 200


def test_no_answer_is_made_of_the_host_header(serving: Serving) -> None:
    client = serving().client
    assert client.post("/verify/", json={}, follow_redirects=False).status_code == 404
    for host in ("evil.example", "[::1", "]::["):
        answer = client.post("/verify/", json={}, headers={"Host": host}, follow_redirects=False)
        assert 400 <= answer.status_code < 500
        assert "location" not in answer.headers


@pytest.mark.anyio
async def test_long_bodies_are_read_beside_the_event_loop() -> None:
    """One caller's long row would hold up all others'."""
    here, found = threading.get_ident(), []
    for size, elsewhere in ((judging.AT_ONCE_BYTES, False), (judging.AT_ONCE_BYTES + 1, True)):
        judging.asked_bytes.set(size)
        found.append((await judging.asked(threading.get_ident) != here) is elsewhere)
    assert found == [True, True]


@pytest.mark.parametrize(("size", "elsewhere"), [(10, False), (100_000, True)])
def test_a_long_row_is_read_planned_and_told_of_beside_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, size: int, elsewhere: bool
) -> None:
    threads: dict[str, set[bool]] = {}
    for module, name in ((exchange, "loads"), (task, "parse_tests"), (server, "extract_code")):
        real = getattr(module, name)

        def noted(*given: Any, real: Any = real, name: str = name, **more: Any) -> Any:
            threads.setdefault(name, set()).add(threading.current_thread().name == "AnyIO worker thread")
            return real(*given, **more)

        monkeypatch.setattr(module, name, noted)
    row = {"unit_tests": {"inputs": ["1"], "outputs": ["1"]}, "note": "x" * size}
    answer = client.post("/verify", json={"answer": "```python\nprint(1)\n```", "verifier_metadata": row})
    assert answer.status_code == 200, answer.text
    assert threads == {name: {elsewhere} for name in ("loads", "parse_tests", "extract_code")}
    threads.clear()
    for tests in ({"test": "x = (\n" * (1 + size // 50)}, {"test_list": ["x = ("] * (1 + size // 50)}):
        row = {**tests, "entry_point": "f"}  # a test's text takes longer to plan than other text
        answer = client.post("/verify", json={"answer": "```python\nf = abs\n```", "verifier_metadata": row})
        assert answer.status_code == 422
    assert threads == {"loads": {False}, "parse_tests": {elsewhere}}
    many = {"test_list": ["assert f(1) == 1"] * 20_001}
    refused = client.post("/verify", json={"answer": "x", "verifier_metadata": many})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "verifier_metadata.test_list")
