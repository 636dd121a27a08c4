"""A software engineering agent's tools over HTTP, on sandboxes of both providers."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.load.servers import ServerProcess
from tests.swe.agent import PROVIDERS, SOURCE, Agent, serving
from tests.swe.tool_server import WORKDIR

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module", params=PROVIDERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(request.param, tmp_path_factory.mktemp("tools")) as running:
        yield running


@pytest.fixture
def agent(server: ServerProcess) -> Iterator[Agent]:
    """A session with a repository."""
    one = Agent(server.url)
    one.repository()
    yield one
    one.close()


def test_a_file_is_viewed_with_line_numbers(agent: Agent) -> None:
    assert agent.text("view", path="calc.py").startswith("     1\tdef half(n):\n     2\t    return n // 2\n")
    assert agent.text("view", path=f"{WORKDIR}/calc.py", view_range=[5, -1]) == (
        "     5\tdef double(n):\n     6\t    return n + n\n"
    )
    agent.sh("seq 100000 > /tmp/many")
    shown = agent.text("view", path="/tmp/many")
    assert len(shown) < 60_000
    assert shown.endswith(" to 100000; ask for them with view_range]\n")
    assert agent.text("view", path="/tmp/many", view_range=[99999, 100000]) == " 99999\t99999\n100000\t100000\n"
    agent.sh("head -c 1000000 /dev/zero | tr '\\0' x > /tmp/long")
    assert "998000 more characters" in agent.text("view", path="/tmp/long")
    agent.sh(": > /tmp/empty; printf 'a\\0b' > /tmp/binary; mkfifo /tmp/pipe")
    assert agent.text("view", path="/tmp/empty") == "[the file is empty]\n"
    assert "binary file of 3 bytes" in agent.refused("view", path="/tmp/binary")["problem"]
    assert agent.refused("view", path="/tmp/pipe")["field"] == "path"
    assert "ENOENT" in agent.refused("view", path="missing.py")["problem"]
    assert agent.refused("view", path="calc.py", view_range=[7, 9])["problem"].endswith("the file has 6 lines")
    by_path: list[dict[str, object]] = [{"path": ""}, {"path": "a\0b"}, {"path": 3}, {}]
    by_path.append({"path": "calc.py", "view_range": ["1", 2]})
    for wrong in by_path:
        assert agent.refused("view", **wrong)["field"].startswith(("path", "view_range"))


def test_a_folder_is_listed_to_two_levels(agent: Agent) -> None:
    agent.sh(f"cd {WORKDIR}; mkdir -p a/b/c; touch a/b/c/deep a/two .hidden")
    listing = agent.text("view", path=".").splitlines()[1:]
    assert listing == ["a/", "a/b/", "a/two", "calc.py", "test_calc.py"]
    agent.sh("mkdir /tmp/full; cd /tmp/full; touch $(seq 1000)")
    assert agent.text("view", path="/tmp/full").endswith("600 more left out; narrow it down]\n")
    assert agent.refused("view", path=".", view_range=[1, 2])["field"] == "view_range"


def test_an_edit_needs_exactly_one_place(agent: Agent) -> None:
    said = agent.text("str_replace", path="calc.py", old_str="n // 2", new_str="n / 2")
    assert said.startswith("edited calc.py:\n     1\tdef half(n):\n     2\t    return n / 2\n")
    assert agent.file(f"{WORKDIR}/calc.py").decode() == SOURCE.replace("//", "/")
    twice = agent.refused("str_replace", path="calc.py", old_str="def ", new_str="")
    assert (twice["field"], twice["problem"]) == ("old_str", "occurs 2 times, at lines 1, 5")
    assert agent.refused("str_replace", path="calc.py", old_str="nope")["problem"] == "does not occur in the file"
    for wrong in ({"old_str": ""}, {"old_str": "n / 2", "new_str": "n / 2"}, {"old_str": "\ud800"}):
        assert agent.refused("str_replace", path="calc.py", **wrong)["field"] in ("old_str", "new_str")
    assert agent.file(f"{WORKDIR}/calc.py").decode() == SOURCE.replace("//", "/")


def test_an_edit_keeps_other_bytes_and_the_modes(agent: Agent) -> None:
    data = b"\xff\xfe caf\xe9\r\none\r\ntwo\r\n"
    agent.json("write_file", path="/tmp/odd", content=base64.b64encode(data).decode(), encoding="base64")
    agent.sh("chmod 751 /tmp/odd")
    agent.text("str_replace", path="/tmp/odd", old_str="one\ntwo", new_str="1\n2")
    agent.text("insert", path="/tmp/odd", insert_line=1, insert_text="new")
    assert agent.file("/tmp/odd") == b"\xff\xfe caf\xe9\r\nnew\r\n1\r\n2\r\n"
    assert agent.sh("stat -c %a /tmp/odd") == "751\n"


def test_files_are_created_and_lines_put_in(agent: Agent) -> None:
    assert agent.text("create", path="new/deep/x.py", file_text="a\nb\n") == "created new/deep/x.py: 2 lines, 4 bytes\n"
    assert "exists" in agent.refused("create", path="new/deep/x.py", file_text="")["problem"]
    assert agent.text("create", path="new/deep/x.py", file_text="é", overwrite=True).startswith("replaced")
    agent.text("insert", path="new/deep/x.py", insert_line=1, insert_text="last")
    agent.text("insert", path="new/deep/x.py", insert_line=0, insert_text="first\n")
    assert agent.file(f"{WORKDIR}/new/deep/x.py").decode() == "first\né\nlast\n"
    assert "has 3 lines" in agent.refused("insert", path="new/deep/x.py", insert_line=4, insert_text="x")["problem"]
    for tool, wrong in (
        ("insert", {"insert_line": -1, "insert_text": "x"}),
        ("insert", {"insert_line": 0, "insert_text": ""}),
        ("create", {"file_text": 5}),
    ):
        agent.refused(tool, path="new/deep/x.py", **wrong)
    assert agent.refused("create", path="new", file_text="x", overwrite=True)["field"] == "path"
    assert agent.refused("create", path="/proc/x", file_text="x")["field"] == "path"


def test_names_and_content_are_found(agent: Agent) -> None:
    agent.sh(f"cd {WORKDIR}; mkdir sub; cp calc.py sub/other.py; printf 'return\\0' > blob; touch 'sub/a b.txt'")
    assert agent.text("find", pattern="*.py") == "calc.py\nsub/other.py\ntest_calc.py\n"
    assert agent.text("find", pattern="a b") == "sub/a b.txt\n"
    assert agent.text("find", pattern="sub/*.py") == "sub/other.py\n"
    found = agent.text("find", pattern="return n (/|\\+)", kind="content")
    assert found.splitlines() == [
        "calc.py:2:    return n // 2",
        "calc.py:6:    return n + n",
        "sub/other.py:2:    return n // 2",
        "sub/other.py:6:    return n + n",
    ]
    assert agent.text("find", pattern="nowhere", kind="content") == "[nothing found]\n"
    agent.sh("seq 1 5000 > /tmp/many")
    many = agent.text("find", pattern="1", kind="content", path="/tmp/many")
    assert len(many.splitlines()) == 101
    assert many.endswith("more left out; narrow it down]\n")
    assert "does not work" in agent.refused("find", pattern="(", kind="content")["problem"]
    assert agent.refused("find", pattern="x", path="missing")["field"] == "path"
    for wrong in ({"pattern": ""}, {"pattern": "a\nb"}, {"pattern": "a", "kind": "other"}):
        agent.refused("find", **wrong)


def test_visible_tests_run_in_the_shell(agent: Agent) -> None:
    agent.sh("cd /; export MARK=kept")
    all_of_them = agent.json("run_tests")
    assert all_of_them["exit_code"] == 1
    assert "Ran 2 tests" in all_of_them["output"]
    one = agent.json("run_tests", test_ids=["test_calc.Halves.test_even"])
    assert (one["exit_code"], one["timed_out"], "Ran 1 test" in one["output"]) == (0, False, True)
    agent.json("run_tests", test_ids=["$(touch /tmp/injected); x'"])
    assert agent.sh("ls /tmp/injected || pwd; echo $MARK").endswith("/\nkept\n")
    agent.refused("run_tests", test_ids=["a\0b"])
    agent.refused("run_tests", test_ids="all")
    agent.text("create", path="test_slow.py", file_text="import time\nprint('begun', flush=True)\ntime.sleep(99)\n")
    slow = agent.json("run_tests", test_ids=["test_slow"])
    assert slow["timed_out"] is True
    assert "begun" in slow["output"]


def test_untracked_committed_and_binary_work_is_handed_in(agent: Agent, tmp_path: Path) -> None:
    original = {name: agent.file(f"{WORKDIR}/{name}") for name in ("calc.py", "test_calc.py")}
    agent.text("str_replace", path="calc.py", old_str="n // 2", new_str="n / 2")
    agent.sh(f"cd {WORKDIR}; echo ignored.txt > .gitignore; echo kept > ignored.txt; git add -f ignored.txt")
    agent.sh(f"cd {WORKDIR}; git commit -qam work; head -c 300 /bin/true > blob.bin; echo 'caf\xe9' > 'n w.txt'")
    agent.sh(f"cd {WORKDIR}; chmod +x calc.py; git rm -q test_calc.py; ln -s calc.py link; cp /bin/true '\t\"q\"'")
    # nothing of these may change or empty the patch
    agent.sh("alias git=false; git() { false; }; cd /; set -e; export GIT_DIR=/nowhere GIT_EXTERNAL_DIFF=false")
    agent.sh(f"cd {WORKDIR}; command git --git-dir=.git config diff.noprefix true")
    status = agent.sh(f"cd {WORKDIR}; command git --git-dir=.git status --porcelain")
    handed_in = agent.json("submit")
    assert agent.sh(f"cd {WORKDIR}; command git --git-dir=.git status --porcelain") == status
    patch = str(handed_in["patch"]).encode()
    assert (handed_in["size_bytes"], handed_in["sha256"]) == (len(patch), hashlib.sha256(patch).hexdigest())
    assert set(handed_in["files"]) >= {"calc.py", "test_calc.py", "ignored.txt", "blob.bin", "n w.txt", "link"}
    for name, data in original.items():
        (tmp_path / name).write_bytes(data)
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=patch, cwd=tmp_path, check=True)
    assert not (tmp_path / "test_calc.py").exists()
    assert (tmp_path / "link").readlink() == Path("calc.py")
    assert (tmp_path / "calc.py").stat().st_mode & 0o100
    for name in ("calc.py", "blob.bin", "n w.txt", "ignored.txt", '\t"q"'):
        assert (tmp_path / name).read_bytes() == agent.file(f"{WORKDIR}/{name}"), name
    agent.sh(f"printf '\\351\\n' > {WORKDIR}/latin-1.txt")
    other = agent.json("submit")
    assert (other["patch"], "latin-1.txt" in other["files"]) == (None, True)  # no text that JSON could carry


def test_no_change_is_an_empty_patch_and_a_broken_repository_is_none(agent: Agent) -> None:
    assert agent.json("submit") | {"sha256": ""} == {
        "submitted": True, "size_bytes": 0, "sha256": "", "files": [], "files_left_out": 0, "patch": "",
        "state_lost": False,
    }  # fmt: skip
    agent.sh(f"mv {WORKDIR}/.git /tmp/git")
    assert "can't be made" in agent.refused("submit")["problem"]
    agent.sh(f"mv /tmp/git {WORKDIR}/.git; echo nonsense > {WORKDIR}/.git/index; echo x > {WORKDIR}/new")
    assert agent.json("submit")["files"] == ["new"]
    agent.sh(f"rm {WORKDIR}/.git/index")
    assert agent.json("submit")["files"] == ["new"]
    agent.sh(f"head -c 18000000 /dev/urandom > {WORKDIR}/huge")
    assert "bytes" in agent.refused("submit")["problem"]
    agent.sh(f"rm {WORKDIR}/huge; cd {WORKDIR}; git update-ref -d refs/sandbox-gym/base")
    assert "no commit" in agent.refused("submit")["problem"]


def test_planted_programs_and_settings_give_no_empty_patch(agent: Agent) -> None:
    """What an agent puts in git's way leaves the patch as it is, or is an error; git that fails is not "no change"."""
    agent.text("str_replace", path="calc.py", old_str="n // 2", new_str="n / 2")
    wanted = agent.json("submit")["patch"]
    for setting in ("diff.external false", "core.pager false", "core.quotePath false", "diff.renames copies",
                    "core.fsmonitor /bin/false", "diff.context 0", "core.excludesFile /workspace/all"):  # fmt: skip
        agent.sh(f"cd {WORKDIR}; echo '*' > /workspace/all; git config {setting}")
    agent.sh(f"cd {WORKDIR}; printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/*")
    agent.sh(f"cd {WORKDIR}; git update-index --assume-unchanged calc.py; git stash list; git checkout -q --detach")
    assert agent.json("submit")["patch"] == wanted
    agent.sh(
        "mkdir /tmp/bin; printf '#!/bin/sh\\nexit 1\\n' > /tmp/bin/git; chmod +x /tmp/bin/git; PATH=/tmp/bin:$PATH"
    )
    assert agent.refused("submit")["field"] == "patch"


