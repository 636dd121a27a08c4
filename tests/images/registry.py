"""Registries for tests: Debian's docker-registry with its own storage, and servers that fail as registries do."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import httpx2 as httpx

USER, PASSWORD = "reader", "secret"
HTPASSWD: Final = "reader:$2y$05$0.6RqpFiurB0U86xHSNtBeOk1C7trp5wdQR6f3mYl/I.u3cJFevCW\n"
"""USER and PASSWORD as docker-registry wants them, in bcrypt."""
UNPACKED: Final = Path(__file__).parents[2] / ".run" / "docker-registry" / "usr" / "bin" / "docker-registry"
CONFIG: Final = """version: 0.1
log: {{level: error}}
storage:
  filesystem: {{rootdirectory: {folder}/data}}
http: {{addr: 127.0.0.1:{port}}}
"""
WITH_PASSWORD: Final = "auth:\n  htpasswd: {{realm: tests, path: {folder}/htpasswd}}\n"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def registry(folder: Path, *, password: bool = False) -> Iterator[str]:
    """A running docker-registry; its host:port."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    text = CONFIG.format(folder=folder, port=port)
    if password:
        (folder / "htpasswd").write_text(HTPASSWD)
        text += WITH_PASSWORD.format(folder=folder)
    (folder / "config.yml").write_text(text)
    program = shutil.which("docker-registry") or str(UNPACKED)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, "serve", str(folder / "config.yml")], stdout=log, stderr=log, env=environment
        )
        try:
            _until_it_answers(port, process)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def _until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    while True:
        with contextlib.suppress(httpx.HTTPError):
            httpx.get(f"http://127.0.0.1:{port}/v2/", timeout=5)
            return
        assert process.poll() is None, "the registry ended"
        time.sleep(0.05)


@contextmanager
def silent() -> Iterator[str]:
    """A socket that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


class Front(ThreadingHTTPServer):
    """Passes requests on to a registry, and spoils what it is told to."""

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.upstream = upstream
        self.broken = 0
        """Requests that are answered 500 from now on."""
        self.cuts = 0
        """Layers that end in their middle from now on."""
        self.held = threading.Event()
        """Layers are sent once it is set."""
        self.held.set()
        self.blobs = 0
        """GETs of layers so far."""
        self.at_once = self.most_at_once = 0

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves is no error here."""


class _Passing(BaseHTTPRequestHandler):
    server: Front
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        self._pass()

    def do_GET(self) -> None:
        self._pass()

    def _pass(self) -> None:
        front = self.server
        if self.path != "/v2/" and front.broken > 0:
            front.broken -= 1
            self.send_error(500)
            return
        upstream = http.client.HTTPConnection(front.upstream, timeout=30)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():  # a client sends several Accept
                upstream.putheader(name, value)
            upstream.endheaders()
            reply = upstream.getresponse()
            body = reply.read()
        finally:
            upstream.close()
        is_layer = "/blobs/" in self.path and self.command == "GET" and len(body) > 100_000
        if is_layer:
            front.blobs += 1
            front.at_once += 1
            front.most_at_once = max(front.most_at_once, front.at_once)
            front.held.wait(60)
            front.at_once -= 1
        self.send_response(reply.status)
        length = reply.getheader("Content-Length")
        for name, value in reply.getheaders():
            if name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        if length is None:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if is_layer and front.cuts > 0:
            front.cuts -= 1
            if "Range" not in self.headers:  # what is fetched on from there does not come at all
                self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif self.command == "GET":
            self.wfile.write(body)


@contextmanager
def front(upstream: str) -> Iterator[Front]:
    """A `Front` that serves; its address is that of `where`."""
    server = Front(upstream)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.held.set()
        server.shutdown()
        server.server_close()


def where(server: Front) -> str:
    return f"127.0.0.1:{server.server_address[1]}"
