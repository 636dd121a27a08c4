"""What a session with an allow-list reaches, and what it does not, on any provider of sessions.

`python -m tests.conformance.way_out FOLDER` tries the local provider: it needs no pytest, so that it also runs as
another user.
"""

from __future__ import annotations

import http.server
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio

from sandbox_gym.limits import MIB, Limits
from sandbox_gym.network import Network
from sandbox_gym.sandbox.api import SessionFolder
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.session.session import Session
from tests.keeper import Keeper

LISTED, UNLISTED = "127.0.0.2", "127.0.0.3"
"""Both are this machine, and neither is where programs go without their proxy."""
NETWORK = Network(allow=(LISTED,))
LIMITS = Limits(cpu_time_s=300, wall_time_s=600, memory_bytes=256 * MIB, processes=64)
_GET = """
import sys, urllib.request, urllib.error
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except OSError as error:
    print(type(error).__name__, error)
"""
_TUNNEL = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", 3128, timeout=20)
connection.set_tunnel(sys.argv[1], int(sys.argv[2]))
try:
    connection.request("GET", "/")
    print(connection.getresponse().read().decode())
except OSError as error:
    print(error)
"""
_STRAIGHT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
    print("reached")
except OSError as error:
    print(type(error).__name__)
"""


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"a page of this machine"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def page() -> Iterator[int]:
    """The port of a web server on each of both addresses."""
    server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


async def said(box: Session, source: str, *arguments: object) -> str:
    command = "python3 -c '" + source.replace("'", '"') + "' " + " ".join(map(str, arguments))
    request = {"op": "bash", "timeout_s": 30, "output_bytes": 4000}
    _, body = await box.call(request, command.encode(), within_s=45)
    return body.decode()


async def check(box: Session, port: int) -> None:
    """Both ways through the proxy, no way around it, and nothing else behind it."""
    assert "a page of this machine" in await said(box, _GET, f"http://{LISTED}:{port}/")
    assert "a page of this machine" in await said(box, _TUNNEL, LISTED, port)
    refused = await said(box, _GET, f"http://{UNLISTED}:{port}/")
    assert "403" in refused, refused
    assert "is not among what this sandbox may reach" in refused, refused
    assert "403" in await said(box, _TUNNEL, UNLISTED, port)
    for address in (LISTED, UNLISTED, "127.0.0.1"):
        assert "reached" not in await said(box, _STRAIGHT, address, port)


async def check_closed(box: Session, port: int) -> None:
    """A session without a list has no proxy and reaches nothing."""
    assert "page" not in await said(box, _GET, f"http://{LISTED}:{port}/")
    assert "reached" not in await said(box, _STRAIGHT, LISTED, port)
    assert "reached" not in await said(box, _STRAIGHT, "127.0.0.1", 3128)


async def check_life(keeper: Keeper, port: int) -> None:
    """The list goes with every session: of new ones, and of those that go on from a snapshot."""
    first = await keeper.open_session(LIMITS)
    await check(first, port)
    snapshot = await first.snapshot()
    assert "a page of this machine" in await said(first, _GET, f"http://{LISTED}:{port}/")
    second = await keeper.open_session(LIMITS, snapshot.snapshot_id)
    await first.aclose()
    await check(second, port)
    await second.aclose()
    await keeper.delete(snapshot.snapshot_id)


@asynccontextmanager
async def local_sessions(folder: Path, network: Network = NETWORK) -> AsyncIterator[Keeper]:
    keeper = Keeper(LocalProvider(sessions=SessionFolder(folder, LIMITS)), network)
    try:
        yield keeper
    finally:
        await keeper.aclose()


async def _alone(folder: Path) -> None:
    with page() as port:
        async with local_sessions(folder) as keeper:
            await check_life(keeper, port)
    sys.stdout.write(f"as user {os.geteuid()}: reached what is listed\n")


if __name__ == "__main__":
    if not os.access(sys.executable, os.X_OK):  # it lies in the home of who started us as another user
        sys.executable = "/usr/bin/python3"
    anyio.run(_alone, Path(sys.argv[1]))