def test_commands_beside_the_shell(agent: Agent) -> None:
    agent.sh("cd /; x=1; export Y=2; exec 3>&1")
    ran = agent.json("exec", command="pwd; echo err >&2; cat; echo [$x$Y$Z]", stdin="in\n", env={"Z": "a'b"})
    assert (ran["stdout"], ran["stderr"], ran["exit_code"]) == ("/workspace\nin\n[2a'b]\n", "err\n", 0)
    assert agent.json("exec", command=["sh", "-c", "exit $0", "7"])["exit_code"] == 7
    assert agent.json("exec", command=["no-such-program"])["exit_code"] == 127
    assert agent.json("exec", command="pwd", cwd="repo")["stdout"] == f"{WORKDIR}\n"
    flood = agent.json("exec", command="echo first; yes | head -c 50000000; echo last", output_bytes=100)
    assert (flood["stdout"][:6], flood["stdout"][-5:]) == ("first\n", "last\n")
    assert flood["stdout_cut_bytes"] == 50_000_011 - 100
    late = agent.json("exec", command="echo begun; trap '' INT; sleep 60", timeout_s=2)
    assert (late["timed_out"], late["exit_code"], late["stdout"]) == (True, None, "begun\n")
    raw = agent.json("exec", command="printf '\\377\\0'", encoding="base64")["stdout"]
    assert base64.b64decode(raw) == b"\xff\0"
    assert agent.sh("echo $x; pwd; ls -a /tmp | grep -c '^.sg' || true").endswith("/\n0\n")
    wrongs: list[dict[str, object]] = [{"command": []}, {"command": "a\0"}, {"command": "x" * 4_000_000}]
    for wrong in [*wrongs, dict[str, object](command="x", env={"a=b": ""})]:
        agent.refused("exec", **wrong)


