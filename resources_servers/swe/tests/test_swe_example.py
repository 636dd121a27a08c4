"""The example rows are sound, and their answers are worth what they were written to be worth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "data" / "example.jsonl"


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """A right row and the wrong one: a build each."""
    rows = FILE.read_text().splitlines()
    assert len(rows) == 5
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(rows[:1] + rows[4:]) + "\n")
    return file


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "sandbox_gym", *arguments]
    environment = {"SANDBOX_GYM_PROVIDER": "local", **os.environ, "SANDBOX_GYM_STATE_DIR": str(folder / "state")}
    return subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False, env=environment)


@pytest.mark.timeout(600)
def test_rewards(tmp_path: Path, few: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = command(tmp_path, "verify", str(few), "--out", str(out))
    assert done.returncode == 0, done.stderr
    found = sorted((json.loads(line) for line in out.read_text().splitlines()), key=lambda row: row["row"])
    assert [(row["instance_id"], row["reward"]) for row in found] == [
        ("sandbox_gym__inflection-teens", 1.0),
        ("sandbox_gym__semver-bump-build", 0.0),
    ]
    assert all(row["evaluation_completed"] for row in found)


@pytest.mark.extended
@pytest.mark.timeout(600)
def test_the_rows_are_sound(tmp_path: Path, few: Path) -> None:
    checked = command(tmp_path, "swe", "validate", str(few), "--runs", "1", "--json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert [json.loads(line)["sound"] for line in checked.stdout.splitlines()] == [True, True]
