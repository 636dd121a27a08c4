"""Every command ends in order by SIGINT and by SIGTERM, also where it was started with SIGINT ignored."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
import typer
from _pytest.mark import ParameterSet

from sandbox_gym.cli import _app
from tests.cli.running import PROGRAM, coding_row, rows_file
from tests.load.servers import free_port


@dataclass
class Silent:
    """A server that takes connections and says nothing: what a command asks of it never ends."""

    listener: socket.socket
    held: list[socket.socket]

    @property
    def port(self) -> int:
        port: int = self.listener.getsockname()[1]
        return port

    def wait(self) -> None:
        """Until somebody asks."""
        self.held.append(self.listener.accept()[0])


@pytest.fixture
def silent() -> Iterator[Silent]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        found = Silent(listener, [])
        yield found
        for one in found.held:
            one.close()


QUICK = {
    *("completion", "cluster nodes", "cluster drain", "cluster undrain", "doctor", "pool gc", "import-package"),
    *("images plan", "swe template"),
}
"""These ask once and are done: what they ask has deadlines of its own."""
SERVERS = ("coding", "math", "swe", "pool")
LONG: dict[str, tuple[str, ...]] = {
    "top": ("http://127.0.0.1:{port}",),
    "rejudge": ("--journal", "postgresql://u:p@127.0.0.1:{port}/x"),
    "verdicts": ("--journal", "postgresql://u:p@127.0.0.1:{port}/x"),
    "export": ("--journal", "postgresql://u:p@127.0.0.1:{port}/x", "--out", "{folder}/out"),
    "verify": ("{rows}", "--out", "{folder}/out"),
    "audit": ("{rows}",),
    "load": ("{rows}",),
    "swe validate": ("{rows}",),
    "images prefetch": ("{rows}",),
    "swe build": ("{rows}",),
    "check-package": ("{folder}/package",),
}


def _commands(group: Any, before: str = "") -> set[str]:
    found: set[str] = set()
    for name, one in group.commands.items():
        found |= _commands(one, f"{before}{name} ") if hasattr(one, "commands") else {before + name}
    return found


def test_every_command_is_known_here() -> None:
    assert _commands(typer.main.get_command(_app)) == QUICK | set(LONG) | {"serve"}


@contextmanager
def _started(words: list[str], folder: Path, **more: str) -> Iterator[subprocess.Popen[str]]:
    """As a script's background job: SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [*PROGRAM, *words],
            env={**os.environ, "SANDBOX_GYM_STATE_DIR": str(folder / "state"), **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _package(folder: Path) -> None:
    """A contest package, as little of one as there can be."""
    for path, text in {
        "package/problem.yaml": "name: x\n",
        "package/data/secret/1.in": "1\n",
        "package/data/secret/1.ans": "1\n",
        "package/submissions/accepted/a.py": "print(input())\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def _each(names: Sequence[str], daily: set[tuple[str, signal.Signals]]) -> list[ParameterSet]:
    """Every name with both signals; those that are not `daily` prove the same way, later."""
    pairs = [(name, number) for name in names for number in (signal.SIGINT, signal.SIGTERM)]
    return [pytest.param(*one, marks=[] if one in daily else [pytest.mark.extended]) for one in pairs]


DAILY = {("verify", signal.SIGTERM), ("top", signal.SIGINT), ("check-package", signal.SIGINT)}
DAILY_SERVERS = {("coding --workers 2", signal.SIGINT), ("pool", signal.SIGINT), ("math", signal.SIGTERM)}


@pytest.mark.parametrize(("command", "number"), _each(sorted(LONG), DAILY))
def test_a_command_that_waits_ends(command: str, number: signal.Signals, silent: Silent, tmp_path: Path) -> None:
    rows = rows_file(tmp_path / "rows", [coding_row()])
    _package(tmp_path)
    words = [word.format(port=silent.port, rows=rows, folder=tmp_path) for word in LONG[command]]
    url = f"http://127.0.0.1:{silent.port}"
    asked = {
        "SANDBOX_GYM_PROVIDER": "e2b",
        "SANDBOX_GYM_E2B_API_URL": url,
        "SANDBOX_GYM_E2B_API_KEY": "e2b_" + "0" * 40,
    }
    with _started([*command.split(), *words], tmp_path, **asked) as process:
        silent.wait()
        process.send_signal(number)
        _stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 128 + number, stderr
        assert "Traceback" not in stderr


@pytest.mark.parametrize(("server", "number"), _each([*SERVERS, "coding --workers 2"], DAILY_SERVERS))
def test_a_server_stops(server: str, number: signal.Signals, tmp_path: Path) -> None:
    port = free_port()
    words = ["serve", *server.split(), "--port", str(port), "--provider", "local", "--boxes", "4"]
    with _started(words, tmp_path) as process:
        _wait_until_serving(process, port)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stdout + stderr
        assert "Traceback" not in stdout + stderr


def _wait_until_serving(process: subprocess.Popen[str], port: int) -> None:
    """A start takes two seconds; beside ten busy processes it was seen to take more than thirty."""
    until = time.monotonic() + 180
    while not _serves(port):
        assert process.poll() is None, "".join(process.communicate())
        assert time.monotonic() < until, "the server does not answer /health"
        time.sleep(0.1)


def _serves(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health", timeout=20).status_code == 200
    except httpx.HTTPError:
        return False
