"""SWE-ReX's runtime protocol by plain HTTP. Its own client asks the same in tests/agents."""

from __future__ import annotations

import encodings
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import Response
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.server import CodingResources
from sandbox_gym.server.swe_rex import routes, runtime

pytestmark = pytest.mark.timeout(180)
ALICE, BOB = "alice-key-0123456789", "bob-key-0123456789ab"
KEYS = f'[tenants.alice]\nkeys = ["{ALICE}"]\n[tenants.bob]\nkeys = ["{BOB}"]\n'


class Sandbox:
    """One name at a server."""

    def __init__(self, client: TestClient, name: str, key: str = ALICE) -> None:
        self.client, self.path, self.headers = client, f"/swerex/{name}", {"X-API-Key": key}

    def __call__(self, operation: str, **body: object) -> dict[str, Any]:
        answer = self.client.post(f"{self.path}/{operation}", content=json.dumps(body), headers=self.headers)
        assert answer.status_code in (200, 511), answer.text
        document: dict[str, Any] = answer.json()
        return document

    def run(self, command: str, **more: object) -> Any:
        """(output, exit code); or what was raised."""
        done = self("run_in_session", command=command, **more)
        return raised(done) if "swerexception" in done else (done["output"], done["exit_code"])

    def upload(self, data: bytes, target: str, *, unzip: bool = False) -> int:
        fields = {"target_path": target, "unzip": str(unzip).lower()}
        answer = self.client.post(f"{self.path}/upload", files={"file": data}, data=fields, headers=self.headers)
        return answer.status_code


def raised(document: dict[str, Any]) -> str:
    return str(document["swerexception"]["class_path"]).rpartition(".")[2]