def test_a_full_disk_leaves_an_account(agent: Agent) -> None:
    ran = agent.json("exec", command="yes > /tmp/full; echo last", timeout_s=60, output_bytes=1000)
    assert ran["stdout"].endswith("last\n") or ran["exit_code"] != 0
    ran = agent.json("exec", command="yes", timeout_s=1, output_bytes=1000)  # output takes no disk
    assert ran["stdout"].startswith("y\ny\n")
    assert (len(ran["stdout"]), ran["timed_out"]) == (1000, True)
    agent.sh("rm -f /tmp/full")
    assert ran["stdout_cut_bytes"] > 1 << 20


def test_files_as_bytes(agent: Agent) -> None:
    data = bytes(range(256)) * 1000
    agent.json("write_file", path="/tmp/d/f", content=base64.b64encode(data).decode(), encoding="base64")
    assert agent.file("/tmp/d/f") == data
    assert "ENOENT" in agent.refused("read_file", path="/tmp/none")["problem"]
    assert agent.refused("write_file", path="/tmp/f", content="!", encoding="base64")["field"] == "content"


def test_a_lost_sandbox_is_told_and_its_snapshot_gone_on_from(tmp_path: Path) -> None:
    with (
        serving("local", tmp_path, SANDBOX_GYM_SESSION_CHECKPOINT_S="0.2") as server,
        contextlib.closing(Agent(server.url)) as agent,
    ):
        agent.repository()
        agent.text("str_replace", path="calc.py", old_str="n // 2", new_str="n / 2")
        before = server.health()["sessions"]["checkpoints"]  # the edit may be in it already: then only a call makes one
        agent.sh("true")
        server.wait_for(lambda health: health["sessions"]["checkpoints"] > before)
        lost = agent.http.post("/exec", json={"command": "kill -9 -1"})
        assert (lost.status_code, lost.json()["failure_kind"]) == (503, "sandbox_lost")
        assert agent.text("view", path="calc.py").startswith("[the sandbox was lost; files are as of its last snapshot")
        assert agent.json("submit")["files"] == ["calc.py"]
