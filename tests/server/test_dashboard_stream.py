"""The stream of pictures: at its own pace, to so many, and to none that takes nothing."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2 as httpx
import pytest
from starlette.types import Message

from sandbox_gym.server.dashboard import events
from sandbox_gym.server.dashboard.events import MAX_CLIENTS, Pictures, Stream
from tests.load.servers import ServerProcess
from tests.server.dashboards import (
    ANSWER,
    row,
)
from tests.server.fakes import verify_body

# -- the stream


async def _never() -> Message:
    await anyio.sleep_forever()
    raise AssertionError


@pytest.mark.anyio
async def test_a_client_that_takes_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "SEND_S", 0.2)
    pictures = Pictures(lambda: {"n": 1})
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if len(sent) == 2:
            await anyio.sleep_forever()

    scope = {"type": "http", "method": "GET", "path": "/dashboard/api/events", "headers": []}
    with anyio.fail_after(10):
        await Stream(pictures)(scope, _never, send)
    assert pictures.clients == 0
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]


@pytest.mark.anyio
async def test_a_slow_client_gets_the_latest_picture_not_a_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "EVERY_S", 0.01)
    numbers = iter(range(10**9))
    pictures = Pictures(lambda: {"n": next(numbers)})
    bodies: list[bytes] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body" and message["body"]:
            bodies.append(message["body"])
            await anyio.sleep(0.2)
            for _ in range(50):  # others look on meanwhile
                pictures.now()
                await anyio.sleep(0)

    scope = {"type": "http", "method": "GET", "path": "/dashboard/api/events", "headers": []}
    with anyio.move_on_after(1.5):
        await Stream(pictures)(scope, _never, send)
    assert pictures.clients == 0
    assert 2 <= len(bodies) <= 8
    seen = [int(re.findall(rb'"n":(\d+)', body)[0]) for body in bodies]
    assert seen == sorted(set(seen))


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(
        "fake", tmp_path_factory.mktemp("dashboard"), settings={"SANDBOX_GYM_JOURNAL_URL": "off"}
    ) as server:
        yield server


def _pictures(answer: httpx.Response, most: int) -> Iterator[dict[str, Any]]:
    """The first `most` events of a stream."""
    for line in answer.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))
            most -= 1
        if not most:
            return


def test_the_stream_follows_at_its_own_pace_whatever_the_load(process: ServerProcess) -> None:
    with httpx.stream("GET", f"{process.url}/dashboard/api/events", timeout=30) as answer, httpx.Client() as client:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["content-security-policy"]
        pictures = _pictures(answer, 3)
        before = next(pictures)["verdicts"]["total"]
        began, posted = time.monotonic(), 0
        while time.monotonic() - began < 2:
            body = verify_body(ANSWER, verifier_metadata=row(1))
            posted += client.post(f"{process.url}/verify", json=body, timeout=30).status_code == 200
        after = [picture["verdicts"]["total"] for picture in pictures]
    assert posted > 5
    assert len(after) == 2  # of seconds, not of verdicts
    assert before <= after[0] <= after[1] <= before + posted
    assert after[1] > before


def test_only_so_many_look_on(process: ServerProcess) -> None:
    opened = []
    try:
        for _ in range(MAX_CLIENTS):
            client = httpx.Client(timeout=30)
            stream = client.stream("GET", f"{process.url}/dashboard/api/events")
            opened.append((client, stream))
            assert stream.__enter__().status_code == 200
        refused = httpx.get(f"{process.url}/dashboard/api/events", timeout=30)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        assert httpx.get(f"{process.url}/dashboard/api/live", timeout=30).status_code == 200
    finally:
        for client, stream in opened:
            stream.__exit__(None, None, None)
            client.close()
    for _ in range(100):  # those who leave make room
        with httpx.stream("GET", f"{process.url}/dashboard/api/events", timeout=30) as answer:
            if answer.status_code == 200:
                return
        time.sleep(0.1)
    raise AssertionError("nobody was let in again")


def test_a_server_stops_while_somebody_looks_on(tmp_path: Path) -> None:
    with ServerProcess("fake", tmp_path, settings={"SANDBOX_GYM_JOURNAL_URL": "off"}) as server:
        with httpx.stream("GET", f"{server.url}/dashboard/api/events", timeout=30) as answer:
            pictures = _pictures(answer, -1)
            next(pictures)
            server.process.send_signal(signal.SIGTERM)
            assert all(picture["server"] for picture in pictures)  # to the end, which comes
        server.process.wait(30)
        assert "timeout graceful shutdown exceeded" not in server.log()
        assert "Traceback" not in server.log(), server.log()
        assert "without completing" not in server.log()
