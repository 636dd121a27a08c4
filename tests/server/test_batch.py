"""POST /verify/batch: a verify a line, its answer as it comes; what is refused, bounded, keyed and cancelled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import anyio
import httpx2 as httpx
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.errors import PoolFull
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.nemo_gym import batch
from sandbox_gym.server.protocol import exchange
from sandbox_gym.server.protocol.wire import VerifyRequest
from tests.server.conftest import Serving
from tests.server.dashboards import Opening
from tests.server.fakes import EchoResources, fake_engine, verify_body

NDJSON = {"Content-Type": "application/x-ndjson"}
METADATA = {"unit_tests": {"inputs": ["2"], "outputs": ["4"]}}
RIGHT = "print(2 * int(input()))"


def lines(rows: Iterable[object]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def answers(reply: httpx.Response) -> dict[int, dict[str, Any]]:
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/x-ndjson")
    listed = [json.loads(line) for line in reply.content.splitlines()]
    assert len({one["index"] for one in listed}) == len(listed)
    return {one["index"]: one for one in listed}


def test_each_line_is_a_verify_of_its_own(serving: Serving) -> None:
    rows: list[object] = [
        {"answer": "print(1)"},
        verify_body("exit 1", hash_id="x"),
        {"answer": 7},
        [],
        {"answer": "ok"},
    ]
    raw = lines(rows[:2]) + b"\n  \r\n" + lines(rows[2:4]) + b"{\n" + lines(rows[4:]).rstrip(b"\n")
    found = answers(serving().client.post("/verify/batch", content=raw, headers=NDJSON))
    assert {index: one["status"] for index, one in found.items()} == {0: 200, 1: 200, 4: 422, 5: 422, 6: 422, 7: 200}
    assert [found[index]["body"]["reward"] for index in (0, 1, 7)] == [1.0, 0.0, 1.0]
    assert found[1]["body"]["hash_id"] == "x"
    assert [found[index]["body"]["error"]["field"] for index in (4, 5, 6)] == ["answer", "body", "body"]
    assert found[0]["verdict_id"] != found[1]["verdict_id"]
    assert (found[4]["verdict_id"], found[0]["replayed"], found[0]["retry_after_s"]) == (None, False, None)


def test_nothing_and_one(serving: Serving) -> None:
    client = serving().client
    assert answers(client.post("/verify/batch", content=b"", headers=NDJSON)) == {}
    assert answers(client.post("/verify/batch", json={"answer": "x"}))[0]["body"]["reward"] == 1.0


def test_a_full_queue_is_a_lines_and_says_when_to_come_back(serving: Serving) -> None:
    def fail(request: VerifyRequest) -> None:
        if request.output_text == "2":
            raise PoolFull("full", retry_after_s=7)

    client = serving(EchoResources(before=fail)).client
    found = answers(client.post("/verify/batch", content=lines({"answer": f"{n}"} for n in range(4)), headers=NDJSON))
    assert {one["status"] for index, one in found.items() if index != 2} == {200}
    assert (found[2]["status"], found[2]["retry_after_s"], found[2]["body"]["mask_sample"]) == (429, 7, True)


def test_keys_of_lines_and_of_the_batch(opening: Opening, tmp_path: Path) -> None:
    client = opening(tmp_path / "journal.sqlite")
    row = {"verifier_metadata": METADATA, "answer": RIGHT}
    raw = lines(
        [row, {**row, "idempotency_key": "mine"}, {**row, "idempotency_key": 7}, {**row, "idempotency_key": "é"}]
    )
    headers = {**NDJSON, "Idempotency-Key": "run"}
    first, again = (answers(client.post("/verify/batch", content=raw, headers=headers)) for _ in range(2))
    assert [(first[n]["replayed"], again[n]["replayed"]) for n in (0, 1)] == [(False, True)] * 2
    assert [first[n]["verdict_id"] == again[n]["verdict_id"] for n in (0, 1)] == [True] * 2
    assert [first[n]["body"]["error"]["field"] for n in (2, 3)] == ["idempotency_key"] * 2
    for key in ("run/0", "mine"):
        assert client.post("/verify", json=row, headers={"Idempotency-Key": key}).headers["X-Sandbox-Gym-Replayed"]
    refused = client.post("/verify/batch", content=raw, headers={**NDJSON, "Idempotency-Key": "x" * 256})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "Idempotency-Key")


def test_a_batch_is_bounded(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MAX_LINES", 3)
    client = serving().client
    found = answers(client.post("/verify/batch", content=lines([{"answer": "x"}] * 9), headers=NDJSON))
    assert {index: one["status"] for index, one in found.items()} == {0: 200, 1: 200, 2: 200, 3: 413}
    monkeypatch.setattr(batch, "MAX_BYTES", 1000)
    pieces: Iterator[bytes] = iter([lines([{"answer": "x"}]), b'{"answer": "' + b"y" * 600, b"y" * 600, b'"}\n'])
    found = answers(client.post("/verify/batch", content=pieces, headers=NDJSON))
    assert {index: one["status"] for index, one in found.items()} == {0: 200, 1: 413}
    monkeypatch.undo()
    declared = {**NDJSON, "Content-Length": str(exchange.MAX_BODY_BYTES + 1)}
    assert client.post("/verify/batch", content=b"{}", headers=declared).status_code == 413


def test_it_is_for_who_may_verify(serving: Serving) -> None:
    client = serving(settings=Settings.from_flat({"token": "a-token-of-16-chars"})).client
    raw = lines([{"answer": "x"}])
    assert client.post("/verify/batch", content=raw, headers=NDJSON).status_code == 401
    mine = {**NDJSON, "Authorization": "Bearer a-token-of-16-chars"}
    assert answers(client.post("/verify/batch", content=raw, headers=mine))[0]["status"] == 200
    open_to_all = serving().client
    for headers in ({"Content-Type": "text/plain"}, {**NDJSON, "Origin": "http://evil.example"}):
        assert open_to_all.post("/verify/batch", content=raw, headers=headers).status_code in (403, 415)


class Gate(EchoResources):
    """Verifies that wait; how many are, and were cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.most, self.cancelled_count, self.go = 0, 0, 0, anyio.Event()

    async def verify(self, engine: Any, request: VerifyRequest, caller: Any = None) -> Any:
        self.open, self.most = self.open + 1, max(self.most, self.open + 1)
        try:
            await self.go.wait()
        except BaseException:
            self.cancelled_count += 1
            raise
        finally:
            self.open -= 1
        return await super().verify(engine, request)


