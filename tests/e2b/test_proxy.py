"""What listens in a sandbox, reached by host name or routing headers; and how a server must be started."""

from __future__ import annotations

import http.client
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from e2b import Sandbox

from tests.e2b.servers import PoolServer

pytestmark = pytest.mark.timeout(120)
ECHO = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        if self.headers.get("Transfer-Encoding"):
            body = b""
            while True:
                size = int(self.rfile.readline(), 16)
                body += self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    break
        else:
            body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = repr((self.path, self.headers["X-Own"], self.headers["X-Access-Token"], len(body))).encode()
        self.send_response(201, "Made")
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("X-Back", "yes")
        self.end_headers()
        self.wfile.write(answer)
    def do_GET(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(100):
            self.wfile.write(b"4000\\r\\n" + b"x" * 0x4000 + b"\\r\\n")
        self.wfile.write(b"0\\r\\n\\r\\n")
http.server.ThreadingHTTPServer(("127.0.0.1", 9000), Handler).serve_forever()
"""

RAW = """
import socket
server = socket.create_server(("127.0.0.1", 9001))
while True:
    connection, _ = server.accept()
    connection.sendall(b"SSH-2.0\\r\\n\\r\\n")
    connection.close()
"""


def ask(
    pool: PoolServer, headers: dict[str, str], path: str = "/", body: bytes | None = None
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", pool.port, timeout=60)
    with closing(connection):
        connection.request("GET" if body is None else "POST", path, body, headers)
        with connection.getresponse() as reply:
            return reply.status, reply.headers, reply.read()


def test_requests_and_replies_pass(pool: PoolServer, sandbox: Sandbox) -> None:
    sandbox.files.write("echo.py", ECHO)
    sandbox.commands.run("python3 echo.py", background=True).disconnect()
    host = {"Host": f"9000-{sandbox.sandbox_id}.any.example"}
    for _ in range(100):
        status, _, body = ask(pool, host)
        if status == 200:
            break
        assert (status, b"port is not open" in body) == (502, True)
        time.sleep(0.1)
    assert len(body) == 100 * 0x4000
    secret = {"X-Access-Token": str(sandbox._envd_access_token), "X-Own": "passed"}
    status, headers, body = ask(pool, {**host, **secret}, "/a%20b/c?d=e", b"y" * 3_000_000)
    assert (status, headers["X-Back"]) == (201, "yes")
    assert [len(headers.get_all(name, [])) for name in ("Date", "Server")] == [1, 1], "the program's own"
    assert headers["Server"].startswith("BaseHTTP")
    assert body == b"('/a%20b/c?d=e', 'passed', None, 3000000)", "the sandbox's own token stays outside"
    routed = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": "9000"}
    assert ask(pool, routed, "/r", b"1")[0] == 201


def test_ports_that_speak_https(pool: PoolServer) -> None:
    sandbox = Sandbox.create(timeout=60, network={"https_ports": [9000, 9001]}, **pool.where())
    try:
        info = sandbox.get_info().network
        assert info is not None
        assert info["https_ports"] == [9000, 9001]
        made = "openssl req -x509 -newkey rsa:2048 -keyout key.pem -out cert.pem -days 1 -nodes -subj /CN=localhost"
        sandbox.commands.run(made, envs={"OPENSSL_CONF": "/dev/null"})
        server = 'server = http.server.ThreadingHTTPServer(("127.0.0.1", 9000), Handler)\nimport ssl\n'
        server += "context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\ncontext.load_cert_chain('cert.pem', 'key.pem')\n"
        server += "server.socket = context.wrap_socket(server.socket, server_side=True)\nserver.serve_forever()\n"
        sandbox.files.write("echo.py", ECHO[: ECHO.index("http.server.Threading")] + server)
        sandbox.commands.run("python3 echo.py", background=True).disconnect()
        sandbox.files.write("raw.py", RAW)
        sandbox.commands.run("python3 raw.py", background=True).disconnect()
        sandbox.commands.run('for p in 9000 9001; do until [ -n "$(ss -Htln sport = :$p)" ]; do sleep 0.1; done; done')
        host = {"Host": f"9000-{sandbox.sandbox_id}.any.example"}
        assert len(ask(pool, host)[2]) == 100 * 0x4000
        status, _, body = ask(pool, host, "/a", b"y" * 3_000_000)
        assert (status, body) == (201, b"('/a', None, None, 3000000)")
        status, _, body = ask(pool, {"Host": f"9001-{sandbox.sandbox_id}.any.example"})
        assert (status, b"does not speak HTTPS" in body) == (502, True)
    finally:
        sandbox.kill()


def test_an_answer_that_breaks_off_is_not_told_as_whole(pool: PoolServer, sandbox: Sandbox) -> None:
    half = RAW.replace("SSH-2.0", "HTTP/1.1 200 OK\\r\\nContent-Length: 100").replace(
        "\\r\\n\\r\\n", "\\r\\n\\r\\nhalf"
    )
    assert "nhalf" in half
    sandbox.files.write("half.py", half.replace("connection.sendall", "connection.recv(9999); connection.sendall"))
    sandbox.commands.run("python3 half.py", background=True).disconnect()
    sandbox.commands.run('until [ -n "$(ss -Htln sport = :9001)" ]; do sleep 0.1; done')
    with pytest.raises(http.client.IncompleteRead):
        ask(pool, {"Host": f"9001-{sandbox.sandbox_id}.any.example"})


def test_a_program_that_accepts_late_is_waited_for(pool: PoolServer, sandbox: Sandbox) -> None:
    """Its queue of connections is full meanwhile; the sandbox does all else."""
    late = RAW.replace("9001)", "9001), backlog=0").replace("while True", "import os, time\nwhile True")
    late = late.replace("    connection, _", "    while not os.path.exists('now'): time.sleep(0.1)\n    connection, _")
    answer = "connection.recv(9999); connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')"
    sandbox.files.write("late.py", late.replace('connection.sendall(b"SSH-2.0\\r\\n\\r\\n")', answer))
    sandbox.commands.run("python3 late.py", background=True).disconnect()
    sandbox.commands.run('until [ -n "$(ss -Htln sport = :9001)" ]; do sleep 0.1; done')
    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(ask, pool, {"Host": f"9001-{sandbox.sandbox_id}.any.example"}) for _ in range(6)]
        took_s = []
        for _ in range(20):
            began = time.monotonic()
            sandbox.files.exists("here")
            took_s.append(time.monotonic() - began)
            time.sleep(0.1)
        assert statistics.median(took_s) < 0.9
        sandbox.files.write("now", "")
        assert [one.result()[::2] for one in asked] == [(200, b"ok")] * 6


def test_what_speaks_no_http_is_told_as_that(pool: PoolServer, sandbox: Sandbox) -> None:
    sandbox.files.write("raw.py", RAW)
    sandbox.commands.run("python3 raw.py", background=True).disconnect()
    sandbox.commands.run('until [ -n "$(ss -Htln sport = :9001)" ]; do sleep 0.1; done')
    status, _, body = ask(pool, {"Host": f"9001-{sandbox.sandbox_id}.any.example"})
    assert (status, b"HTTP/1.1" in body) == (502, True)


def test_a_sandbox_that_is_gone(pool: PoolServer) -> None:
    status, _, body = ask(pool, {"Host": "9000-inotthere.any.example"})
    assert (status, b"was not found" in body) == (502, True)


def test_beyond_loopback_a_key_is_required(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sandbox_gym", "serve", "pool", "--host", "0.0.0.0", "--allow-unauthenticated"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "no token is set" in done.stderr


def test_on_loopback_no_key_is_needed(tmp_path: Path) -> None:
    server = PoolServer("local", tmp_path, keys="")
    try:
        sandbox = Sandbox.create(timeout=30, api_key="anything", api_url=server.url, sandbox_url=server.url)
        assert sandbox.commands.run("echo open").stdout == "open\n"
    finally:
        server.stop()


def test_a_bad_keys_file_is_told_before_the_start(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    for text, word in (("", "no [tenants"), ("[tenants.a]\nkeys=['short']", "16"), ("[tenants.a]\nkeyz=1", "keys")):
        file.write_text(text)
        command = [sys.executable, "-m", "sandbox_gym", "serve", "pool", "--keys", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert word in done.stderr
