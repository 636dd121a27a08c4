"""Forms of a patch that are no git diff: they are found in an answer, and applied as they are meant."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sandbox_gym.verifiers.swe import extract_patch, read_patch
from tests.swe.test_patch_names import FILES, clean, prepared, repository
from tests.swe.test_prepare import git

HUNK = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
__all__ = ["repository"]


def sides(old: str, new: str, *, headed: bool = False) -> str:
    return (f"diff --git {old} {new}\n" if headed else "") + f"--- {old}\n+++ {new}\n{HUNK}"


DIFFS = {
    "git": sides("a/mod.py", "b/mod.py", headed=True),
    "no prefix": sides("mod.py", "mod.py", headed=True),
    "mnemonic": sides("i/mod.py", "w/mod.py", headed=True),
    "diff -u": sides("a/mod.py", "b/mod.py"),
    "diff -ru": "diff -ru old/mod.py new/mod.py\n" + sides("old/mod.py\t2024-01-01 00:00:00", "new/mod.py\t2024-01-01"),
    "-p0": sides("mod.py", "mod.py"),
    "./": sides("./mod.py", "./mod.py"),
    "svn": "Index: mod.py\n" + "=" * 67 + "\n" + sides("mod.py\t(revision 1)", "mod.py\t(working copy)"),
    "mail": "From 1 Mon Sep 17 00:00:00 2001\nSubject: x\n---\n mod.py | 2 +-\n\n"
    + sides("a/mod.py", "b/mod.py", headed=True) + "-- \n2.39.5\n\n",
}  # fmt: skip


@pytest.mark.parametrize("form", DIFFS)
@pytest.mark.parametrize(
    "text", ["{}", "So:\n\n{}\nThat is all.\n", "```diff\n{}```\n", "<patch>\n{}</patch>", "- a\n- b\n\n{}"]
)
def test_every_form_is_found_and_applied(repository: Path, form: str, text: str) -> None:
    found = extract_patch(text.format(DIFFS[form]))
    assert found is not None
    clean(repository)
    assert prepared(repository, found.text) == 0, found.text
    assert (repository / "mod.py").read_text() == FILES["mod.py"].replace("two", "2")
    clean(repository)


def test_names_without_a_side_are_read_in_both_ways(repository: Path) -> None:
    """What is put back must not depend on which of them is meant."""
    patch = sides("tests/test_a.py", "tests/test_a.py", headed=True).replace(HUNK, "@@ -1 +1 @@\n-x = 1\n+x = 2\n")
    reading = read_patch(patch.encode())
    assert reading.bare
    assert set(reading.paths) == {"tests/test_a.py", "test_a.py"}
    clean(repository)
    assert prepared(repository, patch) == 0
    assert (repository / "tests/test_a.py").read_text() == "x = 1\n"  # which is the row's
    assert ".git" in read_patch(sides(".git/config", ".git/config").encode()).problem
    assert "absolute" in read_patch(sides("/etc/passwd", "/etc/passwd").encode()).problem


@pytest.mark.parametrize(
    "text", ["--- a rule\n+++ b\nno hunk", "--- a\n\n+++ b\n@@ -1 +1 @@\n", "+++ b\n@@ -1 +1 @@\n"]
)
def test_words_that_look_like_a_header_are_none(text: str) -> None:
    assert extract_patch(text) is None


MOVES = {
    "alone": "similarity index 100%\nrename from mod.py\nrename to sub/new.py\n",
    "with a change": "similarity index 60%\nrename from mod.py\nrename to sub/new.py\n--- mod.py\n+++ sub/new.py\n"
    + HUNK,
    "a copy": "similarity index 100%\ncopy from mod.py\ncopy to sub/new.py\n",
}


@pytest.mark.parametrize(
    "more", ["", sides("README.md", "README.md", headed=True).replace(HUNK, "@@ -1 +1 @@\n-# a\n+# b\n")]
)
@pytest.mark.parametrize("name", MOVES)
def test_files_are_moved_without_sides(repository: Path, name: str, more: str) -> None:
    patch = f"diff --git mod.py sub/new.py\n{MOVES[name]}{more}"
    reading = read_patch(patch.encode())
    assert reading.bare
    assert {"mod.py", "sub/new.py"} <= set(reading.paths)
    clean(repository)
    assert prepared(repository, patch) == 0
    was = FILES["mod.py"]
    assert (repository / "sub/new.py").read_text() == (was.replace("two", "2") if "change" in name else was)
    assert (repository / "mod.py").exists() == ("copy" in name)
    assert (repository / "README.md").read_text() == ("# b\n\nb\n" if more else FILES["README.md"])
    clean(repository)


@pytest.mark.parametrize("header", ["mod.py sub/other.py", "a/mod.py b/sub/new.py", "mod.py new.py"])
def test_a_move_whose_header_says_otherwise_has_its_sides(header: str) -> None:
    assert not read_patch(f"diff --git {header}\n{MOVES['alone']}".encode()).bare


def test_a_move_reaches_no_file_of_gits() -> None:
    moved = MOVES["alone"].replace("sub/new.py", ".git/hooks/post-checkout")
    assert ".git" in read_patch(f"diff --git mod.py .git/hooks/post-checkout\n{moved}".encode()).problem


@pytest.mark.parametrize("seed", range(12))
def test_hunks_without_context_are_where_their_numbers_say(repository: Path, seed: int) -> None:
    """Of files whose lines are much alike, and of a new and a deleted one."""
    chance = random.Random(seed)
    path = repository / "mod.py"
    before = [f"x = {chance.randrange(3)}\n" for _ in range(30)]
    path.write_text("".join(before))
    git(repository, "commit", "-qam", "lines")
    after = list(before)
    for _ in range(4):
        at = chance.randrange(len(after))
        after[at : at + chance.randrange(3)] = ["y = 1\n"] * chance.randrange(3)
    path.write_text("".join(after))
    (repository / "new.py").write_text("n = 1\n")
    git(repository, "add", "-A")
    patch = git(repository, "diff", "--cached", "-U0")
    git(repository, "reset", "-q", "--hard")
    assert prepared(repository, patch) == 0
    assert path.read_text() == "".join(after)
    assert (repository / "new.py").exists()
