"""What refuses a package as a whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox_gym.packages.package import PackageError
from sandbox_gym.packages.reader import read_package
from tests.packages import write_package


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"problem.yaml": None}, "has no problem.yaml"),
        ({"problem.yaml": "a: &x [*x]\nlimits: *x"}, "is a list"),
        ({"problem.yaml": "[" * 5000}, "is no YAML"),
        ({"problem.yaml": "d: 2024-99-99"}, "is no YAML"),
        ({"problem.yaml": b"\xff"}, "is no UTF-8"),
        ({"problem.yaml": "x: '" + "y" * (2 << 20) + "'"}, "is larger than"),
        ({"problem.yaml": "validator_flags: it's"}, "No closing quotation"),
        ({"problem.yaml": "validator_flags: {a: b}"}, "give text"),
        ({"problem.yaml": "type: submit-answer"}, "submit-answer problems"),
        ({"problem.yaml": "type: [[x]]"}, "give text"),
        ({"problem.yaml": "validation: custom"}, "has 0 output validators"),
        ({"problem.yaml": "validation: custom multi-pass"}, "has 0 output validators"),
        ({"problem.yaml": "limits: {time_limit: .inf}"}, "limits.time_limit is inf"),
        ({"problem.yaml": "limits: {memory: [1]}"}, "limits.memory is a list"),
        ({"problem.yaml": "constants: {a: [1]}"}, "constants"),
        ({"data/secret/testdata.yaml": "grading: custom"}, "grader of the package's own"),
        ({"data/secret/testdata.yaml": "grader_flags: accept_if_any_accepted"}, "forgives wrong answers"),
        ({"data/secret/2.yaml": "args: [--fast]"}, "files or arguments"),
        ({"data/secret/2.files/x.txt": "1"}, "files or arguments"),
        ({"data/secret/2.ans": None}, "has no 2.ans"),
        ({"data/secret/2.in": b"\xff"}, "is no UTF-8"),
        ({"data/secret/1.in": None, "data/secret/2.in": None}, "holds no case"),
        ({"static_validator/v.py": "x"}, "static_validator"),
        ({"data/secret/testdata.yaml": "accept_score: x", "problem.yaml": "type: scoring"}, "accept_score"),
        ({"data/secret/testdata.yaml": "grader_flags: max", "problem.yaml": "type: scoring"}, "max grader"),
        ({"data/secret/testdata.yaml": "reject_score: 1", "problem.yaml": "type: scoring"}, "points for wrong answers"),
    ],
)
def test_what_refuses_a_package(tmp_path: Path, files: dict[str, str | bytes | None], message: str) -> None:
    with pytest.raises(PackageError, match=message):
        read_package(write_package(tmp_path / "echo", files))


def test_an_alias_bomb_is_told_in_few_words(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    for field in ("validator_flags", "type", "limits", "constants"):
        text = "\n".join([*lines, f"{field}: *a11"])
        with pytest.raises(PackageError) as caught:
            read_package(write_package(tmp_path / field, {"problem.yaml": text}))
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["data/secret/9.in", "data/secret/1.ans", "output_validators/v.py"])
def test_a_link_out_of_the_package_refuses_what_all_need(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside").write_text("secret")
    folder = write_package(tmp_path / "echo", {"problem.yaml": "validation: custom", "data/secret/9.ans": "1"})
    target = folder / name
    target.unlink(missing_ok=True)
    target.parent.mkdir(exist_ok=True)
    target.symlink_to(tmp_path / "outside")
    if not name.startswith("output"):
        write_package(folder, {"output_validators/v.py": "import sys"}, base={})
    with pytest.raises(PackageError, match="leads out of the package"):
        read_package(folder)


def test_a_link_to_a_folder_of_cases_is_refused(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {})
    (folder / "data/secret/more").symlink_to("../sample")
    with pytest.raises(PackageError, match="link to a folder"):
        read_package(folder)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {})
    os.truncate(folder / "data/secret/1.in", 65 << 20)
    with pytest.raises(PackageError, match="is larger than"):
        read_package(folder)
