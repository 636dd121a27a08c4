"""A server that is killed with SIGKILL: what it answered under a key it answers again, word for word."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2 as httpx
import pytest

from sandbox_gym.journal import Filter
from sandbox_gym.journal.schema import open_database
from sandbox_gym.journal.store import Store
from tests.journal.entries import ROW
from tests.server.fakes import verify_body

REPLAYED = "X-Sandbox-Gym-Replayed"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def serving(url: str, port: int, folder: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """`sandbox-gym serve coding` on local boxes, ready; killed at the end if it lives."""
    log = (folder / "server.log").open("ab")
    command = [sys.executable, "-m", "sandbox_gym", "serve", "coding", "--port", str(port), "--boxes", "2"]
    env = {**os.environ, "SANDBOX_GYM_JOURNAL_URL": url, "SANDBOX_GYM_PROVIDER": "local", **environment}
    server = subprocess.Popen(command, env=env, stdout=log, stderr=log, cwd=folder)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/", timeout=1)
                break
            except httpx.TransportError:
                assert server.poll() is None, (folder / "server.log").read_text()
                assert time.monotonic() < deadline, "the server does not come up"
                time.sleep(0.05)
        yield server
    finally:
        server.kill()
        server.wait(10)
        log.close()


def body(number: int) -> dict[str, object]:
    factor = 2 if number % 3 else 3
    answer = f"n = int(input())  # {number}\nprint({factor} * n)"
    return verify_body(answer, verifier_metadata=ROW, number=number)


async def ask_all(
    port: int, numbers: list[int], *, kill: subprocess.Popen[bytes] | None = None
) -> dict[int, httpx.Response]:
    """The answers to all numbers, eight at a time; at the twelfth the server is killed, and the rest get none."""
    answers: dict[int, httpx.Response] = {}
    limiter = anyio.CapacityLimiter(8)

    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:

        async def ask(number: int) -> None:
            async with limiter:
                try:
                    key = {"Idempotency-Key": f"rollout-{number}"}
                    answers[number] = await client.post("/verify", json=body(number), headers=key)
                except httpx.TransportError:
                    assert kill is not None
                if kill is not None and len(answers) == 12:
                    kill.send_signal(signal.SIGKILL)

        async with anyio.create_task_group() as group:
            for number in numbers:
                group.start_soon(ask, number)
    return answers


def on_record(url: str) -> int:
    store = Store(open_database(url, create=False))
    try:
        return len(store.summaries(Filter(), limit=None))
    finally:
        store.close()


def test_what_was_answered_before_a_sigkill_is_answered_again(url: str, tmp_path: Path) -> None:
    port, numbers = free_port(), list(range(40))
    with serving(url, port, tmp_path) as server:
        before = anyio.run(lambda: ask_all(port, numbers, kill=server))
        assert server.wait(10) == -signal.SIGKILL
    assert 12 <= len(before) < 40
    with serving(url, port, tmp_path):
        after = anyio.run(lambda: ask_all(port, numbers))
    for number, answer in before.items():
        assert after[number].headers[REPLAYED] == "true"
        assert after[number].content == answer.content, "timings included: it is that verdict, not another"
    rewards = {number: answer.json()["reward"] for number, answer in after.items()}
    assert rewards == {number: 1.0 if number % 3 else 0.0 for number in numbers}
    assert on_record(url) == 40


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_stop_loses_no_verdict(url: str, tmp_path: Path, number: signal.Signals) -> None:
    port = free_port()
    with serving(url, port, tmp_path) as server:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            for each in range(12):
                assert client.post("/verify", json=body(each)).status_code == 200
        server.send_signal(number)
        server.wait(30)
    assert on_record(url) == 12


def test_a_journal_that_cannot_be_opened_stops_the_start_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = [sys.executable, "-m", "sandbox_gym", "serve", "coding", "--port", str(free_port())]
    env = {**os.environ, "SANDBOX_GYM_STATE_DIR": str(tmp_path / "file" / "state")}
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, cwd=tmp_path)
    assert ended.returncode == 2
    assert "SANDBOX_GYM_STATE_DIR" in ended.stderr
    assert "Traceback" not in ended.stderr
