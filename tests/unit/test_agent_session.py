"""The client that agents' environments are made of: which calls it sends again, and which error says what."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from sandbox_gym.agents.session import NoSandbox, SandboxLost, Session, SessionTarget

pytestmark = pytest.mark.anyio
LOST = {"failure_kind": "sandbox_lost", "detail": "the sandbox was lost during this call"}


class Server(HTTPServer):
    """Answers seeds with 503 as often as it is told to, and every command with a loss."""

    refusals = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(self.path)
        document: dict[str, str] = {}
        if self.path == "/exec":
            document = LOST
        elif self.path == "/seed_session" and self.server.refusals:
            self.server.refusals -= 1
            document = {"failure_kind": "instance_failed", "detail": "no repository"}
        raw = json.dumps(document).encode()
        self.send_response(503 if document else 200)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def session(server: Server) -> Session:
    return Session(SessionTarget(url=f"http://127.0.0.1:{server.server_address[1]}"))


async def test_a_seed_is_asked_three_times_and_a_command_once(server: Server) -> None:
    server.refusals = 2
    async with session(server) as held:
        with pytest.raises(SandboxLost, match="lost during this call"):
            await held.run(["true"], cwd="/", timeout_s=1, output_bytes=10)
    assert server.asked == [*["/seed_session"] * 3, "/exec", "/close_session"]


async def test_a_seed_that_stays_refused_is_no_sandbox(server: Server) -> None:
    server.refusals = 9
    with pytest.raises(NoSandbox, match="no repository") as refused:
        await session(server).__aenter__()
    assert not isinstance(refused.value, SandboxLost)
    assert server.asked == ["/seed_session"] * 3
