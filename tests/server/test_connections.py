"""Clients that hold connections, or take their time, or leave: nobody else notices, and the log stays small."""

from __future__ import annotations

import json
import resource
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from sandbox_gym.server.connections import LINGER_S
from tests.load.servers import ServerProcess, free_port
from tests.server.fakes import verify_body

ROW = {"unit_tests": {"inputs": ["1\n"], "outputs": ["2\n"]}}
RIGHT = verify_body("```python\nprint(int(input()) + 1)\n```", verifier_metadata=ROW)
HEAD = b"POST /verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def _verify(server: ServerProcess) -> tuple[int, object]:
    answer = httpx.post(f"{server.url}/verify", json=RIGHT, timeout=60)
    return answer.status_code, answer.json().get("reward")


def _open(server: ServerProcess, first: bytes = b"") -> socket.socket:
    port = int(server.url.rpartition(":")[2])
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    if first:
        connection.sendall(first)
    return connection


def _told(connection: socket.socket) -> bytes:
    """All that the server says until it closes."""
    found = b""
    while piece := connection.recv(65536):
        found += piece
    return found


@contextmanager
def _serving(folder: Path, **settings: object) -> Iterator[ServerProcess]:
    named = {f"SANDBOX_GYM_{name.upper()}": str(value) for name, value in settings.items()}
    with ServerProcess("local", folder, settings=named) as server:
        yield server
    log = server.log()
    assert len(log) < 1_000_000
    assert "unexpected_error" not in log


def test_idle_connections_and_slow_heads_keep_nobody_out(tmp_path: Path) -> None:
    with _serving(tmp_path, connections=64) as server, ExitStack() as held:
        first = held.enter_context(_open(server))
        for number in range(300):
            held.enter_context(_open(server, HEAD if number % 3 else b""))
        assert [_verify(server) for _ in range(3)] == [(200, 1.0)] * 3
        assert _told(first).startswith(b"HTTP/1.1 503 ")  # it was idle for longest


def test_a_connection_at_work_makes_no_room(tmp_path: Path) -> None:
    sleeper = verify_body("```python\nimport time; time.sleep(1); print(2)\n```", verifier_metadata=ROW)
    raw = json.dumps(sleeper).encode()
    with _serving(tmp_path, connections=16, boxes=2) as server, ExitStack() as held:
        request = HEAD + f"Connection: close\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw
        working = [held.enter_context(_open(server, request)) for _ in range(16)]
        time.sleep(0.5)
        refused = _told(held.enter_context(_open(server)))
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in refused.lower()
        assert all(_told(one).startswith(b"HTTP/1.1 200 ") for one in working)


def test_all_who_come_at_once_are_answered(tmp_path: Path) -> None:
    """Each has sent its whole request before the server looks at it: a refusal must not be lost with the connection."""
    raw = json.dumps(RIGHT).encode()
    request = HEAD + f"Connection: close\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw
    with _serving(tmp_path, connections=16, boxes=2) as server, ExitStack() as held:
        assert _verify(server) == (200, 1.0)
        for _ in range(4):
            server.process.send_signal(signal.SIGSTOP)
            clients = [held.enter_context(_open(server, request)) for _ in range(200)]
            server.process.send_signal(signal.SIGCONT)
            said = Counter(_told(one)[:13] for one in clients)
            assert said.keys() <= {b"HTTP/1.1 200 ", b"HTTP/1.1 503 "}, said
            assert said[b"HTTP/1.1 200 "] >= 1
        time.sleep(LINGER_S)
        assert _verify(server) == (200, 1.0)


def test_slow_heads_that_come_at_once_keep_nobody_out(tmp_path: Path) -> None:
    """Before the server could read any of them."""
    with _serving(tmp_path, connections=16, boxes=2) as server, ExitStack() as held:
        assert _verify(server) == (200, 1.0)
        raw = json.dumps(RIGHT).encode()
        request = HEAD + f"Connection: close\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw
        for _ in range(3):
            server.process.send_signal(signal.SIGSTOP)
            for _ in range(100):
                held.enter_context(_open(server, HEAD))
            honest = [held.enter_context(_open(server, request)) for _ in range(8)]
            server.process.send_signal(signal.SIGCONT)
            assert {_told(one)[:13] for one in honest} == {b"HTTP/1.1 200 "}


