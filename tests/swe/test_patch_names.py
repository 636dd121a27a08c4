"""What git and patch(1) make of a patch is what was read of it, or the patch fails; nothing of it reaches git's own
files or is run before the tests."""

from __future__ import annotations

import itertools
import json
import resource
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest

from sandbox_gym.verifiers.swe import read_patch

FILES = {"mod.py": "one\ntwo\nthree\n", "README.md": "# a\n\nb\n", "tests/test_a.py": "x = 1\n"}
ONLY_FOR_PATCH = (
    "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,3 @@\n # z\n \n-b\n+c\n"
)
"""git finds no place for it, patch(1) does."""
TARGETS = ("conftest.py", ".git/hooks/post-checkout", "tests/extra.py", "sub/.git/HEAD")
BEHIND = (
    "",
    "rename to harmless.txt\n",
    "copy to harmless.txt\n",
    "rename new harmless.txt\n",
    "\nrename to harmless.txt\n",
)
RUNS = "#!/bin/sh\ntouch owned\n"
LINK = "diff --git a/{0} b/{0}\nnew file mode 120000\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+{1}\n\\ No newline\n"


def created(path: str) -> str:
    added = "".join(f"+{line}\n" for line in RUNS.splitlines())
    return f"diff --git a/{path} b/{path}\nnew file mode 100755\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,2 @@\n{added}"


def plain(path: str) -> str:
    return created(path).partition("100755\n")[2]


def copied(path: str) -> str:
    return f"diff --git a/mod.py b/{path}\nsimilarity index 100%\ncopy from mod.py\ncopy to {path}\n"


def old_words(path: str) -> str:
    return f"diff --git a/mod.py b/harmless.txt\nrename old mod.py\nrename new {path}\n"


def in_context(path: str) -> str:
    added = "".join(f"+ {line}\n" for line in RUNS.splitlines())
    return f"*** /dev/null\n--- b/{path}\n***************\n*** 0 ****\n--- 1,2 ----\n{added}"


def indexed(path: str) -> str:
    return f"Index: b/{path}\n--- /dev/null\n+++ /dev/null\n@@ -0,0 +1,1 @@\n+{RUNS.splitlines()[0]}\n"


SETTING = "@@ -1,2 +1,3 @@\n [core]\n+\tfsmonitor = touch owned\n \trepositoryformatversion = 0\n"
THROUGH_A_LINK: tuple[str, ...] = (
    LINK.format("x", ".git") + created("x/hooks/post-checkout"),
    LINK.format("x", ".git") + f"diff --git a/x/config b/x/config\n--- a/x/config\n+++ b/x/config\n{SETTING}",
    LINK.format("x", "tests") + created("x/test_a.py"),
    LINK.format("x", "../outside") + created("x/out.py"),
    "*** a/.git/config\n--- b/.git/config\n***************\n*** 1,2 ****\n--- 1,3 ----\n  [core]\n"
    "+ \tfsmonitor = touch owned\n  \trepositoryformatversion = 0\n",
)
FORMS = (created, plain, copied, old_words, in_context, indexed)
MADE = tuple(form(path) + behind for form, path, behind in itertools.product(FORMS, TARGETS, BEHIND))


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """All files that there are, but for what git notes of the times of files."""
    found = {}
    for path in folder.parent.rglob("*"):
        name = str(path.relative_to(folder)) if path.is_relative_to(folder) else f"../{path.relative_to(folder.parent)}"
        if path.is_symlink():
            found[name] = (path.lstat().st_mode, str(path.readlink()).encode())
        elif path.is_file() and name != ".git/index" and not name.startswith("../.verify"):
            found[name] = (path.stat().st_mode, path.read_bytes())
    return found


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names") / "testbed"
    (folder.parent / "outside").mkdir()
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q", ".")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "base")
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=b", *words], cwd=folder, check=True)


