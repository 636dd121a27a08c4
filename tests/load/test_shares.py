"""What the kernel keeps per user or per machine: sessions that take all they can get leave another session, and a
verify, everything; in one server, across its workers, and across servers of one machine."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx2 as httpx
import pytest

from sandbox_gym.limits import SESSION_PTYS
from sandbox_gym.server.protocol.envelope import response_of
from tests.conformance.shares import HOG, PROBE
from tests.load.servers import ServerProcess

pytestmark = [pytest.mark.timeout(600), pytest.mark.extended]
SETTINGS = {"SANDBOX_GYM_BOXES": "2", "SANDBOX_GYM_SESSION_IDLE_S": "600", "SANDBOX_GYM_SESSION_CHECKPOINT_S": "600"}
NO_PTYS_PROBE = PROBE.replace("print(json.dumps(found))", "print(found['inotify'], found['pty'], found['aio'])")


class Agent:
    """One session of a server's, closed at the end."""

    def __init__(self, server: ServerProcess) -> None:
        self._http = httpx.Client(base_url=server.url, timeout=120)
        self._id = secrets.token_hex(8)
        self._call("/seed_session", resources_session_id=self._id)

    def _call(self, route: str, /, **body: object) -> dict[str, object]:
        reply = self._http.post(route, json=body)
        assert reply.status_code == 200, reply.text[:500]
        document: dict[str, object] = reply.json()
        return document

    def _bash(self, command: str) -> str:
        return str(self._call("/bash", command=command, timeout_s=100)["output"])

    def probe(self) -> dict[str, int]:
        """How much this session can get."""
        self._call("/write_file", path="/tmp/probe.py", content=PROBE)
        found: dict[str, int] = json.loads(self._bash("python3 /tmp/probe.py"))
        return found

    def take_all(self) -> None:
        self._call("/write_file", path="/tmp/hog.py", content=HOG)
        self._bash("python3 /tmp/hog.py > /tmp/out 2>&1 &")
        deadline = time.monotonic() + 120
        while (said := self._call("/read_file", path="/tmp/out")["content"]) != "taken\n":
            assert said == ""
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def close(self) -> None:
        self._call("/close_session", resources_session_id=self._id)
        self._http.close()


def machine() -> tuple[int, int]:
    """Pseudo-terminals and open files of the whole machine."""
    ptys = int(Path("/proc/sys/kernel/pty/nr").read_text())
    return ptys, int(Path("/proc/sys/fs/file-nr").read_text().split()[0])


def verified(server: ServerProcess) -> dict[str, object]:
    """A verify of an answer that says how many inotify instances, ptys and aio contexts it got."""
    instances = Path("/proc/sys/fs/inotify/max_user_instances").read_text().strip()
    tests = {"unit_tests": {"inputs": [""], "outputs": [f"{instances} 0 0\n"]}}
    row = {"verifier_metadata": tests, "response": response_of(f"```python\n{NO_PTYS_PROBE}\n```")}
    row["responses_create_params"] = {"input": "Write it."}
    document: dict[str, object] = httpx.post(f"{server.url}/verify", json=row, timeout=120).json()
    return document


def exhausted(servers: list[ServerProcess], hogs: int) -> None:
    before = machine()
    with ExitStack() as stack:

        def agent(number: int) -> Agent:
            made = Agent(servers[number % len(servers)])
            stack.callback(made.close)
            return made

        other = agent(0)
        alone = other.probe()
        assert (alone["pty"], alone["aio"]) == (SESSION_PTYS, 0)
        for number in range(hogs):
            agent(number).take_all()
        assert machine()[0] >= before[0] + hogs * SESSION_PTYS
        assert other.probe() == alone
        assert [verified(server)["reward"] for server in servers] == [1.0] * len(servers)
    deadline = time.monotonic() + 30
    while machine()[0] > before[0] or machine()[1] > before[1] + 1000:
        assert time.monotonic() < deadline, (before, machine())
        time.sleep(0.2)


def _await(server: ServerProcess) -> None:
    """Until it says so; on a busy machine workers' starts take longer than one request may."""
    deadline = time.monotonic() + 120
    while True:
        with suppress(httpx.TransportError):
            if server.health().get("status") == "ok":
                return
        assert time.monotonic() < deadline, server.log()[-4000:]
        time.sleep(0.2)


@contextmanager
def served(folder: Path, servers: int, provider: str = "local", **settings: str) -> Iterator[list[ServerProcess]]:
    with ExitStack() as stack:
        made = []
        for number in range(servers):
            (folder / str(number)).mkdir()
            made.append(ServerProcess(provider, folder / str(number), settings={**SETTINGS, **settings}))
            stack.callback(made[-1].stop)
        for server in made:
            _await(server)
        yield made


@pytest.mark.parametrize("way", ["one server", "two workers", "two servers"])
def test_ten_sessions_that_take_all_leave_others_theirs(tmp_path: Path, way: str) -> None:
    workers = {"SANDBOX_GYM_WORKERS": "2", "SANDBOX_GYM_BOXES": "4"} if way == "two workers" else {}
    with served(tmp_path, 2 if way == "two servers" else 1, **workers) as servers:
        exhausted(servers, 10)


def test_containers_that_take_all_leave_others_theirs(tmp_path: Path) -> None:
    with served(tmp_path, 2, "docker") as servers:
        exhausted(servers, 10)