@pytest.fixture(scope="module", params=["local", "docker"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("state")
    (folder / "keys.toml").write_text(KEYS)
    fields = {"provider": request.param, "state_dir": folder, "boxes": 2, "keys": folder / "keys.toml"}
    settings = Settings.from_flat({**fields, "session_idle_s": 1})
    app = build_app(CodingResources(settings), lambda: open_engine(settings, sessions="boxes"), settings)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


@pytest.fixture
def sandbox(client: TestClient) -> Iterator[Sandbox]:
    made = Sandbox(client, "one")
    assert client.get("/swerex/one/is_alive", headers=made.headers).json() == {"is_alive": True, "message": ""}
    assert made("create_session") == {"output": "", "session_type": "bash"}
    yield made
    assert made("close") == {}


def test_a_shell_keeps_its_state_and_says_how_a_command_ended(sandbox: Sandbox) -> None:
    assert sandbox.run("cd /usr; x=1; f() { echo f$x; }") == ("", 0)
    assert sandbox.run("pwd\nf\n(exit 3)", check="silent") == ("/usr\nf1\n", 3)
    assert sandbox.run("echo $?") == ("3\n", 0)
    assert sandbox.run("false") == "NonZeroExitCodeError"
    assert sandbox.run("false", check="ignore") == ("", None)
    assert sandbox.run("(a") == "BashIncorrectSyntaxError"
    assert sandbox.run("# nothing") == sandbox.run("") == ("", 0)
    long = "x" * 9000  # a terminal's line has 4095 bytes
    assert sandbox.run(f"cat <<'END'\n{long}\nEND\nPROMPT_COMMAND= PS1=mine") == (f"{long}\n", 0)
    assert sandbox.run("echo still") == ("still\n", 0)
    assert sandbox.run("exit 4", check="silent")[1] == 4
    assert sandbox.run("echo $x[]", check="silent")[0].startswith("[a new shell was started")


def test_shells_by_name(sandbox: Sandbox) -> None:
    sandbox("write_file", path="rc", content="echo sourced; PS1=mine; y=2")
    assert sandbox("create_session", session="b", startup_source=["rc"])["output"] == "sourced\n"
    assert raised(sandbox("create_session", session="b")) == "SessionExistsError"
    assert sandbox.run("x=1; echo $y") == ("\n", 0)
    assert sandbox.run("echo $x$y", session="b") == ("2\n", 0)
    assert sandbox("close_session", session="b") == {"session_type": "bash"}
    assert raised(sandbox("close_session", session="b")) == "SessionDoesNotExistError"
    assert sandbox.run("echo", session="b") == "SessionDoesNotExistError"


def test_a_late_command_goes_on_until_it_is_interrupted(sandbox: Sandbox) -> None:
    assert sandbox.run("echo begun; sleep 60", timeout=0.3) == "CommandTimeoutError"
    assert sandbox("run_in_session", action_type="bash_interrupt")["output"] == "begun"
    assert sandbox.run("trap '' INT; sleep 60", timeout=0.3) == "CommandTimeoutError"
    assert "Killed" in sandbox("run_in_session", action_type="bash_interrupt", n_retry=1)["output"]
    assert sandbox.run("echo after") == ("Killed\nafter\n", 0), "harnesses drop what an interrupt answers"
    assert sandbox.run("echo after") == ("after\n", 0)


def test_programs_that_are_typed_into(sandbox: Sandbox) -> None:
    asked = {"is_interactive_command": True, "expect": ["never", ">>> "]}
    begun = sandbox("run_in_session", command="python3 -q", **asked)
    assert (begun["expect_string"], begun["exit_code"]) == (">>> ", 0)
    assert sandbox.run("print(6 * 7)", **asked) == ("42", 0)
    assert sandbox.run("quit()", is_interactive_quit=True) == ("", 0)
    assert sandbox.run("echo after") == ("after\n", 0)
    assert sandbox.run("cat", is_interactive_command=True, expect=["("]) == "ValueError"


def test_commands_and_files(sandbox: Sandbox) -> None:
    done = sandbox("execute", command="echo $X; pwd; echo wrong >&2; exit 3", shell=True, env={"X": "a b"}, cwd="/tmp")
    assert done == {"stdout": "a b\n/tmp\n", "stderr": "wrong\n", "exit_code": 3}
    assert sandbox("execute", command="pwd")["stdout"] == "/workspace\n"
    assert raised(sandbox("execute", command=["sleep", "60"], timeout=0.2)) == "CommandTimeoutError"
    failed = sandbox("execute", command=["false"], check=True, error_msg="no luck")["swerexception"]
    assert failed["class_path"].endswith("NonZeroExitCodeError")
    assert failed["message"].startswith("no luck: ")
    assert sandbox("write_file", path="new/file", content="é") == {}
    assert sandbox("read_file", path="new/file") == {"content": "é"}
    assert sandbox("read_file", path="new/file", encoding="latin-1") == {"content": "Ã©"}
    assert sandbox("read_file", path="new/file", encoding="ascii", errors="ignore") == {"content": ""}
    assert raised(sandbox("read_file", path="new/file", encoding="ascii")) == "UnicodeDecodeError"
    assert raised(sandbox("read_file", path="new/file", encoding="punycode")) == "LookupError"
    assert raised(sandbox("read_file", path="none")) == "FileNotFoundError"
    assert raised(sandbox("read_file", path="/")) == "IsADirectoryError"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("below/file", "from a folder")
    assert (sandbox.upload(b"\xff", "up/bytes"), sandbox.upload(archive.getvalue(), "up/folder", unzip=True)) == (
        200,
        200,
    )
    assert (
        sandbox("execute", command="cat up/folder/below/file; ls up", shell=True)["stdout"]
        == "from a folderbytes\nfolder\n"
    )
    assert sandbox.upload(b"no archive", "up/other", unzip=True) == 511


def test_commands_end_as_those_of_its_own_runtime(sandbox: Sandbox) -> None:
    for command, kind in (
        (["none"], "FileNotFoundError"),
        ("none -x", "FileNotFoundError"),
        (["/"], "PermissionError"),
    ):
        assert raised(sandbox("execute", command=command)) == kind
    missing = sandbox("execute", command="true", shell=True, cwd="/none")["swerexception"]
    assert missing["message"] == "[Errno 2] No such file or directory: '/none'"
    assert sandbox("execute", command="none", shell=True)["exit_code"] == 127
    assert sandbox("execute", command="kill -9 $$", shell=True)["exit_code"] == -9
    assert sandbox("execute", command="printf 'a\\377'", shell=True)["stdout"] == "a\\xff"
    assert sandbox.run("printf 'a\\377'") == ("a\\xff", 0)
    assert sandbox("execute", command=["python", "-c", "print(1)"])["stdout"] == "1\n"
    assert sandbox.run("python -m venv --without-pip v && v/bin/python -c 'print(2)'") == ("2\n", 0)
    assert sandbox.client.get("/swerex/one/", headers=sandbox.headers).json() == {"message": "hello world"}


def test_a_request_that_comes_again_is_not_run_again(sandbox: Sandbox) -> None:
    same = Sandbox(sandbox.client, "one")
    same.headers |= {"X-Request-ID": "the-same"}
    first = same.run("echo x >>log; cat log")
    sandbox.headers["X-Request-ID"] = "another"
    assert sandbox.run("true") == ("", 0)
    del sandbox.headers["X-Request-ID"]
    assert [first, same.run("echo x >>log; cat log")] == [("x\n", 0)] * 2
    assert sandbox.run("cat log") == ("x\n", 0)


def test_a_sandbox_that_slept_or_was_lost(sandbox: Sandbox) -> None:
    sandbox.run("mkdir d; cd d; export kept=1; echo file >f")
    other = Sandbox(sandbox.client, "other")
    while sandbox.client.get("/health").json()["sessions"]["live"]:  # after a second
        pass
    assert other("execute", command="true")["exit_code"] == 0
    output, code = sandbox.run("pwd; echo $kept; cat f")
    assert (output.splitlines()[1:], code) == (["/workspace/d", "1", "file"], 0)
    assert output.startswith("[a new shell was started")
    assert sandbox.run("kill -9 -1") == "SwerexException"
    assert sandbox.run("cat f")[0].startswith("[the sandbox was lost")
    other("close")


def test_names_are_a_tenants_own(sandbox: Sandbox) -> None:
    sandbox.run("echo secret >file")
    bobs = Sandbox(sandbox.client, "one", BOB)
    assert raised(bobs("read_file", path="/workspace/file")) == "FileNotFoundError"
    assert bobs("close") == {}
    assert sandbox.run("cat file") == ("secret\n", 0)
    for headers in ({}, {"X-API-Key": "wrong"}):
        assert sandbox.client.post("/swerex/one/execute", json={"command": "id"}, headers=headers).status_code == 401
    for path in ("one/none", "a%20b/execute", "one/execute/more", "one"):
        assert sandbox.client.post(f"/swerex/{path}", json={}, headers=sandbox.headers).status_code == 404


def test_a_form_of_another_sites_page_is_refused(tmp_path: Path) -> None:
    settings = Settings.from_flat({"provider": "fake", "state_dir": tmp_path})
    app = build_app(CodingResources(settings), lambda: open_engine(settings), settings)
    with TestClient(app, base_url="http://localhost") as client:
        form = {"files": {"file": b"x"}, "data": {"target_path": "x"}}
        assert client.post("/swerex/one/upload", **form).status_code == 415  # type: ignore[arg-type]
        answer = client.post("/swerex/one/upload", headers={"X-API-Key": "any"}, **form)  # type: ignore[arg-type]
        assert raised(answer.json()) == "ValueError"  # its provider holds no sessions


def test_another_tenants_names_push_none_of_mine_out(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MAX_RUNTIMES", 3)
    mine, repeated = Sandbox(client, "mine", BOB), {"X-Request-ID": "once"}
    mine.headers |= repeated
    first = mine("execute", command="echo x >> said; cat said", shell=True)
    for number in range(10):
        assert raised(Sandbox(client, f"flood-{number}")("execute")) == "ValueError"
    assert mine("execute", command="echo x >> said; cat said", shell=True) == first, "it is not run again"
    mine.headers["X-Request-ID"] = "last"
    assert mine("close") == {}


def test_the_oldest_answers_are_forgotten_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "KEPT_BYTES", 2 * 1034)
    replies = routes._Replies()
    for number in range(4):
        replies.keep(("one", str(number)), Response(b"x" * 10))
    assert list(replies) == [("one", "2"), ("one", "3")]


def test_texts_that_no_sandbox_takes_are_the_callers_fault(sandbox: Sandbox) -> None:
    assert raised(sandbox("write_file", path="x", content="\ud800")) == "ValueError"
    for encoding in ("\ud800", "a\0b", "never-seen-before"):
        assert raised(sandbox("read_file", path="x", encoding=encoding)) == "LookupError"
    assert "never_seen_before" not in encodings._cache, "Python keeps each name that it is asked for"
    assert sandbox.run("kept=1; true", expect=["x" * 60_000] * 32) == "ValueError"
    assert sandbox.run("kept=2; true", expect=["x" * 900] * 32) == ("", 0)
    assert sandbox.run("echo $kept") == ("2\n", 0), "the sandbox is not lost"


def test_shells_that_ended_are_forgotten(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "MAX_SHELLS", 3)
    for number in range(6):
        assert sandbox("create_session", session=f"s{number}")["session_type"] == "bash"
        sandbox.run("exit", session=f"s{number}", check="silent")
    assert sandbox.run("true", session="s1") == "SessionDoesNotExistError"
    assert sandbox.run("true", session="s5", check="silent")[1] == 0
    sandbox("create_session")
