"""A session as a plain sandbox: whole output, nothing kept between commands but files, and a loss that is told."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.sandbox.fake import FakeProvider, silent
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.server import CodingResources
from sandbox_gym.server.protocol.wire import Document
from tests.server.fakes import fake_engine

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module", params=["local", "docker"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    fields = {"provider": request.param, "state_dir": tmp_path_factory.mktemp("state"), "boxes": 2}
    settings = Settings.from_flat({**fields, "session_idle_s": 1})
    app = build_app(CodingResources(settings), lambda: open_engine(settings, sessions="boxes"), settings)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


@pytest.fixture(autouse=True)
def box(client: TestClient) -> Iterator[None]:
    """Each test has a sandbox of its own."""
    client.cookies.clear()
    assert call(client, "create")["id"]
    yield
    call(client, "close")


def call(client: TestClient, what: str, **body: object) -> Document:
    answer = client.post(f"/sandbox/{what}", json=body)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert isinstance(document, dict)
    return document


def ran(client: TestClient, command: str, **more: object) -> tuple[object, object, object]:
    done = call(client, "exec", command=command, **more)
    assert (done["lost"], done["truncated"]) == (False, False)
    return done["stdout"], done["stderr"], done["exit_code"]


def test_commands_on_their_own(client: TestClient) -> None:
    assert ran(client, "X=1; cd /tmp; pwd; echo wrong >&2; exit 3") == ("/tmp\n", "wrong\n", 3)
    assert ran(client, "pwd; echo $X; cat") == ("/workspace\n\n", "", 0)
    quoted = 'it\'s "$HOME" \\ `id`\nand more'
    assert ran(client, 'printf %s "$V"', env={"V": quoted}, cwd="/") == (quoted, "", 0)
    stdout, stderr, code = ran(client, "echo unreached", cwd="/none")
    assert (stdout, code, "/none" in str(stderr)) == ("", 1, True)
    assert ran(client, "kill -9 $$")[2] == 137
    assert ran(client, "ls -A /tmp")[0] == ""  # running a command leaves nothing there


def test_output_whole_up_to_the_cap(client: TestClient) -> None:
    assert ran(client, "head -c 3000000 /dev/zero | tr '\\0' a")[0] == "a" * 3_000_000
    flood = call(client, "exec", command="head -c 9000000 /dev/zero | tr '\\0' a; exit 4")
    assert (len(str(flood["stdout"])), flood["truncated"], flood["exit_code"]) == (8 << 20, True, 4)


def test_a_command_that_takes_too_long(client: TestClient) -> None:
    slow = call(client, "exec", command="echo before; sleep 60", timeout_s=2)
    assert (slow["timed_out"], slow["stdout"], slow["lost"]) == (True, "before\n", False)
    assert ran(client, "echo after")[0] == "after\n"


def test_files(client: TestClient) -> None:
    content = base64.b64encode(bytes(range(256))).decode()
    assert call(client, "write", path="/workspace/a/b", content=content) == {"lost": False}
    assert call(client, "read", path="/workspace/a/b") == {"content": content, "lost": False}
    assert ran(client, "stat -c %s a/b")[0] == "256\n"
    for path in ("/workspace/none", "/workspace/a", "/dev/zero"):
        answer = client.post("/sandbox/read", json={"path": path})
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "path")
    assert client.post("/sandbox/write", json={"path": "/x", "content": "?"}).status_code == 422
    for wrong in ({"command": 5}, {"command": "a\0b"}, {"command": "true", "env": {"A=B;": ""}}):
        assert client.post("/sandbox/exec", json=wrong).status_code == 422


def test_a_sandbox_that_slept_is_not_lost(client: TestClient) -> None:
    before = client.get("/health").json()["sessions"]
    ran(client, "echo kept > f")
    while client.get("/health").json()["sessions"]["hibernated"] <= before["hibernated"]:
        pass
    assert call(client, "status") == {"running": True}
    assert ran(client, "cat f")[0] == "kept\n"


def test_a_lost_sandbox_is_told(client: TestClient) -> None:
    """The command kills what serves the session: its shell, then what started that."""
    shell = call(client, "exec", command="kill -9 $PPID; sleep 10")
    assert (shell["lost"], shell["exit_code"]) == (False, 137)
    done = call(client, "exec", command="kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 10")
    assert done["lost"] is True
    after = call(client, "exec", command="true")
    assert after["lost"] is True
    assert ran(client, "echo again")[0] == "again\n"


def test_closed_is_closed(client: TestClient) -> None:
    call(client, "close")
    call(client, "close")
    assert call(client, "status") == {"running": False}
    assert client.post("/sandbox/exec", json={"command": "true"}).status_code == 409
    client.cookies.clear()
    call(client, "create")


def test_a_provider_without_sessions() -> None:
    settings = Settings.from_flat({"provider": "fake"})
    app = build_app(CodingResources(settings), lambda: fake_engine(FakeProvider(silent)), settings)
    with TestClient(app, base_url="http://localhost") as client:
        for what in ("create", "status", "close"):
            assert client.post(f"/sandbox/{what}", json={}).status_code == 422


def test_root_is_refused_by_name_unless_the_operator_allows_it(client: TestClient) -> None:
    seed = client.post("/seed_session", json={"resources_session_id": "asks", "root": True})
    assert (seed.status_code, seed.json()["error"]["field"]) == (422, "root")
    assert "provider docker and SANDBOX_GYM_SESSION_ROOT=true" in seed.json()["error"]["remedy"]
    asked = client.post("/exec", json={"command": "id", "user": "root"})
    assert (asked.status_code, asked.json()["error"]["field"]) == (422, "user")


def test_root_is_for_who_seeds_a_session_with_it_and_ends_with_the_next_seed(tmp_path: Path) -> None:
    settings = Settings.from_flat({"provider": "docker", "state_dir": tmp_path, "boxes": 2, "session_root": True})
    app = build_app(CodingResources(settings), lambda: open_engine(settings, sessions="root"), settings)

    def name(client: TestClient) -> tuple[int, object]:
        answer = client.post("/exec", json={"command": ["id", "-un"], "user": "root"})
        return answer.status_code, answer.json().get("stdout")

    with TestClient(app, base_url="http://localhost") as client:
        assert name(client)[0] == 422, "a call alone gets no root"
        for root, wanted in ((True, (200, "root\n")), (False, (422, None)), (True, (200, "root\n"))):
            seeded = client.post("/seed_session", json={"resources_session_id": "s", "root": root})
            assert (seeded.status_code, name(client)) == (200, wanted)
        assert client.post("/bash", json={"command": "id -un", "user": "root"}).json()["output"] != "root\n"
        assert client.post("/seed_session", json={}).status_code == 200
        assert name(client)[0] == 422
        client.post("/close_session", json={"resources_session_id": "s"})
