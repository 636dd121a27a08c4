"""Contest packages: ours are judged as their submissions are filed, and what is wrong with a folder is said."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_gym.packages.package import PackageError
from sandbox_gym.packages.reader import read_package
from sandbox_gym.packages.rows import package_row

PACKAGES = Path(__file__).parents[2] / "examples" / "packages"
NAMES = ("guess", "pendulum", "stairs", "two-primes")


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandbox_gym", *words], capture_output=True, text=True, timeout=110, check=False
    )


@pytest.mark.parametrize("provider", ["local", "docker"])
def test_every_submission_gets_the_verdict_it_is_filed_under(provider: str) -> None:
    done = command("check-package", *(str(PACKAGES / name) for name in NAMES), "--provider", provider, "--json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one for one in found if not one["agrees"]] == []
    assert done.returncode == 0, done.stderr
    assert {one["package"] for one in found} == set(NAMES)
    assert len(found) == 22


def test_a_submission_that_is_filed_wrong_is_reported(tmp_path: Path) -> None:
    folder = shutil.copytree(PACKAGES / "pendulum", tmp_path / "pendulum")
    (folder / "submissions" / "wrong_answer" / "g_is_ten.py").rename(folder / "submissions" / "accepted" / "ten.py")
    done = command("check-package", str(folder), "--json")
    found = {one["submission"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 1
    assert found["accepted/ten.py"]["agrees"] is False
    assert found["accepted/ten.py"]["got"] == "WA"
    assert "sample/1" in found["accepted/ten.py"]["reason"]


def test_a_package_becomes_a_row_that_verifies(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    assert command("import-package", str(PACKAGES / "stairs"), "--out", str(rows)).returncode == 0
    row = json.loads(rows.read_text())
    source = (PACKAGES / "stairs/submissions/partially_accepted/recursive.py").read_text()
    row["answer"] = f"```python\n{source}```"
    rows.write_text(json.dumps(row) + "\n")
    done = command("verify", str(rows), "--out", str(out))
    assert done.returncode == 0, done.stderr
    verdict = json.loads(out.read_text())["verdict"]
    assert verdict["reward"] == 0.3
    assert [group["points"] for group in verdict["groups"]] == [0, 30, 0, 0]


def drop(path: str) -> Callable[[Path], None]:
    return lambda folder: (folder / path).unlink()


def write(path: str, text: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / path).write_text(text)

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (drop("problem.yaml"), "has no problem.yaml"),
        (drop("data/secret/2.ans"), "has no 2.ans"),
        (write("problem.yaml", "name: [x"), "is no YAML"),
        (write("problem.yaml", "type: multi-pass"), "multi-pass problems can't be judged"),
        (write("problem.yaml", "limits: {memory: 0}"), "limits.memory is 0"),
        (write("problem.yaml", "limits: 3"), "is a int"),
        (write("data/secret/1.in", ""), ""),
        (write("submissions/accepted/x.py", "# @EXPECTED_RESULTS@: WRONG-ANSWER"), ""),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, spoil: Callable[[Path], None], message: str) -> None:
    folder = shutil.copytree(PACKAGES / "pendulum", tmp_path / "pendulum")
    spoil(folder)
    if message:
        with pytest.raises(PackageError, match=message):
            read_package(folder)
    else:
        read_package(folder)


def test_flags_of_the_default_validator(tmp_path: Path) -> None:
    folder = shutil.copytree(PACKAGES / "pendulum", tmp_path / "pendulum")
    (folder / "problem.yaml").write_text("validator_flags: case_sensitive float_relative_tolerance 0.5\n")
    metadata = package_row(read_package(folder), time_limit_s=1)["verifier_metadata"]
    assert isinstance(metadata, dict)
    assert metadata["checker"] == {"type": "tokens", "case_sensitive": True, "float_relative_tolerance": 0.5}
    (folder / "problem.yaml").write_text("validator_flags: space_change\n")
    with pytest.raises(PackageError, match="space_change"):
        package_row(read_package(folder), time_limit_s=1)


def test_an_annotation_beats_the_folder(tmp_path: Path) -> None:
    folder = shutil.copytree(PACKAGES / "pendulum", tmp_path / "pendulum")
    (folder / "submissions" / "wrong_answer" / "x.py").write_text("# @EXPECTED_RESULTS@: TIMELIMIT, RUN-ERROR\n")
    found = {one.path: one.expected for one in read_package(folder).submissions}
    assert found["wrong_answer/x.py"] == ("TLE", "RTE")
