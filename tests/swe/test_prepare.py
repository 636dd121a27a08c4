"""What stands ready for the tests once a candidate's patch is in: nothing of what the patch took away."""

from __future__ import annotations

import base64
import compileall
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest

from sandbox_gym.verifiers.swe import read_patch

FILES = {
    "pkg/__init__.py": "",
    "pkg/sub/__init__.py": "NAME = 'sub'\n",
    "pkg/sub/deep/mod.py": "NAME = 'deep'\n",
    "kept/mod.py": "NAME = 'kept'\n",
    "with space/mod.py": "NAME = 'space'\n",
}


def git(folder: Path, *command: str) -> str:
    author = ["-c", "user.name=a", "-c", "user.email=b", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *author, *command], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Committed and compiled, as an instance is."""
    folder = tmp_path / "testbed"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "base")
    (folder / ".git/info/exclude").write_text("__pycache__/\n")
    assert compileall.compile_dir(str(folder), quiet=1)
    return folder


def prepared(
    repository: Path, patch: str, look: str, codes: tuple[int, ...] = (0,), *, path: str = "", own_disk: str = "",
    start: str = "", **more: object,
) -> str:  # fmt: skip
    """What `look` prints in the place of the tests' watcher; `codes`: how preparing may end; `start`: what it does
    first; `more`: of its job."""
    place = repository.parent / ".verify"
    place.mkdir()
    source = files("sandbox_gym.verifiers.swe.channel").joinpath("prepare.py").read_text("utf-8")
    if own_disk:
        changed = source.replace("OWN_DISK = 8 << 30", f"OWN_DISK = {own_disk}")
        assert changed != source
        source = changed
    source = source.replace("    here = ", f"    {start or 'pass'}\n    here = ", 1)
    (place / "prepare.py").write_text(source)
    (place / "candidate.diff").write_text(patch)
    (place / "tests.diff").write_text("")
    reading = read_patch(patch.encode())
    job = {
        "workdir": str(repository), "commit": "HEAD", "restore": [], "watch": [sys.executable, "-c", look],
        "channel_fd": 2, "nonce": "", "says": [], "reads": [], "read_bytes": 0, "rewrites": [], "reverse": False,
        "names": reading.paths, "headed": reading.headed, "bare": reading.bare, **more,
    }  # fmt: skip
    (place / "prepare.json").write_text(json.dumps(job))
    command = [sys.executable, str(place / "prepare.py")]
    env = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"} if path else None
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode in codes, done
    return done.stdout


def test_a_folder_may_become_something_else(repository: Path) -> None:
    git(repository, "mv", "pkg", "other")
    (repository / "pkg").symlink_to("other")
    git(repository, "add", "pkg")
    patch = git(repository, "diff", "--cached", "-M")
    git(repository, "reset", "-q", "--hard")
    assert compileall.compile_dir(str(repository), quiet=1)
    assert "other ['kept']" in prepared(
        repository, patch, "import os, importlib; importlib.import_module('pkg.sub'); "
        "print(os.readlink('pkg'), [n for n in os.listdir('.') if n == 'kept'])"
    )  # fmt: skip


@pytest.mark.parametrize("how", ["removed", "renamed"])
def test_a_package_that_is_gone_can_not_be_imported(repository: Path, how: str) -> None:
    if how == "removed":
        git(repository, "rm", "-qr", "pkg/sub", "with space")
    else:
        git(repository, "mv", "pkg/sub", "pkg/other")
        git(repository, "mv", "with space", "spaced")
    patch = git(repository, "diff", "--cached", "-M")
    git(repository, "reset", "-q", "--hard")
    look = "import importlib.util as u, os; print([bool(u.find_spec(n)) for n in ('pkg', 'pkg.sub', 'kept.mod')])"
    look += "; print(sorted(os.listdir('.')))"
    found, there = prepared(repository, patch, look).splitlines()[-2:]
    assert found == "[True, False, True]"
    assert "with space" not in there
    assert ("spaced" in there) is (how == "renamed")


@pytest.mark.parametrize("side", ["a/", ""])
@pytest.mark.parametrize("how", ["patch", "rewrite"])
def test_what_was_compiled_does_not_stand_for_what_is_changed(repository: Path, how: str, side: str) -> None:
    """As where a file keeps its size, and is changed in the second in which it was made."""
    unchecked = PycInvalidationMode.UNCHECKED_HASH
    assert compileall.compile_dir(str(repository), quiet=1, force=True, invalidation_mode=unchecked)
    look = "import kept.mod, pkg.sub; print(kept.mod.NAME, pkg.sub.NAME)"
    if how == "patch":
        b = "b/" if side else ""
        patch = f"--- {side}kept/mod.py\n+++ {b}kept/mod.py\n@@ -1 +1 @@\n-NAME = 'kept'\n+NAME = 'pept'\n"
        assert prepared(repository, patch, look).splitlines()[-1] == "pept sub"
    else:
        digest = hashlib.sha256(FILES["kept/mod.py"].encode()).hexdigest()
        found = prepared(repository, "", look, rewrites=[["kept/mod.py", digest, [[8, 12, "pept"]]]])
        assert found.splitlines()[-1] == "pept sub"


def test_a_patch_that_names_many_files_reads_their_folder_once(repository: Path) -> None:
    """Lines that are added look like headers, too."""
    cache = repository / "kept/__pycache__"
    for number in range(2000):
        (cache / f"other{number}.cpython-311.pyc").write_bytes(b"")
    added = [f"++ b/kept/none{number}.py" for number in range(150_000)] + ["++ b/kept/mod.py"]
    body = "".join(f"+{line}\n" for line in added)
    patch = f"--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1,{len(added)} @@\n{body}"
    look = "import os; print(len(os.listdir('kept/__pycache__')), sum(1 for _ in open('notes.txt')))"
    assert prepared(repository, patch, look).splitlines()[-1] == f"2000 {len(added)}"


def test_folders_that_hold_anything_else_stay(repository: Path) -> None:
    (repository / "pkg/sub/notes.txt").write_text("untracked")
    git(repository, "rm", "-qr", "pkg/sub")
    patch = git(repository, "diff", "--cached") + "--- a/../../outside/x\n"
    git(repository, "reset", "-q", "--hard")
    (repository / "pkg/sub/notes.txt").write_text("untracked")
    assert "['notes.txt']" in prepared(repository, patch, "import os; print(sorted(os.listdir('pkg/sub')))")


@pytest.mark.parametrize("path", ["a\0b/c.py", "/etc/c.py", "../outside/c.py", "x" * 5000 + "/c.py"])
def test_a_patch_of_paths_that_can_not_be_is_the_patchs_affair(repository: Path, path: str) -> None:
    patch = f"diff --git a/{path} b/{path}\ndeleted file mode 100644\n--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    prepared(repository, patch, "", codes=(0, 41))  # as git and patch see it; nothing of ours fails


@pytest.mark.parametrize(
    ("header", "code", "names"),
    [
        ("--- a/kept/none.py\n+++ b/kept/mod.py\n", 0, ("kept/mod.py", "kept/none.py")),
        ("--- a/kept/mod.py 2024-01-01 00:00:00\n+++ b/kept/mod.py 2024-01-01 00:00:00\n", 0, ("kept/mod.py",)),
        ("--- a/kept/mod.py of today\n+++ b/kept/mod.py of today\n", 41, ("kept/mod.py of today",)),
        ("Index: b/kept/mod.py\n--- a/kept/none.py\n+++ b/kept/none.py\n", 41, ("kept/none.py",)),
        ("diff --git a/none.py b/none.py\n--- a/kept/mod.py\n+++ b/none.py\n", 0, ("kept/mod.py", "none.py")),
    ],
)
def test_no_file_is_changed_that_the_headers_were_not_read_to_name(
    repository: Path, header: str, code: int, names: tuple[str, ...]
) -> None:
    patch = f"{header}@@ -1 +1 @@\n-NAME = 'kept'\n+NAME = 'changed'\n"
    assert set(read_patch(patch.encode()).paths) == set(names)
    prepared(repository, patch, "", codes=(code,))


def test_a_reversed_patch_is_not_turned_round(repository: Path) -> None:
    patch = "--- a/kept/mod.py\n+++ b/kept/mod.py\n@@ -1 +1 @@\n-NAME = 'changed'\n+NAME = 'kept'\n"
    prepared(repository, patch, "", codes=(41,))


def _with(repository: Path, rewrites: list[object], look: str, **more: object) -> subprocess.CompletedProcess[str]:
    """Prepared with changes to test files; what came on the channel is in `stderr`."""
    place = repository.parent / ".verify"
    place.mkdir()
    (place / "prepare.py").write_text(files("sandbox_gym.verifiers.swe.channel").joinpath("prepare.py").read_text())
    (place / "candidate.diff").write_text("")
    (place / "tests.diff").write_text("")
    job = {
        "workdir": str(repository), "commit": "HEAD", "restore": [], "watch": [sys.executable, "-c", look],
        "nonce": "n0", "says": [{"kind": "reference"}], "reads": ["pkg/mod.py", "none.py"], "read_bytes": 1 << 20,
        "rewrites": rewrites, "reverse": False, "names": [], "headed": True, "bare": False, **more,
    }  # fmt: skip
    channel = repository.parent / "channel"
    with channel.open("wb") as file:
        fd = file.fileno()
        (place / "prepare.json").write_text(json.dumps({**job, "channel_fd": fd}))
        command = [sys.executable, str(place / "prepare.py")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, pass_fds=[fd])
    done.stderr = channel.read_text()
    return done


def test_tests_are_changed_and_nothing_is_left_that_tells(repository: Path) -> None:
    target = repository / "pkg" / "mod.py"
    target.write_bytes("x = 'ä'  # é\r\ny = 1\r\n".encode())
    data = target.read_bytes()
    at = data.index(b"1")
    look = "import os; print(os.listdir('../.verify'), repr(open('pkg/mod.py', 'rb').read()))"
    done = _with(repository, [["pkg/mod.py", hashlib.sha256(data).hexdigest(), [[at, at + 1, "ß"], [0, 1, "z"]]]], look)
    assert done.returncode == 0, done
    assert done.stdout.splitlines()[-1] == f"[] {b'z' + data[1:at] + 'ß'.encode() + data[at + 1 :]!r}"
    first, second, third = (json.loads(line.partition(" ")[2]) for line in done.stderr.splitlines())
    assert first == {"kind": "reference", "n": 0}
    assert zlib.decompress(base64.b64decode(second["data"])) == data, "as it was before"
    assert third == {"kind": "file", "path": "none.py", "data": "", "n": 2}


def test_a_test_file_that_is_not_the_references_is_not_run(repository: Path) -> None:
    (repository / "pkg" / "mod.py").write_text("x = 1\n")
    done = _with(repository, [["pkg/mod.py", "0" * 64, []]], "print('ran')")
    assert (done.returncode, "ran" in done.stdout) == (44, False)


LINES = 5000
PATCH = (
    "diff --git a/kept/new.py b/kept/new.py\nnew file mode 100644\n"
    f"--- /dev/null\n+++ b/kept/new.py\n@@ -0,0 +1,{LINES} @@\n" + f"+# {'x' * 60}\n" * LINES
)


def broken(repository: Path, how: str, applies: str = "*") -> str:
    """A folder of a git and a patch(1) that end so, git where its first argument is `applies`."""
    tools = repository.parent / "tools"
    tools.mkdir()
    for name in ("git", "patch"):
        (tools / name).write_text(
            f'#!/bin/sh\ncase "{name} $1" in git\\ {applies}|patch*) {how};; esac\nexec {shutil.which(name)} "$@"\n'
        )
        (tools / name).chmod(0o755)
    return str(tools)


@pytest.mark.parametrize(
    ("how", "code"), [("kill -9 $$", 45), ("kill -TERM $$", 45), ("kill -BUS $$", 45), ("exit 1", 41)]
)
def test_a_git_that_is_killed_is_no_fault_of_the_patch(repository: Path, how: str, code: int) -> None:
    prepared(repository, PATCH, "", (code,), path=broken(repository, how))


@pytest.mark.parametrize("name", ["XFSZ", "SEGV", "ABRT", "FPE", "ILL"])
def test_a_patch_that_makes_git_crash_does_not_apply(repository: Path, name: str) -> None:
    said = prepared(repository, PATCH, "", (41,), path=broken(repository, f"kill -{name} $$", "apply"))
    assert "was ended by signal" in said


@pytest.mark.parametrize(("times", "code"), [(7, 0), (99, 41)])
def test_a_git_that_is_refused_something_is_tried_once_more(repository: Path, times: int, code: int) -> None:
    tools, count = repository.parent / "tools", repository.parent / "count"
    tools.mkdir()
    script = f"""#!/bin/sh
    echo >> {count}
    test $(wc -l < {count}) -gt {times} && exec {shutil.which("git")} "$@"
    echo "fatal: unable to create a file: Too many open files in system"; exit 128
    """
    for name in ("git", "patch"):
        (tools / name).write_text(script)
        (tools / name).chmod(0o755)
    prepared(repository, PATCH, "", (code,), path=str(tools))


def test_no_descriptors_for_git_are_no_fault_of_the_patch(repository: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pytest.MonkeyPatch.context() as patched:
        run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
        few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (6, before[1]))
        patched.setattr(subprocess, "run", lambda *given, **named: run(*given, **named, preexec_fn=few))
        said = prepared(repository, PATCH, "", (45,))
    assert "Too many open files" in said


@pytest.mark.parametrize(("own_disk", "code"), [("", 41), ("0", 45)])
def test_a_full_disk_is_the_patchs_fault_only_where_it_is_the_boxes_own(
    repository: Path, own_disk: str, code: int
) -> None:
    place = repository.parent / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], check=True)
    try:
        subprocess.run(["cp", "-a", str(repository), str(place)], check=True)
        subprocess.run(["dd", "if=/dev/zero", f"of={place}/filler", "bs=64k"], check=False, capture_output=True)
        # the scripts stay on the disk that has room
        (repository.parent / "testbed").rename(repository.parent / "elsewhere")
        (repository.parent / "testbed").symlink_to(place / "testbed")
        prepared(repository, PATCH, "", (code,), own_disk=own_disk)
    finally:
        subprocess.run(["umount", str(place)], check=True)


COUNTS = """
import os
said = open('/proc/self/io').read().split()
stat = open('/proc/self/stat').read().rpartition(')')[2].split()
usage = __import__('resource').getrusage(-1)
print('\\nCOUNTS', said[1:8:2], stat[8], stat[10], stat[13:15], usage.ru_utime, usage.ru_minflt, usage.ru_inblock)
"""


def test_what_the_tests_process_has_read_and_written_tells_nothing_of_changed_tests(repository: Path) -> None:
    """The kernel tells all programs of the box: more words on the channel, more edits, another length of the job."""
    path = repository / "kept/mod.py"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    seen = set()
    for edits in (0, 1, 40):
        says = [{"kind": "inversion", "how": {f"test_{at}": "another value" for at in range(edits)}}]
        rewrites = [["kept/mod.py", digest, [[8, 12, "pept"]] * min(edits, 1) + [[0, 0, ""]] * edits]]
        found = prepared(repository, "", COUNTS, says=says, rewrites=rewrites)
        assert ("pept" in path.read_text()) is bool(edits)
        git(repository, "checkout", "-q", ".")
        shutil.rmtree(repository.parent / ".verify")
        seen.add(next(line for line in found.splitlines() if line.startswith("COUNTS")))
    assert len(seen) == 1, seen


@pytest.mark.parametrize(("ends", "code"), [("sys.exit(TESTS_FAILED)", 42), ("raise KeyError(1)", 1)])
def test_how_preparing_ends_is_how_its_process_ends(repository: Path, ends: str, code: int) -> None:
    found = prepared(repository, "", "print('ran')", (code,), start=ends)
    assert "ran" not in found
    assert ("KeyError" in found) is (code == 1)


def test_what_kills_the_preparing_process_ends_the_tests(repository: Path) -> None:
    assert "ran" not in prepared(repository, "", "print('ran')", (-9,), start="os.kill(os.getpid(), 9)")