STALLS = {
    HEAD: b"408",
    HEAD + b"Content-Length: 9\r\n\r\n{": b"408",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n": b"408",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HT": b"200",  # and the head after that one is waited for, too
}


def test_time_is_given_to_those_who_go_on(tmp_path: Path) -> None:
    """What never comes is not waited for; a slow body that goes on is; a client that leaves is no error."""
    raw = json.dumps(RIGHT).encode()
    with _serving(tmp_path, head_timeout_s=1, body_timeout_s=3) as server, ExitStack() as held:
        stalled = {held.enter_context(_open(server, first)): status for first, status in STALLS.items()}
        head = HEAD + f"Connection: close\r\nContent-Length: {len(raw)}\r\n\r\n".encode()
        slow = held.enter_context(_open(server, head))
        for start in range(0, len(raw), len(raw) // 8):
            slow.sendall(raw[start : start + len(raw) // 8])
            time.sleep(0.5)
        assert _told(slow).startswith(b"HTTP/1.1 200 ")
        for connection, status in stalled.items():
            if status == b"200":
                connection.sendall(b"T")
            connection.settimeout(50)
            assert _told(connection).startswith(b"HTTP/1.1 " + status)
        for path in (b"/verify", b"/seed_session", b"/bash", b"/aggregate_metrics", b"/close_session"):
            for rest in (b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"):
                _open(server, HEAD.replace(b"/verify", path) + rest).close()
        assert _verify(server) == (200, 1.0)
        time.sleep(0.5)
        assert "rror" not in server.log()


def test_no_descriptors_left_is_explicit_and_passes(tmp_path: Path) -> None:
    """As when something else of the process has them: below what the server counted on at its start."""
    with _serving(tmp_path, boxes=2) as server, ExitStack() as held:
        assert _verify(server) == (200, 1.0)
        pid = server.process.pid
        used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 8, before[1]))
        for _ in range(60):
            held.enter_context(_open(server))
        time.sleep(3)  # its housekeeping meets it, too
        held.close()
        until = time.monotonic() + 10
        found = {_verify(server)}
        while (200, 1.0) not in found and time.monotonic() < until:
            found.add(_verify(server))
        assert (200, 1.0) in found, "the server serves again"
        assert {status for status, _ in found} <= {200, 503}
        assert httpx.get(f"{server.url}/", timeout=20).status_code == 200


@pytest.mark.extended
def test_two_thousand_idle_connections_and_two_hundred_slow_heads(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    try:
        with _serving(tmp_path) as server, ExitStack() as held:
            for _ in range(2000):
                held.enter_context(_open(server))
            for _ in range(200):
                held.enter_context(_open(server, HEAD))
            until = time.monotonic() + 75
            while time.monotonic() < until:
                assert _verify(server) == (200, 1.0)
                time.sleep(1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


BREAKS = """
import sys, anyio
from contextlib import asynccontextmanager
from fastapi import FastAPI
from sandbox_gym.config import Settings
from sandbox_gym.server.serving import serve_app

async def dies():
    await anyio.sleep(1)
    raise OSError(24, "Too many open files")

@asynccontextmanager
async def lifespan(app):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(dies)
        yield

serve_app(FastAPI(lifespan=lifespan), Settings.model_validate({"port": int(sys.argv[1])}), timeout_graceful_shutdown=2)
"""


def test_a_server_ends_with_its_background_tasks_and_says_why() -> None:
    command = [sys.executable, "-c", BREAKS, str(free_port())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Too many open files" in done.stdout + done.stderr
    assert "server_failed" in done.stdout + done.stderr
