"""Servers on one journal, restarted in turn under load, as an upgrade does it: every verdict right, and each once."""

from __future__ import annotations

import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from sandbox_gym.client import Client, Progress, Verified
from tests.load.servers import ServerProcess, free_port

pytestmark = pytest.mark.timeout(1200)
ROOT = Path(__file__).parents[2]
DRAIN = {"SANDBOX_GYM_DRAIN_S": "2", "SANDBOX_GYM_SHUTDOWN_GRACE_S": "30", "SANDBOX_GYM_BOXES": "2"}


class Fleet:
    """Servers that are restarted in turn, as an upgrade does it: the next one when the last one is ready again."""

    def __init__(self, folder: Path, count: int, settings: dict[str, str]) -> None:
        self._folder, self._settings = folder, {**DRAIN, **settings}
        self._ports = [free_port() for _ in range(count)]
        for number in range(count):
            (folder / str(number)).mkdir()
        with ThreadPoolExecutor(count) as threads:
            self.servers = list(threads.map(self._started, range(count)))
        self.urls = [server.url for server in self.servers]
        self.restarts = self.begun = 0
        self._done, self._more = 0, threading.Condition()
        self.failed: list[BaseException] = []

    def _started(self, number: int) -> ServerProcess:
        return ServerProcess("local", self._folder / str(number), self._ports[number], self._settings)

    def saw(self, told: Progress) -> None:
        with self._more:
            self._done = told.done
            self._more.notify()

    def restart_at(self, numbers: list[int]) -> None:
        """Whoever is next, at these numbers of verdicts."""
        try:
            for turn, at in enumerate(numbers):
                with self._more:
                    assert self._more.wait_for(lambda: self._done >= at, timeout=300)  # noqa: B023
                self._restart(turn % len(self.servers))
        except BaseException as error:
            self.failed.append(error)

    def _restart(self, number: int) -> None:
        self.begun += 1
        process = self.servers[number].process
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, self.servers[number].log()
        self.servers[number] = self._started(number)
        ready_by = time.monotonic() + 60
        while httpx.get(f"{self.servers[number].url}/health", timeout=30).status_code != 200:
            assert time.monotonic() < ready_by
        self.restarts += 1

    def await_begun(self, restarts: int) -> None:
        until = time.monotonic() + 600
        while self.begun < restarts and not self.failed:
            assert time.monotonic() < until, f"{self.begun} of {restarts} have begun"
            time.sleep(0.05)

    def stop(self) -> None:
        for server in self.servers:
            server.stop()


@contextmanager
def restarted(folder: Path, servers: int, at: list[int], settings: dict[str, str]) -> Iterator[Fleet]:
    fleet = Fleet(folder, servers, settings)
    thread = threading.Thread(target=fleet.restart_at, args=(at,))
    with ExitStack() as ends:
        ends.callback(fleet.stop)
        thread.start()
        ends.callback(thread.join, 600)
        yield fleet
    if fleet.failed:
        raise fleet.failed[0]


def rows(count: int, restarts: int, fleet: Fleet) -> Iterator[tuple[dict[str, object], str]]:
    """Every third answer is wrong; each waits for a moment, so that a stop finds some at work. The last twentieth come
    when the last restart has begun: on a machine with other work restarts take long."""
    for number in range(count):
        if number == count - count // 20:
            fleet.await_begun(restarts)
        tests = {"inputs": [str(number)], "outputs": [str(2 * number)]}
        wrong = number % 3 == 0
        yield (
            {"verifier_metadata": {"unit_tests": tests}},
            f"import time\ntime.sleep(0.2)\nprint(2 * int(input()) + {int(wrong)})",
        )


def through(count: int, restarts: int, url: str | list[str], fleet: Fleet) -> list[Verified]:
    with Client(url) as client:
        started = time.monotonic()
        found = list(client.verify_many(rows(count, restarts, fleet), at_once=16, key_prefix="run", progress=fleet.saw))
        seconds = time.monotonic() - started
    requests = sum(0 if each.verdict is None else each.verdict.requests for each in found)
    print(f"{count} verifies in {seconds:.1f} s, {requests - count} tried again, {fleet.begun} restarts")  # noqa: T201
    return found


def once_each(journal: Path, count: int) -> None:
    with closing(sqlite3.connect(journal)) as opened:
        (by_key,) = opened.execute("select count(distinct idempotency_key) from journal_verdicts").fetchone()
        (of_all,) = opened.execute("select count(*) from journal_verdicts where reward is not null").fetchone()
    assert (by_key, of_all) == (count, count)


@contextmanager
def direct(folder: Path, urls: list[str]) -> Iterator[list[str]]:
    yield urls


@contextmanager
def by_nginx(folder: Path, urls: list[str]) -> Iterator[str]:
    """The one address of deploy/nginx, with these servers behind it."""
    text, port = (ROOT / "deploy" / "nginx" / "sandbox-gym.conf").read_text(), free_port()
    for number, url in enumerate(urls):
        text = text.replace(f"127.0.0.1:{8081 + number}", url.removeprefix("http://"))
    text = text.replace("listen 127.0.0.1:8080", f"listen 127.0.0.1:{port}")
    (folder / "sandbox-gym.conf").write_text(text)
    temp = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temp}include {folder}/sandbox-gym.conf;\n}}\n"
    )
    process = subprocess.Popen([nginx(), "-p", str(folder), "-c", f"{folder}/nginx.conf"])
    try:
        for _ in range(200):
            assert process.poll() is None, (folder / "error.log").read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def nginx() -> str:
    """Debian's, installed or unpacked beneath .run as `make tools` does it."""
    unpacked = ROOT / ".run" / "nginx" / "usr" / "sbin" / "nginx"
    found = shutil.which("nginx") or (str(unpacked) if unpacked.exists() else None)
    assert found is not None, "no nginx: `make tools`, or apt-get install nginx"
    return found


Way = Callable[[Path, list[str]], AbstractContextManager[str | list[str]]]


@pytest.mark.parametrize("way", [direct, pytest.param(by_nginx, marks=pytest.mark.extended)])
def test_every_verdict_is_right_and_there_once(way: Way, tmp_path: Path, whole: bool) -> None:
    count, servers, restarts = (2000, 3, 6) if whole else (100, 2, 1)
    at = [count * (number + 1) // (2 * restarts + 2) for number in range(restarts)]
    journal = tmp_path / "journal.sqlite"
    settings = {"SANDBOX_GYM_JOURNAL_URL": f"sqlite:///{journal}"}
    with restarted(tmp_path, servers, at, settings) as fleet, way(tmp_path, fleet.urls) as url:
        found = through(count, restarts, url, fleet)
    assert fleet.restarts == restarts
    assert [each.reward for each in found] == [float(number % 3 != 0) for number in range(count)]
    once_each(journal, count)
