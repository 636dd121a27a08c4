"""A server that is told to stop: what probes see, what is still answered, and what becomes of what takes longer."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.load.servers import ServerProcess

pytestmark = pytest.mark.timeout(180)
WORKERS = [1, pytest.param(2, marks=pytest.mark.extended)]
QUICK = {"verifier_metadata": {"unit_tests": {"inputs": ["2"], "outputs": ["2"]}}, "answer": "print(input())"}
LONG = {**QUICK, "answer": "import time\ntime.sleep({})\nprint(input())"}


def verify(server: ServerProcess, seconds: float = 0) -> httpx.Response:
    body = {**LONG, "answer": str(LONG["answer"]).format(seconds)} if seconds else QUICK
    return httpx.post(f"{server.url}/verify", json=body, timeout=120)


def at_work(server: ServerProcess) -> None:
    server.wait_for(lambda health: health["stats"]["leased"] > 0)


@pytest.fixture
def waiting() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as threads:
        yield threads


def served(folder: Path, workers: int, **settings: str) -> ServerProcess:
    given = {
        f"SANDBOX_GYM_{name}": value for name, value in {"BOXES": "4", "WORKERS": str(workers), **settings}.items()
    }
    return ServerProcess("local", folder, settings=given)


@pytest.mark.parametrize("workers", WORKERS)
def test_probes_go_red_first_and_what_takes_too_long_is_told_to_come_again(
    workers: int, tmp_path: Path, waiting: ThreadPoolExecutor
) -> None:
    with served(tmp_path, workers, DRAIN_S="4", SHUTDOWN_GRACE_S="2") as server:
        assert verify(server).json()["reward"] == 1.0
        long: Future[httpx.Response] = waiting.submit(verify, server, 25)
        at_work(server)
        with httpx.Client(timeout=60) as kept:
            assert kept.get(f"{server.url}/").status_code == 200
            server.process.send_signal(signal.SIGTERM)
            red_by = time.monotonic() + 3
            while (probe := kept.get(f"{server.url}/")).status_code == 200:
                assert time.monotonic() < red_by, "the probe never went red"
            assert (probe.status_code, probe.headers["Retry-After"]) == (503, "1")
            assert httpx.get(f"{server.url}/health", timeout=10).status_code == 503
            told = kept.post(f"{server.url}/verify", json=QUICK)
            assert (told.json()["reward"], told.headers["Connection"]) == (1.0, "close")
        assert server.process.wait(60) == 0
        cut = long.result(60)
        assert (cut.status_code, cut.headers["Retry-After"]) == (503, "1"), cut.text
        assert cut.json()["failure_kind"] == "sandbox_unavailable"
        with pytest.raises(httpx.ConnectError):
            verify(server)


@pytest.mark.parametrize("workers", WORKERS)
def test_what_ends_within_the_grace_is_answered(workers: int, tmp_path: Path, waiting: ThreadPoolExecutor) -> None:
    """Also what one worker does for another, which half of the requests are."""
    with served(tmp_path, workers, SHUTDOWN_GRACE_S="60") as server:
        running = [waiting.submit(verify, server, 10) for _ in range(2)]
        at_work(server)
        server.process.send_signal(signal.SIGTERM)
        assert [one.result(60).json()["reward"] for one in running] == [1.0, 1.0]
        assert server.process.wait(60) == 0


def test_a_second_signal_ends_the_drain(tmp_path: Path) -> None:
    with served(tmp_path, 1, DRAIN_S="600") as server:
        server.process.send_signal(signal.SIGTERM)
        while httpx.get(f"{server.url}/", timeout=10).status_code == 200:
            pass
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
