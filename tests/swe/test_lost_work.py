"""Work that goes with its sandbox, between an agent's last call and the verdict: judged where none of it is gone, else
no verdict, however often it is asked for. An older state is never judged in its place."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from examples.agents.chaos import jails
from examples.agents.instances import made_on_the_spot
from tests.load.servers import ServerProcess, free_port

pytestmark = [pytest.mark.timeout(300), pytest.mark.extended]
TASK = next(task for task in made_on_the_spot() if task.plan == "gold")
FIX = f"git apply <<'EOF'\n{TASK.patch}EOF\n"


class Agent:
    """One session of a server that may be started again."""

    def __init__(self) -> None:
        self.http = httpx.Client(timeout=120)

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(self, server: ServerProcess, path: str, body: dict[str, Any]) -> httpx.Response:
        return self.http.post(server.url + path, json=body)

    def seed(self, server: ServerProcess) -> None:
        assert self.post(server, "/seed_session", TASK.row).status_code == 200

    def bash(self, server: ServerProcess, command: str) -> None:
        ran = self.post(server, "/bash", {"command": command})
        assert (ran.status_code, ran.json()["exit_code"]) == (200, 0), ran.text

    def verify(self, server: ServerProcess) -> httpx.Response:
        body = {**TASK.row, "responses_create_params": {"input": []}, "response": {"output": []}}
        return self.post(server, "/verify", body)

    def check_no_verdict(self, server: ServerProcess) -> None:
        """Now and when it is asked again."""
        for _ in range(2):
            found = self.verify(server)
            assert (found.status_code, found.json()["mask_sample"]) == (503, True), found.text[:500]
            assert found.json()["failure_kind"] == "swe:sandbox_lost"


def kill_sandboxes(server: ServerProcess) -> None:
    boxes = jails(server.process.pid)
    assert boxes
    for box in boxes:
        os.kill(box, signal.SIGKILL)


@contextmanager
def serving(folder: Path, port: int, end: signal.Signals = signal.SIGTERM) -> Iterator[ServerProcess]:
    """Its sessions are kept only when it ends in order."""
    settings = {"SANDBOX_GYM_SESSION_CHECKPOINT_S": "1000", "SANDBOX_GYM_JOURNAL_URL": "off"}
    server = ServerProcess("local", folder, port, settings, server="swe")
    try:
        yield server
    finally:
        server.stop(end)


def test_only_what_is_whole_is_judged(tmp_path: Path) -> None:
    with Agent() as whole, Agent() as touched, Agent() as killed, Agent() as gone:
        play(tmp_path, whole, touched, killed, gone)


def play(folder: Path, whole: Agent, touched: Agent, killed: Agent, gone: Agent) -> None:
    port = free_port()
    with serving(folder, port) as server:
        for agent in (whole, touched, killed):
            agent.seed(server)
            agent.bash(server, FIX)
        kill_sandboxes(server)
        killed.check_no_verdict(server)
        for agent in (whole, touched):
            lost = agent.post(server, "/submit", {})
            assert (lost.status_code, "lost during this call" in lost.json()["detail"]) == (503, True)
            refused = agent.post(server, "/submit", {})
            assert (refused.status_code, "nothing was handed in" in refused.json()["detail"]) == (503, True)
            agent.bash(server, FIX)
    with serving(folder, port, signal.SIGKILL) as server:
        touched.bash(server, "true")
        kill_sandboxes(server)
        touched.check_no_verdict(server)
        found = whole.verify(server)
        assert (found.status_code, found.json()["reward"]) == (200, 1.0), found.text[:500]
        gone.seed(server)
        gone.bash(server, FIX)
    with serving(folder, port) as server:
        gone.check_no_verdict(server)


def test_a_verdict_is_not_asked_for_twice_of_a_session_that_is_over(tmp_path: Path) -> None:
    """A client that never got the first answer sends the same request, with the cookie that it has."""
    with serving(tmp_path, free_port()) as server, Agent() as agent:
        agent.seed(server)
        agent.bash(server, FIX)
        cookies = dict(agent.http.cookies)
        assert agent.verify(server).json()["reward"] == 1.0
        agent.http.cookies.clear()
        agent.http.cookies.update(cookies)
        agent.check_no_verdict(server)
