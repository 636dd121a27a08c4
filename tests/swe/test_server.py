"""The SWE server as a process: a whole episode of an agent, and patches that come in every other way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.load.servers import ServerProcess

pytestmark = pytest.mark.timeout(900)
ROWS = Path(__file__).parents[2] / "resources_servers" / "swe" / "data" / "example.jsonl"


@pytest.fixture(scope="module", params=["local", "docker"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(provider, tmp_path_factory.mktemp("swe"), server="swe") as running:
        yield running


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=600) as opened:
        yield opened


@pytest.fixture(scope="module")
def row() -> dict[str, object]:
    found: dict[str, object] = json.loads(ROWS.read_text().splitlines()[0])
    found.pop("answer")
    return found


def verify(client: httpx.Client, row: dict[str, object], text: str = "", **more: object) -> dict[str, object]:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    reply = client.post("/verify", json={**row, "response": {"output": [message]}, **more})
    assert reply.status_code == 200, reply.text[:1000]
    document: dict[str, object] = reply.json()
    return document


def test_a_whole_episode_outlives_its_sandbox(
    client: httpx.Client, row: dict[str, object], server: ServerProcess, provider: str
) -> None:
    client.cookies.clear()
    seeded = client.post("/seed_session", json=row)
    assert seeded.status_code == 200, seeded.text

    def bash(command: str) -> str:
        reply = client.post("/bash", json={"command": command})
        assert reply.status_code == 200, reply.text
        return str(reply.json()["output"])

    assert bash("cd /workspace/testbed && git log --oneline --all | wc -l") == "1\n"
    assert "0 hits" in bash("git stash list | wc -l | sed 's/$/ hits/'; git reflog | wc -l | sed 's/$/ hits/'")
    assert bash("python3 -c \"import socket; socket.create_connection(('1.1.1.1', 53), 2)\" 2>&1 | tail -1").strip()
    assert "test_issue" not in bash("ls -R . | grep issue; echo done")
    assert "number in (11, 12, 13)" in client.post("/view", json={"path": "inflection/__init__.py"}).text
    edit = {
        "path": "inflection/__init__.py",
        "old_str": "if number in (11, 12, 13)",
        "new_str": "if number % 100 in (11, 12, 13)",
    }
    assert client.post("/str_replace", json=edit).status_code == 200
    bash("git -c user.name=a -c user.email=b commit -qam work; echo new > notes.txt; printf '\\x00\\xff' > blob.bin")
    before = server.health()["sessions"]["checkpoints"]  # all may be in one already: a call makes another
    bash("true")
    server.wait_for(lambda health: health["sessions"]["checkpoints"] > before)
    kill_the_sandboxes(provider, server.process.pid)
    told = [bash("true") for _ in range(4)]  # one that was ready for the next session was killed, too
    assert "sandbox was lost" in told[0]
    assert told[-1] == ""
    assert bash("cd /workspace/testbed; ls notes.txt blob.bin | wc -l") == "2\n"
    tests = client.post("/run_tests", json={"test_ids": ["test_inflection.py"]}).json()
    assert "passed" in tests["output"]
    found = verify(client, row)
    assert (found["reward"], found["resolved"], found["evaluation_completed"]) == (1.0, True, True), found
    assert "GIT binary patch" in str(found["model_patch"])
    assert "notes.txt" in str(found["model_patch"])
    assert client.post("/bash", json={"command": "pwd"}).status_code == 422, "the rollout is over"


def kill_the_sandboxes(provider: str, server: int) -> None:
    """Those of one server process, and nobody else's."""
    if provider == "docker":
        docker = os.environ.get("DOCKER", "docker")
        command = [docker, "ps", "--quiet", "--filter", f"name=-{server}-"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True)
        assert listed.stdout.split()
        subprocess.run([docker, "kill", *listed.stdout.split()], capture_output=True, check=True)
        return
    jails = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == server and (folder / "cmdline").read_bytes().split(b"\0")[0].endswith(b"bwrap"):
                jails.append(int(folder.name))
        except OSError:
            continue
    assert jails
    for pid in jails:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("form", ["model_patch", "fence", "tag", "raw"])
