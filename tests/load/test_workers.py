"""Three workers behind one port, each request over a connection of its own, so at whichever worker the kernel picks:
sessions, keys and closes are as one process has them, and a worker that is killed costs no more than a lost sandbox."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2 as httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from sandbox_gym.server.protocol.envelope import response_of
from sandbox_gym.server.protocol.wire import Document
from tests.load.servers import ServerProcess
from tests.processes import open_files

pytestmark = pytest.mark.timeout(240)
WORKERS = 3
SETTINGS = {
    "SANDBOX_GYM_WORKERS": str(WORKERS),
    "SANDBOX_GYM_BOXES": "6",
    "SANDBOX_GYM_SESSION_CHECKPOINT_S": "0.2",
    "SANDBOX_GYM_IDEMPOTENCY": "header",
    "SANDBOX_GYM_TOKEN": "t0ken",
}
TOKEN = {"Authorization": "Bearer t0ken"}
TESTS: Document = {"unit_tests": {"inputs": ["2\n", "21\n"], "outputs": ["4\n", "42\n"]}}
WORKER, REPLAYED, VERDICT = "X-Sandbox-Gym-Worker", "X-Sandbox-Gym-Replayed", "X-Sandbox-Gym-Verdict-Id"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess("local", tmp_path_factory.mktemp("workers"), settings=SETTINGS) as server:
        await_all(server)
        yield server


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Of tests that kill its workers, and await the next ones."""
    with ServerProcess("local", tmp_path_factory.mktemp("mortal"), settings=SETTINGS) as server:
        await_all(server)
        yield server


def all_up(health: Document) -> bool:
    workers = health.get("workers")
    return isinstance(workers, list) and [each["up"] for each in workers] == [True] * WORKERS


def await_all(server: ServerProcess) -> None:
    """Until every worker answers; on a busy machine their starts take longer than one request may."""
    ends_at = time.monotonic() + 120
    while True:
        try:
            if all_up(server.health()):
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < ends_at, server.log()[-4000:]
        assert server.process.poll() is None, server.log()[-4000:]
        time.sleep(0.2)


class Agent:
    """A client with a cookie and no lasting connection; remembers where its requests came in and went."""

    def __init__(self, server: ServerProcess, held: Mapping[str, str] = TOKEN) -> None:
        self._url, self._log, self._held = server.url, server.log, held
        self.cookies = httpx.Cookies()
        self.ways: list[tuple[int, int]] = []

    def post(self, path: str, body: Document, **headers: str) -> httpx.Response:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        given = {**self._held, **headers, **({"Cookie": cookie} if cookie else {})}
        answer = httpx.post(self._url + path, json=body, headers=given, timeout=90)
        self.cookies.update(answer.cookies)
        if WORKER in answer.headers:
            came, went = map(int, answer.headers[WORKER].split())
            self.ways.append((came, went))
        return answer

    def call(self, path: str, **body: object) -> Document:
        answer = self.post(path, body)
        assert answer.status_code == 200, answer.text[:500] + self._log()[-4000:]
        document = answer.json()
        assert isinstance(document, dict)
        return document


def verify_body(code: str = "print(int(input()) * 2)") -> Document:
    fenced = f"```python\n{code}\n```"
    return {"responses_create_params": {"input": "?"}, "response": response_of(fenced), "verifier_metadata": TESTS}


def episode(server: ServerProcess, name: str) -> list[tuple[int, int]]:
    """A session's whole life; its requests' ways."""
    agent = Agent(server)
    agent.call("/seed_session")
    agent.call("/bash", command=f"echo {name} > kept; cd /tmp")
    agent.call("/python", code=f"kept = {name!r}")
    for turn in range(6):
        assert agent.call("/bash", command="pwd; cat /workspace/kept")["output"] == f"/tmp\n{name}\n"
        assert agent.call("/python", code=f"kept + '{turn}'")["output"] == f"'{name}{turn}'\n"
    assert agent.call("/verify", **verify_body())["reward"] == 1.0
    assert agent.call("/bash", command="ls /workspace")["output"] == ""  # a verify ends the rollout's sandbox
    return agent.ways


def test_sessions_used_at_any_worker(shared: ServerProcess) -> None:
    ways: list[tuple[int, int]] = []
    ends_at = time.monotonic() + 120
    while len(set(ways)) < WORKERS * WORKERS and time.monotonic() < ends_at:
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(lambda number: episode(shared, f"agent{number}"), range(6)))
        for each in found:
            assert len({went for _, went in each}) == 1, "a session has one worker"
        ways += [way for each in found for way in each]
    assert set(ways) == {(came, went) for came in range(WORKERS) for went in range(WORKERS)}