@pytest.mark.anyio
@pytest.mark.parametrize("leaves", [True, False])
async def test_as_many_at_once_as_sandboxes_and_none_for_a_client_that_left(leaves: bool) -> None:
    """By ASGI, where a client can leave in the middle."""
    gate = Gate()
    app = build_app(gate, lambda: fake_engine(FakeProvider()), Settings.from_flat({}))
    sent: list[MutableMapping[str, Any]] = []
    left = anyio.Event()
    headers = [(b"host", b"localhost"), (b"content-type", b"application/x-ndjson")]
    scope: MutableMapping[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/verify/batch", "raw_path": b"/verify/batch", "query_string": b"", "root_path": "", "headers": headers,
    }  # fmt: skip
    body = iter([lines([{"answer": "x"}] * 20)])

    async def receive() -> MutableMapping[str, Any]:
        if (chunk := next(body, None)) is not None:
            return {"type": "http.request", "body": chunk, "more_body": False}
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async with app.router.lifespan_context(app), anyio.create_task_group() as group:
        group.start_soon(app, scope, receive, send)
        with anyio.fail_after(20):
            while gate.open < 4:
                await anyio.sleep(0.01)
            await anyio.sleep(0.05)
            assert (gate.open, gate.most) == (4, 4)
            (left if leaves else gate.go).set()
            while gate.open or not (leaves or sent[-1].get("more_body") is False):
                await anyio.sleep(0.01)
    assert gate.cancelled_count == (4 if leaves else 0)
    assert b"".join(one.get("body", b"") for one in sent[1:]).count(b"\n") == (0 if leaves else 20)
