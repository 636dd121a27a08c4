"""Two real servers with one journal, one of them killed and started again under load: every verdict, and each once."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sandbox_gym.client import Client, Progress, Verified
from tests.load.servers import ServerProcess, free_port

pytestmark = pytest.mark.timeout(1200)


class Killed:
    """A server that a thread kills and starts again, at these numbers of verdicts."""

    def __init__(self, folder: Path, settings: dict[str, str], at: list[int]) -> None:
        self._folder, self._settings, self._at, self._port = folder, settings, at, free_port()
        self.server = self._started()
        self.url = self.server.url
        self._done, self._more = 0, threading.Condition()
        self.kills = 0
        self._thread = threading.Thread(target=self._go_on)
        self._thread.start()

    def _started(self) -> ServerProcess:
        return ServerProcess("local", self._folder, self._port, self._settings, server="math")

    def saw(self, told: Progress) -> None:
        with self._more:
            self._done = told.done
            self._more.notify()

    def _go_on(self) -> None:
        for number in self._at:
            with self._more:
                self._more.wait_for(lambda: self._done >= number, timeout=300)  # noqa: B023
            self.server.stop(signal.SIGKILL)
            self.kills += 1
            time.sleep(0.3)
            self.server = self._started()

    def end(self) -> None:
        self._thread.join(300)
        self.server.stop()


@contextmanager
def two_servers(folder: Path, at: list[int]) -> Iterator[tuple[Killed, ServerProcess]]:
    settings = {"SANDBOX_GYM_JOURNAL_URL": f"sqlite:///{folder}/journal.sqlite"}
    (folder / "killed").mkdir()
    with ThreadPoolExecutor(1) as threads:
        starting = threads.submit(ServerProcess, "local", folder, settings=settings, server="math")
        killed = Killed(folder / "killed", settings, at)
        try:
            with starting.result() as steady:
                yield killed, steady
        finally:
            killed.end()


def rows(count: int) -> Iterator[tuple[dict[str, object], str]]:
    """Every third answer is wrong."""
    for number in range(count):
        yield {"question": "?", "expected_answer": str(number)}, f"\\boxed{{{number + (number % 3 == 0)}}}"


@pytest.mark.parametrize(
    ("count", "kills"),
    [pytest.param(300, 1, id="300"), pytest.param(10_000, 3, id="10000", marks=pytest.mark.extended)],
)
def test_each_verify_has_its_verdict_and_is_once_in_the_journal(count: int, kills: int, tmp_path: Path) -> None:
    at = [count * (number + 1) // (kills + 2) for number in range(kills)]
    with two_servers(tmp_path, at) as (killed, steady), Client([killed.url, steady.url]) as client:
        started = time.monotonic()
        found = list(client.verify_many(rows(count), at_once=64, key_prefix="run", progress=killed.saw))
        seconds = time.monotonic() - started
    right = [each for each in found if each.reward == float(each.index % 3 != 0)]
    requests = sum(_requests(each) for each in found)
    print(f"{count} verifies in {seconds:.1f} s, {requests - count} tried again, {_servers(found)}")  # noqa: T201
    assert (len(found), len(right), killed.kills) == (count, count, kills)
    assert set(_servers(found)) == {killed.url, steady.url}
    assert requests > count
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as journal:
        (by_key,) = journal.execute("select count(distinct idempotency_key) from journal_verdicts").fetchone()
        (of_all,) = journal.execute("select count(*) from journal_verdicts").fetchone()
    assert (by_key, of_all) == (count, count)


@pytest.mark.extended
def test_what_waits_for_a_silent_server_goes_elsewhere(tmp_path: Path) -> None:
    """It is stopped, so that its kernel still takes connections; half a minute, since a busy server is silent, too."""
    with two_servers(tmp_path, []) as (silent, steady), Client([silent.url, steady.url]) as client:
        assert all(each.reward is not None for each in client.verify_many(rows(20), at_once=4))
        silent.server.process.send_signal(signal.SIGSTOP)
        try:
            found = list(client.verify_many(rows(50), at_once=8, deadline_s=200))
        finally:
            silent.server.process.send_signal(signal.SIGCONT)
        assert [each.reward for each in found] == [float(number % 3 != 0) for number in range(50)]
        assert max(map(_requests, found)) == 2
        deadline = time.monotonic() + 60
        while silent.url not in _servers(list(client.verify_many(rows(20), at_once=4))):
            assert time.monotonic() < deadline, "it is never asked again"


def _requests(each: Verified) -> int:
    return 0 if each.verdict is None else each.verdict.requests


def _servers(found: list[Verified]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in found:
        if each.verdict is not None:
            counts[each.verdict.server] = counts.get(each.verdict.server, 0) + 1
    return counts
