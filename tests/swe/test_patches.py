"""Patches taken out of answers and read: right, damaged, hostile and huge."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from sandbox_gym.verifiers.swe import extract_patch, normalised, read_patch
from sandbox_gym.verifiers.swe.patches.diff import MAX_BYTES, FileChange
from tests.swe.rows import GOLD, TEST_PATCH

OTHER = GOLD.replace("src/a.py", "src/b.py")
SAME_FILE = GOLD.replace("+x = 2", "+x = 3")


def taken(text: str) -> str:
    found = extract_patch(text)
    assert found is not None
    return found.text


# ---- out of the answer


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (f"Here:\n```diff\n{GOLD}```\nDone.", "fence"),
        (f"```patch\n{GOLD}```", "fence"),
        (f"```\n{GOLD}```", "fence"),
        (f"~~~~diff\n{GOLD}~~~~\n", "fence"),
        (f"<patch>\n{GOLD}</patch>", "tag"),
        (f"I did this.\n<patch>{GOLD}</patch> and more", "tag"),
        (f"<solution>\n```diff\n{GOLD}```\n</solution>", "tag"),
        (f"```xml\n<patch>\n{GOLD}</patch>\n```", "fence"),
        (f"The patch is within <patch> tags:\n\n```diff\n{GOLD}```\n", "fence"),
        (f"It goes into <patch>\nas asked:\n```diff\n{GOLD}```\n", "tag"),
        (f"I changed it.\n\n{GOLD}", "raw"),
        (f"{GOLD}\nThat is all: a one-line change.\n", "raw"),
        (f"<think>```diff\n{OTHER}```</think>\n```diff\n{GOLD}```", "fence"),
        (f"First try:\n```diff\n{SAME_FILE}```\nBetter:\n```diff\n{GOLD}```\n", "fence"),
        (f"```diff\n{OTHER}```\n<patch>\n{GOLD}</patch>\n", "tag"),
        (f"{OTHER}\n```diff\n{GOLD}```\n", "fence"),
        (f"```diff\n{GOLD}```\n```bash\npytest -q\n```\n<solution>done</solution>", "fence"),
        (f"```diff\n{GOLD}", "fence"),
        (f"<patch>\n{GOLD}", "tag"),
        (f"```diff\n{GOLD.rstrip()}\n```", "fence"),
        (f"<patch>\n{GOLD.rstrip()}</patch>", "tag"),
        (f"```diff\n{GOLD}```".replace("\n", "\r\n"), "fence"),
        ("1. Apply:\n   ```diff\n" + "".join(f"   {line}\n" for line in GOLD.splitlines()) + "   ```\n", "fence"),
    ],
)
def test_the_patch_is_found(text: str, source: str) -> None:
    found = extract_patch(text)
    assert found is not None
    assert (found.text, found.source) == (GOLD, source)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't.",
        "```python\nx = 2\n```",
        "<patch></patch>",
        "<patch>src/a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE</patch>",
        "```diff\n```",
        f"<think>```diff\n{GOLD}```</think> I give up.",
        "--- a rule\nnothing",
    ],
)
def test_no_patch(text: str) -> None:
    assert extract_patch(text) is None


def test_the_last_one_wins_and_all_are_counted() -> None:
    found = extract_patch(f"```diff\n{OTHER}```\n```diff\n{OTHER}```\n{GOLD}")
    assert found is not None
    assert (found.text, found.candidates) == (GOLD, 3)


def test_a_fence_for_each_file_is_one_patch() -> None:
    assert taken(f"One:\n```diff\n{OTHER}```\nTwo:\n```diff\n{GOLD}```\n") == OTHER + GOLD
    assert taken(f"```diff\n{OTHER}```\n```diff\n{SAME_FILE}```\nBetter:\n```diff\n{GOLD}```") == GOLD
    assert taken(f"```diff\n{OTHER.replace('@@ -1', '@@ -1,9')}```\n```diff\n{GOLD}```") == GOLD


@pytest.mark.parametrize("wrap", ["```diff\n{}```\n", "<patch>\n{}</patch>", "{}", "Text.\n{}"])
def test_a_patched_document_with_fences_and_tags_in_it(wrap: str) -> None:
    patch = (
        "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1,4 +1,6 @@\n ```\n-old\n+new\n"
        "+<patch>\n+</patch>\n ```\n </patch>\n"
    )
    assert taken(wrap.format(patch)) == patch


def test_carriage_returns_of_the_file_stay() -> None:
    dos = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\r\n+two\r\n"
    assert taken(f"```diff\n{dos}```") == dos
    assert normalised(dos.replace("\n", "\r\n")) == dos


def test_blank_context_lost_at_the_end_is_put_back() -> None:
    patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@\n-x\n+y\n z\n \n \n"
    assert taken(f"<patch>{patch.rstrip()}</patch>") == patch
    assert normalised(patch.rstrip()) == patch


def test_the_blank_line_that_ends_binary_data_is_kept() -> None:
    patch = (
        "diff --git a/b.bin b/b.bin\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo00\n\nliteral 1\nIcmZQz\n\n"
    )
    assert taken(f"```diff\n{patch}```") == patch
    assert normalised(patch.strip()) == patch


def test_a_submission_without_text_around() -> None:
    assert normalised(GOLD.rstrip()) == GOLD
    assert normalised("  \n") == ""
    assert normalised("not a patch") == "not a patch\n"


# ---- read


def change(text: str) -> FileChange:
    reading = read_patch(text.encode())
    assert (reading.problem, reading.damage) == ("", "")
    assert len(reading.changes) == 1
    return reading.changes[0]


def test_kinds_of_change() -> None:
    assert change(GOLD) == FileChange("src/a.py", added=1, removed=1)
    created = "diff --git a/n.py b/n.py\nnew file mode 100755\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+x\n"
    assert change(created) == FileChange("n.py", "create", mode="100755", added=1)
    deleted = "diff --git a/n.py b/n.py\ndeleted file mode 100644\n--- a/n.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert change(deleted) == FileChange("n.py", "delete", removed=1)
    empty = "diff --git a/my file.py b/my file.py\nnew file mode 100644\nindex 0000000..e69de29\n"
    assert change(empty) == FileChange("my file.py", "create", mode="100644")
    renamed = "diff --git a/old name b/new\nsimilarity index 100%\nrename from old name\nrename to new\n"
    assert change(renamed) == FileChange("new", "rename", "old name")
    copied = "diff --git a/x b/y\nsimilarity index 90%\ncopy from x\ncopy to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
    assert change(copied) == FileChange("y", "copy", "x", added=1, removed=1)
    mode = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    assert change(mode) == FileChange("run.sh", mode="100755")
    quoted = 'diff --git "a/\\303\\274 \\"x\\".py" "b/\\303\\274 \\"x\\".py"\nnew file mode 100644\n'
    assert change(quoted).path == 'ü "x".py'
    plain = "--- a/x.py\t2024-01-01 00:00:00\n+++ b/x.py\t2024-01-02 00:00:00\n@@ -1 +1 @@\n-a\n+b\n"
    assert change(plain) == FileChange("x.py", added=1, removed=1)
    link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n\\ No newline\n"
    assert change(link).mode == "120000"
    both = "diff --git a/b.bin b/b.bin\nindex 1..2 100644\nBinary files a/b.bin and b/b.bin differ\n"
    assert change(both) == FileChange("b.bin", binary=True)


def test_lines_of_a_hunk_are_never_headers() -> None:
    patch = (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n--- a/conftest.py\n-+++ b/conftest.py\n"
        "+-- /dev/null\n+++ b/../evil\n  diff --git a/y b/y\n"
    )
    assert change(patch) == FileChange("x", added=2, removed=2)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/etc/passwd", "absolute"),
        ("../up", ".."),
        ("a/../../up", ".."),
        (".git/hooks/pre-commit", ".git"),
        ("sub/.GIT/config", ".git"),
        (".git./config", ".git"),
        ("git~1/config", ".git"),
        (".g\u200cit/config", ".git"),
        ("x" * 5000, "longer"),
    ],
)
def test_paths_that_are_refused(path: str, why: str) -> None:
    prefix = "" if path.startswith("/") else "b/"
    for patch in (
        f"--- a/x\n+++ {prefix}{path}\n@@ -1 +1 @@\n-a\n+b\n".replace("a/x", "/dev/null"),
        f"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to {path}\n",
        f"diff --git a/x b/y\nsimilarity index 100%\nrename from {path}\nrename to y\n",
        f"{GOLD}diff --git a/x b/x\n--- a/{path.lstrip('/') if prefix else path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
        if prefix
        else f"--- {path}\n+++ {path}\n@@ -1 +1 @@\n-a\n+b\n",
    ):
        assert why in read_patch(patch.encode()).problem, patch[:200]


@pytest.mark.parametrize("path", ["a/.gitignore", ".github/workflows/x.yml", "..a/b", "a..b", "src/git.py", "a b/c"])
def test_paths_that_are_not(path: str) -> None:
    assert read_patch(f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n".encode()).paths == (path,)


def test_a_submodule_is_refused() -> None:
    patch = "diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 1\n"
    assert "submodule" in read_patch(patch.encode()).problem


@pytest.mark.parametrize(
    "patch",
    [
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ ... @@\n-a\n+b\n@@ -1,9 +1,9 @@\n-a\n",
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\ndiff --git a/y b/y\nnew file mode 100644\n",
        "@@ -1 +1 @@\n-a\n+b\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
    ],
)
def test_damage_is_told_and_the_files_are_known(patch: str) -> None:
    reading = read_patch(patch.encode())
    assert reading.damage
    assert "x" in reading.paths


@pytest.mark.parametrize(
    ("data", "why"), [(b"", "empty"), (b" \n", "empty"), (b"words", "no diff"), (b"\xff\xfe", "no diff")]
)
def test_what_is_no_patch(data: bytes, why: str) -> None:
    assert why in read_patch(data).problem


# ---- hostile and huge


def test_fifty_megabytes_are_refused_and_found_in_an_answer() -> None:
    line = "+" + "x" * 99 + "\n"
    count = 520_000
    patch = f"diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,{count} @@\n" + line * count
    assert len(patch) > 50 << 20
    assert f"at most {MAX_BYTES}" in read_patch(patch.encode()).problem
    assert taken(f"```diff\n{patch}```") == patch


def test_a_hundred_thousand_hunks() -> None:
    hunks = "".join(f"@@ -{n * 9 + 1},3 +{n * 9 + 1},3 @@\n a\n-b\n+c\n d\n" for n in range(100_000))
    reading = read_patch(f"--- a/x\n+++ b/x\n{hunks}".encode())
    assert (reading.problem, reading.damage) == ("", "")
    assert (reading.changes[0].added, reading.changes[0].removed) == (100_000, 100_000)


def test_too_many_files_and_lines() -> None:
    files = "".join(f"diff --git a/{n} b/{n}\nnew file mode 100644\n" for n in range(5_001))
    assert "files" in read_patch(files.encode()).problem
    assert "lines" in read_patch(b"--- a/x\n+++ b/x\n" + b"\n" * 1_000_001).problem


@pytest.mark.parametrize(
    "text",
    [
        "```diff\n" * 100_000,
        "<patch>\n" * 100_000,
        "<patch>\n```diff\n" * 50_000,
        "diff --git a/x b/x\n" * 100_000,
        "`" * 1_000_000,
        "<patch>" * 200_000,
        "\r\n" * 1_000_000,
        "@@ -1 +1 @@\n" * 200_000,
        "--- a/x\n+++ b/x\n@@ -1,999999999 +1,999999999 @@\n" + " \n" * 300_000,
        'diff --git "a/' + "\\303" * 200_000 + '" "b/x"\n',
        "<think>" * 100_000,
    ],
)
def test_repeated_openings_end(text: str) -> None:
    found = extract_patch(text)
    if found is not None:
        read_patch(found.text.encode("utf-8", "surrogatepass"))


def test_any_text_is_read(tmp_path: Path) -> None:
    """Lines of patches and answers in any order: no exception, and paths that are refused never pass unseen."""
    rng = random.Random(17)
    pieces = [*GOLD.splitlines(), *TEST_PATCH.splitlines(), "```diff", "```", "<patch>", "</patch>", "", "\r", "\\ No"]
    pieces += [
        "rename from ../x",
        "+++ b/../../etc",
        "GIT binary patch",
        "@@ -0,0 +1 @@",
        "\ud800",
        "\x00",
        "diff --git ",
    ]
    for _ in range(3_000):
        text = "\n".join(rng.choices(pieces, k=rng.randrange(30)))
        found = extract_patch(text)
        reading = read_patch((found.text if found else text).encode("utf-8", "surrogatepass"))
        if any(".." in path.split("/") for path in reading.paths):
            assert reading.problem


# ---- against git


def test_the_reading_is_what_git_says(tmp_path: Path) -> None:
    """Random changes of a repository: modify, create, delete, rename, modes, binary files, odd names."""

    def git(*words: str) -> bytes:
        return subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True).stdout

    git("init", "-q")
    git("config", "user.email", "a@b.c")
    git("config", "user.name", "a")
    rng = random.Random(3)
    names = ["a b.py", "ü.txt", 'q"uote', "tab\there", "src/deep/x.py", "bin.dat", "plain", "tests/test_a.py", "b b/b"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(rng.choices(b"ab\n -+@\x00" if name == "bin.dat" else b"abc\n-+@ ", k=400)))
    git("add", "-A")
    git("commit", "-qm", "base")
    for step in range(25):
        git("checkout", "-q", "-f", "HEAD")
        git("clean", "-qfd")
        for name in rng.sample(names, 4):
            path = tmp_path / name
            kind = rng.choice(["edit", "delete", "rename", "mode", "new", "empty"])
            if kind == "edit":
                path.write_bytes(path.read_bytes() + b"-- a/x\n++ b/y\n@@ -1 +1 @@\n")
            elif kind == "delete":
                path.unlink()
            elif kind == "rename":
                path.rename(path.with_name(path.name + " moved"))
            elif kind == "mode":
                path.chmod(0o755)
            else:
                (tmp_path / f"new {step} {path.name}").write_bytes(b"" if kind == "empty" else b"no newline")
        git("add", "-A")
        patch = git("diff", "--cached", "--binary", "-M", "HEAD")
        told = git("diff", "--cached", "--name-status", "-z", "-M", "HEAD").decode().split("\0")[:-1]
        expected = [
            word
            for word in told
            if not ((len(word) <= 4 and word[0] in "AMDRT" and word[1:].isdigit()) or word in "AMDT")
        ]
        reading = read_patch(patch)
        assert (reading.problem, reading.damage) == ("", "")
        assert sorted(reading.paths) == sorted(set(expected))
        assert reading.end == len(patch) or any(item.binary for item in reading.changes)
        git("reset", "-q", "--hard")
