"""Submissions of a package: what is read, what is refused alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox_gym.packages.reader import read_package
from tests.packages import write_package
from tests.unit.packages.reading import submissions


def refused(folder: Path, files: dict[str, str | bytes | None]) -> dict[str, str]:
    package = read_package(write_package(folder / "echo", files))
    return {one.path: one.refused for one in package.submissions if one.refused}


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("accepted/x.adb", "procedure X is begin null; end X;", ".adb is no language"),
        ("accepted/x.zig", "pub fn main() void {}", ".zig is no language"),
        ("accepted/x.py", b"\xff\xfe", "is no UTF-8"),
        ("accepted/x.py", "#!/usr/bin/env python2\nprint 1", "Python 2"),
        ("accepted/x.py2", "print 1", ".py2 is no language"),
        ("accepted/both/a.py", "", None),
        ("accepted/x.py", " " * (5 << 20), "larger than"),
        ("unheard_of/x.py", "print(1)", "unheard_of is no verdict"),
        ("accepted/dir/notes.txt", "nothing", "nothing is no language"),
        ("accepted/dir/a b.py", "print(1)", "has a name"),
    ],
)
def test_a_submission_is_refused_alone(tmp_path: Path, path: str, text: str | bytes, why: str | None) -> None:
    found = refused(tmp_path, {f"submissions/{path}": text})
    if why is None:
        assert found == {}
    else:
        assert [why in reason for reason in found.values()] == [True], found


def test_folders_of_submissions(tmp_path: Path) -> None:
    folder = "submissions/accepted/"
    package = read_package(
        write_package(
            tmp_path / "echo",
            {
                folder + "cpp/a.cpp": "int main() {}",
                folder + "cpp/b.cc": "",
                folder + "cpp/inc/b.h": "",
                folder + "cpp/a.o": b"\x7fELF",
                folder + "py/main.py": "import u",
                folder + "py/u.py": "",
                folder + "py/__pycache__/u.pyc": b"\0",
                folder + "mixed_tongues/a.c": "",
                folder + "mixed_tongues/b.py": "",
                folder + "open/a.py": "",
                folder + "open/b.py": "",
                folder + "ts/main.ts": "",
                folder + "ts/u.ts": "",
                folder + "README.md": "no program",
                folder + ".hidden.py": "no program",
            },
        )
    )
    found = submissions(package)
    assert (found["accepted/cpp"].main, sorted(found["accepted/cpp"].files)) == ("a.cpp", ["b.cc", "inc/b.h"])
    assert (found["accepted/py"].main, list(found["accepted/py"].files)) == ("main.py", ["u.py"])
    assert {path: one.refused.partition(": ")[2] for path, one in found.items() if one.refused} == {
        "accepted/mixed_tongues": "has sources of c and python; a program has one language",
        "accepted/open": "which file is the main one is open; name it main",
        "accepted/ts": "programs of several files in typescript can't be run here",
    }
    assert "accepted/README.md" not in found
    assert "accepted/.hidden.py" not in found


@pytest.mark.parametrize("target", ["/etc/hostname", "../../../../outside.py", "missing.py", "loop.py"])
def test_a_link_out_of_the_package_is_refused_alone(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside.py").write_text("secret = 1")
    folder = write_package(tmp_path / "echo", {})
    (folder / "submissions/accepted/loop.py").symlink_to(target)
    found = submissions(read_package(folder))
    assert found["accepted/loop.py"].refused
    assert found["accepted/loop.py"].source == ""
    assert not found["accepted/good.py"].refused


def test_a_link_within_the_package_is_read(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {"submissions/rejected/x.txt": ""})
    (folder / "submissions/rejected/same.py").symlink_to("../accepted/good.py")
    assert submissions(read_package(folder))["rejected/same.py"].source == "print(input())\n"


def test_a_pipe_is_no_submission(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {})
    os.mkfifo(folder / "submissions/accepted/pipe.py")
    assert "is no file" in submissions(read_package(folder))["accepted/pipe.py"].refused


def test_a_folder_within_itself_is_refused_alone(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {"submissions/accepted/dir/main.py": ""})
    (folder / "submissions/accepted/dir/again").symlink_to(".")
    assert "link to a folder" in submissions(read_package(folder))["accepted/dir"].refused


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {})
    (folder / "submissions/accepted" / os.fsdecode(b"\xff.py")).write_text("print(1)")
    assert "accepted/\\udcff.py" in submissions(read_package(folder))
