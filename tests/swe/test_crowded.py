"""Right patches on a machine on which others want all CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import httpx2 as httpx
import pytest

from tests.load.servers import ServerProcess
from tests.server.fakes import JSON
from tests.swe.imitations.projects import diff
from tests.swe.instance import Document, request, serving_swe

CROWD = 4 * (os.cpu_count() or 1)
BASE = {"burns.py": "def burn():\n    return 0\n"}
BUSY = """import time


def burn():
    end = time.thread_time() + 0.6
    while time.thread_time() < end:
        pass
    return 1
"""
TESTS = """from burns import burn


def test_burns():
    assert burn() == 1


def test_quick():
    assert 1 + 1 == 2
"""
ROW: Document = {
    "instance_id": "burns__burns-1",
    "repo": "burns",
    "environment": {"files": BASE, "packages": ["pytest"]},
    "patch": diff(BASE, {"burns.py": BUSY}),
    "test_patch": diff(BASE, {"test_burns.py": TESTS}),
    "FAIL_TO_PASS": ["test_burns.py::test_burns"],
    "PASS_TO_PASS": ["test_burns.py::test_quick"],
    "test_timeout_s": 3.0,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving_swe("local", tmp_path_factory.mktemp("late")) as running:
        yield running


@pytest.fixture
def crowd() -> Iterator[None]:
    """Processes that want all CPU, each in a session of its own, so that the kernel groups none."""
    spin = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(spin, start_new_session=True) for _ in range(CROWD)]
    yield
    for process in spinning:
        process.kill()
        process.wait()


def verify(server: ServerProcess, text: str) -> tuple[int, Document]:
    body = json.dumps(request(ROW, diff(BASE, {"burns.py": text})))
    reply = httpx.post(f"{server.url}/verify", content=body, headers=JSON, timeout=600)
    return reply.status_code, reply.json()


@pytest.mark.extended
@pytest.mark.timeout(900)
def test_a_crowd_costs_no_right_patch_its_reward(server: ServerProcess, crowd: None) -> None:
    """It has its reward, or there is no verdict; what hangs in its sleep has none on a crowded machine either."""
    for text in (BUSY, BUSY.replace("return 1", "return 2 - 1")):
        code, found = verify(server, text)
        assert (code, found["reward"]) == (200, 1.0) or (code == 503 and found["failure_kind"] == "starved"), found
    code, found = verify(server, "import time\n\n\ndef burn():\n    time.sleep(1000)\n")
    assert code == 503 or (code == 200 and found["reward"] == 0.0)