def test_seeded_tests_are_the_sessions_own(shared: ServerProcess) -> None:
    shown = {"inputs": ["1"], "outputs": ["2"]}
    agent, other = Agent(shared), Agent(shared)
    agent.call("/seed_session", verifier_metadata={**TESTS, "public_tests": shown})
    other.call("/seed_session", verifier_metadata=TESTS)
    for _ in range(6):
        assert agent.call("/run_tests", code="print(int(input()) * 2)")["passed"] == 1
        assert other.post("/run_tests", {"code": "print(1)"}).status_code == 422


def test_a_key_runs_once_wherever_it_is_sent(shared: ServerProcess) -> None:
    def verdicts() -> int:
        stats = shared.health()["stats"]
        return int(stats["verdicts"])

    for attempt in range(3):
        before, key = verdicts(), f"key-{attempt}"
        with ThreadPoolExecutor(8) as pool:
            answers = list(
                pool.map(lambda _: Agent(shared).post("/verify", verify_body(), **{"Idempotency-Key": key}), range(8))  # noqa: B023
            )
        answers.append(Agent(shared).post("/verify", verify_body(), **{"Idempotency-Key": key}))
        assert [answer.status_code for answer in answers] == [200] * 9
        assert len({answer.headers[VERDICT] for answer in answers}) == 1
        assert sum(REPLAYED not in answer.headers for answer in answers) == 1
        assert len({answer.headers[WORKER].split()[1] for answer in answers}) == 1
        assert verdicts() - before <= 1 + WORKERS  # health's own probes are verdicts too
        other = Agent(shared).post("/verify", verify_body("print(4)"), **{"Idempotency-Key": key})
        assert other.status_code == 422


def test_a_close_reaches_the_session_wherever_it_is_sent(shared: ServerProcess) -> None:
    live = shared.health()["sessions"]["live"]
    for number in range(4):
        agent, name = Agent(shared), f"rollout-{number}"
        assert agent.call("/seed_session", resources_session_id=name)["resources_session_id"] == name
        agent.call("/bash", command="echo 1 > kept")
        for _ in range(3):  # by somebody without the cookie, and again
            assert Agent(shared).call("/close_session", resources_session_id=name) == {"resources_session_id": name}
        for _ in range(4):
            assert Agent(shared).post("/seed_session", {"resources_session_id": name}).status_code == 409
        assert agent.post("/bash", {"command": "cat kept"}).status_code == 409
    shared.wait_for(lambda health: health["sessions"]["live"] <= live)


def test_large_bodies_and_wrong_ones_pass_through(shared: ServerProcess) -> None:
    agent = Agent(shared)
    agent.call("/seed_session")
    for _ in range(6):
        answer = agent.call("/verify", **verify_body("# " + "x" * 3_000_000 + "\nprint(int(input()) * 2)"))
        assert answer["reward"] == 1.0
        assert agent.post("/verify", {"response": 7}).status_code == 422
        assert agent.post("/no_such_tool", {}).status_code == 404
    assert {came == went for came, went in agent.ways} == {True, False}


def test_metrics_name_their_worker(shared: ServerProcess) -> None:
    Agent(shared).call("/verify", **verify_body())
    text = httpx.get(shared.url + "/metrics", headers=TOKEN, timeout=60).text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    verdicts = families["sandbox_gym_verdicts"].samples
    assert {sample.labels["worker"] for sample in families["sandbox_gym_pool_leases"].samples} == {"0", "1", "2"}
    assert sum(sample.value for sample in verdicts if sample.name.endswith("_total")) >= 1


def child_pids(server: ServerProcess) -> list[int]:
    """The workers, as their own log names them, of those that live."""
    started = re.findall(r"Started server process \[(\d+)\]", server.log())
    return [int(pid) for pid in dict.fromkeys(started) if Path(f"/proc/{pid}").exists()]


def worker_pid(server: ServerProcess, number: int) -> int:
    """The process that has a worker's place: it holds the place's lock."""
    for pid in child_pids(server):
        if any(file.endswith(f"/workers/{number}.lock") for file in open_files(pid)):
            return pid
    raise AssertionError(f"nobody is worker {number}")


