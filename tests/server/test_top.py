"""`sandbox-gym top`: the picture in a terminal, which a server's words must not steer."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx2 as httpx
import pytest
from rich.console import Console
from typer.testing import CliRunner

from sandbox_gym.cli import _app
from sandbox_gym.cli.top_picture import no_answer, picture
from tests.load.servers import ServerProcess
from tests.server.fakes import verify_body

HOSTILE = "\x1b]0;owned\x07\x1b[2J[red]markup[/red]\u202e\nnext\x9b31m"
TOKEN = "operators"


def drawn(document: Any, width: int = 120) -> str:
    """As a terminal without colours gets it."""
    console = Console(width=width, color_system=None, force_terminal=True, legacy_windows=False)
    with console.capture() as capture:
        console.print(picture(document, width))
    return capture.get()


def hostile(value: object) -> object:
    """A document whose every word is hostile, keys too."""
    if isinstance(value, dict):
        return {name: hostile(each) for name, each in value.items()} | {HOSTILE: 1}
    if isinstance(value, list):
        return [hostile(each) for each in value]
    return HOSTILE if isinstance(value, str) else value


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = {"SANDBOX_GYM_JOURNAL_URL": "off", "SANDBOX_GYM_TOKEN": TOKEN}
    with ServerProcess("fake", tmp_path_factory.mktemp("top"), settings=settings) as process:
        row = {"task_id": "doubling/1", "unit_tests": {"inputs": ["1"], "outputs": ["2"]}}
        headers = {"Authorization": f"Bearer {TOKEN}", "X-Sandbox-Gym-Tenant": HOSTILE.encode().hex()}
        body = verify_body("```python\nprint(2)\n```", verifier_metadata=row)
        httpx.post(f"{process.url}/verify", json=body, headers=headers, timeout=30).raise_for_status()
        yield process


def live(server: ServerProcess) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return httpx.get(f"{server.url}/dashboard/api/live", headers=headers, timeout=30).json()


def top(*arguments: str, token: str = TOKEN) -> tuple[int, str, str]:
    done = CliRunner().invoke(_app, ["top", *arguments], env={"SANDBOX_GYM_TOKEN": token, "COLUMNS": "120"})
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_picture_holds_what_the_dashboard_shows(server: ServerProcess, width: int) -> None:
    shown = drawn(live(server), width)
    for words in (
        "coding",
        "fake",
        "pool",
        "slots",
        "waiting 0",
        "verdict mix",
        "wrong answer",
        "latencies",
        "p95",
        "doubling",
    ):
        assert words in shown, words
    assert max(map(len, shown.splitlines())) <= width


def test_what_rose_on_the_radar_stands_there(server: ServerProcess) -> None:
    document = httpx.get(f"{server.url}/dashboard/api/live", headers={"Authorization": f"Bearer {TOKEN}"}).json()
    assert "radar" not in drawn(document)
    document["radar"]["rises"] = [{"text": f"pytest_patched rose from 0 % to 3 % {HOSTILE}"}]
    shown = drawn(document)
    assert "pytest_patched rose from 0 % to 3 %" in shown
    assert "\x1b]0" not in shown


@pytest.mark.parametrize("width", [60, 120])
def test_no_word_of_a_server_steers_the_terminal(server: ServerProcess, width: int) -> None:
    document: Any = hostile(live(server))
    document["feed"] = {
        "counts": {HOSTILE: 3},
        "events": [{"kind": HOSTILE, "cause": HOSTILE, "why": HOSTILE, "at": 1}],
    }
    shown = drawn(document, width)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert "⟨ESC⟩" in shown
    assert "[red]" in shown


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"server": [], "pool": 3, "verdicts": {"rates": [[1, "x"], 5, [-1]], "mix": "x", "latest": [1]}, "phases": {}},
        {"pool": {"slots": 10**9, "leased": -5, "warm": "x"}, "queue": {"tenants": [{}]}, "sessions": {"live": None}},
        {"verdicts": {"rates": [[10**12]], "mix": [{"recent": 10**12}], "latest": [{"at": 1e300, "seconds": -1}]}},
        {"sandboxes": {"tenants": [{}], "latest": [{}]}},
    ],
)
def test_a_document_that_says_anything_can_be_drawn(document: Any) -> None:
    assert "sandbox-gym top" in drawn(document)


def test_what_a_server_that_fails_says_is_inert_too() -> None:
    console = Console(width=200, color_system=None, force_terminal=True)
    with console.capture() as capture:
        console.print(no_answer(HOSTILE))
    assert "\x1b" not in capture.get()


def test_once_prints_one_picture_and_json_one_object(server: ServerProcess) -> None:
    code, shown, _ = top(server.url, "--once")
    assert (code, "latest verdicts" in shown) == (0, True)
    code, shown, _ = top(server.url, "--once", "--json")
    assert code == 0
    assert json.loads(shown)["server"]["kind"] == "coding"


def test_svg_is_a_drawing(server: ServerProcess, tmp_path: Path) -> None:
    assert top(server.url, "--svg", str(tmp_path / "top.svg"))[0] == 0
    text = (tmp_path / "top.svg").read_text("utf-8")
    assert text.startswith("<svg")
    assert "latest" in text
    assert "<script" not in text


def test_the_token_is_asked_for(server: ServerProcess) -> None:
    code, shown, told = top(server.url, "--once", token="")
    assert (code, shown) == (2, "")
    assert "operator's token" in told
    assert top(server.url, "--once", "--token", TOKEN, token="")[0] == 0


class _Stranger(BaseHTTPRequestHandler):
    """Says what the test wants, and remembers what it was told."""

    answers: ClassVar[list[tuple[int, dict[str, str], bytes]]] = []
    heard: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.heard.append(f"{self.headers['Authorization']} {self.path}")
        status, headers, body = self.answers[0]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def stranger() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        _Stranger.heard.clear()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((200, {}, b"no json\x1b[2J"), 1),
        ((200, {}, b"[]"), 1),
        ((404, {}, b"\x1b[2J"), 2),
        ((500, {}, b""), 1),
        ((302, {"Location": "/elsewhere"}, b""), 1),
    ],
)
def test_what_is_no_dashboard_is_told(stranger: str, answer: tuple[int, dict[str, str], bytes], code: int) -> None:
    _Stranger.answers[:] = [answer]
    exit_code, _, told = top(stranger, "--once")
    assert exit_code == code
    assert stranger in told
    assert "\x1b" not in told
    assert _Stranger.heard == [f"Bearer {TOKEN} /dashboard/api/live"]  # and nothing that it was led to


def test_nobody_there_is_told() -> None:
    code, _, told = top("http://127.0.0.1:9", "--once")
    assert (code, "urlopen" in told) == (1, False)
    assert "no server answers at http://127.0.0.1:9 (Connection refused)" in told
    assert "sandbox-gym serve" in told
    assert top("file:///etc/passwd", "--once")[0] == 2


def test_in_a_terminal_it_follows_and_leaves_the_screen_as_it_was(server: ServerProcess) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "sandbox_gym", "top", server.url, "--every", "0.5"]
    environment = {**os.environ, "SANDBOX_GYM_TOKEN": TOKEN, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "50"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = bytearray()
    try:
        while seen.count(b"latest verdicts") < 3:  # three pictures
            readable, _, _ = select.select([ours], [], [], 60)
            assert readable, seen
            seen += os.read(ours, 65536)
        process.send_signal(signal.SIGINT)
        while select.select([ours], [], [], 60)[0]:
            try:
                got = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            seen += got
        assert process.wait(30) == 130  # as every command says that it was interrupted
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert b"\x1b[?1049h" in seen
    assert seen.rstrip().endswith(b"\x1b[?25h") or seen.count(b"\x1b[?1049l") == 1
    assert b"Traceback" not in seen