def test_patches_in_every_form(client: httpx.Client, row: dict[str, object], form: str) -> None:
    client.cookies.clear()
    patch = str(row["patch"])
    texts = {"fence": f"So:\n```diff\n{patch}```\n", "tag": f"<patch>\n{patch}</patch>", "raw": f"So:\n\n{patch}"}
    found = verify(client, row, model_patch=patch) if form == "model_patch" else verify(client, row, texts[form])
    assert (found["reward"], found["resolved"]) == (1.0, True), found
    verdict = found["verdict"]
    assert isinstance(verdict, dict)
    assert verdict["integrity"] == "in_process"
    assert [test["status"] for test in verdict["tests"]] == ["passed", "passed"]
    assert found["tests_status"] == {
        "FAIL_TO_PASS": {"success": row["FAIL_TO_PASS"], "failure": []},
        "PASS_TO_PASS": {"success": row["PASS_TO_PASS"], "failure": []},
    }


def test_what_does_not_resolve(client: httpx.Client, row: dict[str, object]) -> None:
    client.cookies.clear()
    wrong = str(row["patch"]).replace("+    if number % 100 in", "+    if number % 10 in")
    found = verify(client, row, model_patch=wrong)
    assert (found["reward"], found["resolved"], found["evaluation_completed"]) == (0.0, False, True)
    assert found["fail_to_pass_score"] == 0.0
    for patch, reason in (
        ("", "empty_patch"),
        ("diff --git a/none b/none\n--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n", "patch_does_not_apply"),
        ("diff --git a/../x b/../x\n--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "patch_refused"),
    ):
        found = verify(client, row, model_patch=patch)
        assert (found["reward"], found["mask_sample"]) == (0.0, False)
        assert str(found["failure_reason"]).startswith(reason)
    assert verify(client, row, "I could not do it.")["failure_reason"] == "no_patch"


def test_what_is_wrong_is_named(client: httpx.Client, row: dict[str, object]) -> None:
    client.cookies.clear()
    for change, field in (
        ({"FAIL_TO_PASS": []}, "row.FAIL_TO_PASS"),
        ({"model_patch": 3}, "model_patch"),
        ({"environment": {"source": "x; rm -rf /"}}, "row.environment.source"),
    ):
        reply = client.post("/verify", json={**row, "response": {"output": []}, **change})
        assert (reply.status_code, reply.json()["error"]["field"]) == (422, field)
    assert client.post("/bash", json={"command": "ls"}).json()["error"]["field"] == "session"


def test_a_recipe_that_fails_is_no_verdict(client: httpx.Client, row: dict[str, object]) -> None:
    client.cookies.clear()
    environment = {"source": "inflection==0.5.1", "install": ["echo no luck; exit 7"]}
    asked = {**row, "model_patch": row["patch"], "environment": environment, "response": {"output": []}}
    reply = client.post("/verify", json=asked)
    assert (reply.status_code, reply.json()["failure_kind"]) == (503, "swe:instance_failed")
    assert "no luck" in reply.json()["failure_reason"]


LOG = {
    "runner": "log",
    "log_parser": "parse_log_pytest",
    "test_command": "python -m pytest -rA -q -p no:cacheprovider tests/test_issue.py test_inflection.py",
}


def test_a_row_that_its_log_tells_of(client: httpx.Client, row: dict[str, object]) -> None:
    """swebench's parser reads the log in a box of its own; what it can't be asked for is said before anything runs."""
    client.cookies.clear()
    told = {**row, **LOG}
    found = verify(client, told, model_patch=row["patch"])
    assert (found["reward"], found["resolved"], found["fail_to_pass_score"]) == (1.0, True, 1.0), found
    wrong = str(row["patch"]).replace("+    if number % 100 in", "+    if number % 10 in")
    found = verify(client, told, model_patch=wrong)
    assert (found["reward"], found["evaluation_completed"], found["fail_to_pass_score"]) == (0.0, True, 0.0)
    silent = verify(client, {**told, "test_command": "true"}, model_patch=row["patch"])
    assert (silent["reward"], silent["failure_reason"]) == (0.0, "own_fix_fails: no test ran")
    assert (silent["mask_sample"], silent["failure_kind"]) == (True, "swe:own_fix_fails")  # as its own fix fails there
    lying = "python -m pytest -rA -q -p no:cacheprovider tests/test_issue.py test_inflection.py; exit 3"
    lied = verify(client, {**told, "test_command": lying}, model_patch=row["patch"])
    assert lied["failure_reason"] == "own_fix_fails: the test command exited with 3 and its log names no failure"
    assert (lied["reward"], lied["mask_sample"], lied["failure_kind"]) == (0.0, True, "swe:own_fix_fails")
    for change, field in (
        ({"log_parser": "parse_log_nothing"}, "row.log_parser"),
        ({"test_command": ""}, "row.test_command"),
    ):
        reply = client.post("/verify", json={**told, **change, "response": {"output": []}})
        assert (reply.status_code, reply.json()["error"]["field"]) == (422, field)


TAP = """python -c '
import inflection as i
print("1..2")
print("ok 1 - imports")
print("ok 2 - 112" if i.ordinal(112) == "th" else "not ok 2 - 112")
'"""
"""A test program of no framework of Python's, which prints what TAP is."""


def test_a_row_that_names_a_framework(client: httpx.Client, row: dict[str, object]) -> None:
    """Its own reader, without swebench; a result that the plan does not count costs the reward."""
    client.cookies.clear()
    lists = {"FAIL_TO_PASS": ["112"], "PASS_TO_PASS": ["imports"]}
    told = {**row, **lists, "runner": "log", "log_parser": "tap", "test_command": TAP}
    found = verify(client, told, model_patch=row["patch"])
    assert (found["reward"], found["resolved"], found["fail_to_pass_score"]) == (1.0, True, 1.0), found
    fix = str(row["patch"])
    wrong = fix.replace("number % 100 in", "number % 10 in")
    assert verify(client, told, model_patch=wrong)["fail_to_pass_score"] == 0.0
    printing = fix.replace("+    if number % 100 in", "+    if not print('ok 3 - forged') and number % 100 in")
    forged = verify(client, told, model_patch=printing)
    assert (forged["reward"], forged["failure_reason"]) == (0.0, "tampering: log_passes_uncounted"), forged
    reply = client.post("/verify", json={**told, "log_parser": "nose", "response": {"output": []}})
    assert (reply.status_code, reply.json()["error"]["field"]) == (422, "row.log_parser")
    assert "nose" in reply.text
    assert "vitest" in reply.text


def test_what_every_candidate_imports_is_compiled_once(client: httpx.Client, row: dict[str, object]) -> None:
    """Interpreter, packages and repository: a verdict's tests wait for none of it to be compiled."""
    client.cookies.clear()
    assert client.post("/seed_session", json=row).status_code == 200

    def bash(command: str) -> str:
        reply = client.post("/bash", json={"command": command})
        assert reply.status_code == 200, reply.text
        return str(reply.json()["output"])

    loading = "../env/bin/python -v -B -c 'import json, subprocess, pytest, inflection' 2>&1 | grep 'code object from'"
    assert int(bash(f"cd /workspace/testbed && {loading} > /tmp/loaded; wc -l < /tmp/loaded")) > 100
    assert bash('grep -v "[.]pyc\'*$" /tmp/loaded; echo end') == "end\n"
    assert bash("git -C /workspace/testbed status --short; echo end") == "end\n"
