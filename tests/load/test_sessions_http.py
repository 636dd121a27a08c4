"""Sessions over HTTP: an agent's tools, a server that is killed and started again, and one agent that sees no other."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.conftest import remote_environment
from tests.e2b.servers import PoolServer
from tests.load.servers import ServerProcess, free_port

pytestmark = pytest.mark.timeout(180)
Serve = Callable[..., ServerProcess]


@pytest.fixture(params=["local", "docker", "e2b-on-local"])
def serve(request: pytest.FixtureRequest, tmp_path: Path, pools: Callable[[str], PoolServer]) -> Serve:
    port, provider, beneath = free_port(), *str(request.param).partition("-on-")[::2]
    given = {"SANDBOX_GYM_SESSION_CHECKPOINT_S": "0.2", **(remote_environment(pools(beneath)) if beneath else {})}

    def start(**settings: str) -> ServerProcess:
        return ServerProcess(provider, tmp_path, port, {**given, **settings})

    return start


def call(client: httpx.Client, path: str, **body: object) -> dict[str, object]:
    reply = client.post(path, json=body)
    assert reply.status_code == 200, reply.text[:500]
    document: dict[str, object] = reply.json()
    return document


def test_an_agent_works_in_its_own_sandbox(serve: Serve) -> None:
    with serve() as server, httpx.Client(base_url=server.url, timeout=60) as agent:
        call(agent, "/seed_session")
        assert call(agent, "/bash", command="echo 'print(6 * 7)' > a.py; cd /tmp; pwd")["output"] == "/tmp\n"
        assert call(agent, "/bash", command="pwd; python3 /workspace/a.py")["output"] == "/tmp\n42\n"
        assert call(agent, "/exec", command=["python3", "a.py"])["stdout"] == "42\n"
        assert agent.post("/read_file", json={"path": "a.py"}).json()["content"] == "print(6 * 7)\n"
        assert call(agent, "/python", code="x = open('/workspace/a.py').read()\nx")["output"] == "'print(6 * 7)\\n'\n"
        timed_out = call(agent, "/bash", command="echo begun; sleep 60", timeout_s=0.5)
        assert timed_out["timed_out"] is True
        assert str(timed_out["output"]).endswith("[timed out after 0.5 s: interrupted]\n")
        killed = call(agent, "/bash", command="echo begun; kill -9 $$", timeout_s=50)
        assert (killed["timed_out"], killed["exit_code"]) == (False, 137)
        assert killed["output"] == "begun\n[the shell ended; the next call starts a new one]\n"
        with httpx.Client(base_url=server.url, timeout=60) as other:
            assert call(other, "/bash", command="ls /workspace")["output"] == ""
        wrong = agent.post("/bash", json={"command": 5})
        assert (wrong.status_code, "command" in wrong.text) == (422, True)
        assert agent.post("/bash", json={"command": "a\0b"}).status_code == 422
        call(agent, "/seed_session")
        assert call(agent, "/bash", command="ls /workspace")["output"] == ""


def test_a_closed_session_stays_closed(serve: Serve) -> None:
    with serve() as server, httpx.Client(base_url=server.url, timeout=60) as agent:
        call(agent, "/seed_session", resources_session_id="r1")
        call(agent, "/bash", command="echo 1 > f")
        for _ in range(2):
            call(agent, "/close_session", resources_session_id="r1")
        assert agent.post("/seed_session", json={"resources_session_id": "r1"}).status_code == 409
        assert agent.post("/bash", json={"command": "ls"}).status_code == 409


def test_sessions_outlive_a_killed_server(serve: Serve) -> None:
    with httpx.Client(timeout=60) as agent:
        with serve() as server:
            agent.base_url = httpx.URL(server.url)
            call(agent, "/bash", command="mkdir d; cd d; echo kept > f")
            server.wait_for(lambda health: health["sessions"]["checkpoints"] == 1)
            server.stop(signal.SIGKILL)
        with serve() as server:
            reply = call(agent, "/bash", command="pwd; cat f")
            assert str(reply["output"]).endswith("]\n/workspace/d\nkept\n")
            assert reply["state_lost"] is True
            assert call(agent, "/bash", command="pwd")["state_lost"] is False