def prepared(repository: Path, patch: str, seconds: int = 30) -> int:
    """The exit code of preparing; 0 where the tests would be run. `seconds`: of CPU time, of each program."""
    place = repository.parent / ".verify"
    place.mkdir(exist_ok=True)
    source = files("sandbox_gym.verifiers.swe.channel").joinpath("prepare.py").read_bytes()
    (place / "prepare.py").write_bytes(source.replace(b"APPLY_S = 30", b"APPLY_S = %d" % seconds))
    (place / "candidate.diff").write_text(patch)
    (place / "tests.diff").write_text("")
    reading = read_patch(patch.encode())
    job = {
        "workdir": str(repository), "commit": "HEAD", "restore": ["tests/test_a.py"],
        "watch": [sys.executable, "-c", ""],
        "channel_fd": 2, "nonce": "", "says": [], "reads": [], "read_bytes": 0, "rewrites": [], "reverse": False,
        "names": reading.paths, "headed": reading.headed, "bare": reading.bare,
    }  # fmt: skip
    (place / "prepare.json").write_text(json.dumps(job))
    command = [sys.executable, "-I", "-S", str(place / "prepare.py")]
    return subprocess.run(command, capture_output=True, timeout=60).returncode


def clean(repository: Path) -> None:
    for path in (repository / ".git" / "hooks", repository / "x"):
        subprocess.run(["rm", "-rf", str(path)], check=True)
    subprocess.run(["sed", "-i", "/fsmonitor/d", str(repository / ".git" / "config")], check=True)
    git(repository, "checkout", "-q", "-f", "HEAD", "--", ".")
    git(repository, "clean", "-ffdqx")


@pytest.mark.parametrize("more", ["", ONLY_FOR_PATCH])
@pytest.mark.parametrize("made", [MADE, THROUGH_A_LINK], ids=["headers", "links"])
def test_a_patch_changes_what_was_read_of_it_or_fails(repository: Path, made: tuple[str, ...], more: str) -> None:
    applied = 0
    for patch in made:
        whole = patch + ("" if patch.endswith("\n") else "\n") + more
        reading = read_patch(whole.encode())
        if reading.problem:
            continue  # no box ever has it
        clean(repository)
        before = tree(repository)
        code = prepared(repository, whole)
        after = tree(repository)
        assert not (repository / "owned").exists(), whole
        assert code in (0, 41), whole
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        assert code == 41 or changed <= set(reading.paths), whole
        assert not any(name.startswith("../") for name in changed), whole
        applied += code == 0
    clean(repository)
    assert applied or made is THROUGH_A_LINK


@pytest.mark.parametrize(
    "words", ["rename to b.py", "copy to b.py", "new mode 100755", "index 1..2 160000", "rename new b.py"]
)
@pytest.mark.parametrize("between", ["", "\n", "prose\n", "GIT binary patch\n"])
def test_no_line_behind_a_header_belongs_to_it(words: str, between: str) -> None:
    for form in (created, plain):
        (change,) = read_patch((form("conftest.py") + between + words + "\n").encode()).changes
        assert (change.path, change.old_path) == ("conftest.py", "")


@pytest.mark.parametrize("pad", [" ", "\t", "\\", '"', "0", "-", "a "])
def test_a_header_of_any_length_is_read_at_once(pad: str) -> None:
    """It is read in the server's own process."""
    began = time.process_time()
    long = pad * (2_000_000 // len(pad))
    for line in (
        f"--- a{long}x\n+++ b{long}x\n@@ -1 +1 @@\n-a\n+b\n",
        f"diff --git a{long}x b{long}x\nnew file mode 100644\n",
    ):
        read_patch(line.encode())
        read_patch(f"rename from {long}\n@@ -{long}\n".encode())
    assert time.process_time() - began < 10


def test_hunks_that_fit_nowhere_end(repository: Path) -> None:
    """git and patch(1) look for each of them in all of a file."""
    count = 100_000
    long = "diff --git a/long b/long\nnew file mode 100644\n--- /dev/null\n+++ b/long\n"
    long += f"@@ -0,0 +1,{count} @@\n" + "+a\n" * count + "diff --git a/long b/long\n--- a/long\n+++ b/long\n"
    hunks = "".join(f"@@ -{10 * n + 1},3 +{10 * n + 1},3 @@\n a\n-b\n+c\n a\n" for n in range(count // 10))
    began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert prepared(repository, long + hunks, seconds=1) == 41
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began < 10
    clean(repository)