def test_a_killed_worker_is_replaced_and_its_sessions_go_on(mortal: ServerProcess) -> None:
    agents, before = [Agent(mortal) for _ in range(6)], int(mortal.health()["sessions"]["checkpoints"])
    for number, agent in enumerate(agents):
        agent.call("/bash", command=f"echo {number} > kept")
    mortal.wait_for(lambda health: int(health["sessions"]["checkpoints"]) >= before + len(agents))
    lost = agents[0].ways[0][1]
    os.kill(worker_pid(mortal, lost), signal.SIGKILL)
    for number, agent in enumerate(agents):
        answer = until_served(agent, lambda agent=agent: agent.post("/bash", {"command": "cat kept"}))  # type: ignore[misc]
        assert str(answer["output"]).endswith(f"{number}\n")
        assert answer["state_lost"] is (agent.ways[0][1] == lost)
        assert {went for _, went in agent.ways} == {agent.ways[0][1]}
    await_all(mortal)
    verdict = until_served(agents[0], lambda: agents[0].post("/verify", verify_body()))
    assert verdict["reward"] == 1.0


def test_calls_to_a_worker_that_dies_are_no_verdict(mortal: ServerProcess) -> None:
    """Those that came in at another worker are told so; those at the dead one lose their connection."""
    agent = Agent(mortal)
    agent.call("/bash", command="true")
    slow: Document = {"language": "python", "code": "import time\ntime.sleep(60)"}

    def outcome(_: int) -> tuple[int, str]:
        try:
            answer = agent.post("/run_code", slow)
        except httpx.TransportError:
            return 0, ""
        return answer.status_code, str(answer.json().get("failure_kind"))

    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(outcome, number) for number in range(16)]
        time.sleep(3)
        os.kill(worker_pid(mortal, agent.ways[0][1]), signal.SIGKILL)
        outcomes = {each.result() for each in asked}
    assert outcomes <= {(503, "worker_lost"), (0, "")}
    assert (503, "worker_lost") in outcomes
    await_all(mortal)


def test_a_hangup_replaces_workers_one_by_one(mortal: ServerProcess) -> None:
    agent, before = Agent(mortal), set(child_pids(mortal))
    agent.call("/bash", command="echo 1 > kept")
    mortal.process.send_signal(signal.SIGHUP)
    ends_at = time.monotonic() + 120
    while before & set(child_pids(mortal)) or len(child_pids(mortal)) < WORKERS:
        assert time.monotonic() < ends_at
        time.sleep(0.2)
    await_all(mortal)
    assert str(agent.call("/bash", command="cat kept")["output"]).endswith("1\n")


def test_workers_that_cannot_start_end_the_server(tmp_path: Path) -> None:
    missing = {**SETTINGS, "SANDBOX_GYM_WORKERS": "2", "SANDBOX_GYM_LOCAL_PYTHON": str(tmp_path / "none")}
    command = [sys.executable, "-m", "sandbox_gym", "serve", "coding", "--port", "0"]
    own = {**os.environ, **missing, "SANDBOX_GYM_STATE_DIR": str(tmp_path / "state")}
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr[-2000:]
    assert "local_python" in done.stderr or "interpreter" in done.stderr, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--boxes", "4"], "3 workers need at least 2 each"), (["--cluster", "auto"], "a server on a cluster is one")],
)
def test_what_does_not_go_together(tmp_path: Path, options: list[str], said: str) -> None:
    command = [sys.executable, "-m", "sandbox_gym", "serve", "coding", "--port", "0", "--workers", "3", *options]
    own = {**os.environ, "SANDBOX_GYM_STATE_DIR": str(tmp_path / "state")}
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr[-2000:]
    assert said in done.stderr


def until_served(agent: Agent, ask: Callable[[], httpx.Response]) -> Document:
    """What a client does that minds Retry-After."""
    for _ in range(60):
        try:
            answer = ask()
        except httpx.TransportError:
            continue  # it came in at the worker that died
        if answer.status_code == 200:
            document = answer.json()
            assert isinstance(document, dict)
            return document
        assert answer.status_code == 503, answer.text
        time.sleep(0.5)
    raise AssertionError(answer.text)


def test_a_token_guards_every_way_in(shared: ServerProcess) -> None:
    agent = Agent(shared, held={})
    assert agent.post("/bash", {"command": "true"}, **TOKEN).status_code == 200
    for _ in range(6):  # with the cookie: at its worker, and passed on to it
        assert agent.post("/bash", {"command": "true"}).status_code == 401
        assert Agent(shared, held={}).post("/close_session", {"resources_session_id": "a"}).status_code == 401
        assert httpx.get(f"{shared.url}/metrics", timeout=60).status_code == 401
    assert httpx.get(f"{shared.url}/metrics", headers=TOKEN, timeout=60).status_code == 200


def test_workers_end_with_their_parent(mortal: ServerProcess) -> None:
    """The last one of that server's tests."""
    pids = child_pids(mortal)
    assert len(pids) == WORKERS
    mortal.stop(signal.SIGKILL)
    ends_at = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < ends_at
        time.sleep(0.2)
