"""Servers that answer by a script, on real sockets: what a client is told, and what is lost on the way."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RIGHT = {"reward": 1.0, "mask_sample": False, "failure_reason": None}


@dataclass(frozen=True)
class Told:
    """An answer; `status` 0 drops the connection instead."""

    status: int = 200
    body: object = field(default_factory=lambda: RIGHT)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Scripted:
    """What came, in order, and the server's address."""

    url: str = ""
    asked: list[tuple[Mapping[str, str], Any]] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        return [headers["Idempotency-Key"] for headers, _ in self.asked]


@contextmanager
def scripted(answer: Callable[[int, Any], Told], *, alive: Callable[[], bool] = lambda: True) -> Iterator[Scripted]:
    """`answer` is given how many verifies came before and the body. `alive`: what it says of itself."""
    script = Scripted()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._say(Told(200 if alive() else 503, {"status": "ok"}))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(script.asked)
                script.asked.append((dict(self.headers.items()), body))
            self._say(answer(number, body))

        def _say(self, told: Told) -> None:
            if not told.status:
                self.close_connection = True
                return
            raw = told.body if isinstance(told.body, bytes) else json.dumps(told.body).encode()
            self.send_response(told.status)
            for name, value in {"Content-Type": "application/json", **told.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            with suppress(ConnectionError):  # the client left
                self.end_headers()
                self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        script.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield script
        finally:
            server.shutdown()
            thread.join(10)
