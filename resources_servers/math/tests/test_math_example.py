"""The example rows get the verdicts that their answers deserve, by the command that the README shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data"
REWARDS = {
    "example": [1, 1, 1, 1, 0],
    "example_more": [1, 1],  # the last says it outside a box
    "example_with_code": [1, 1, 0],
    "example_ns_tools": [1, 1, 0],
}


@pytest.mark.parametrize("name", REWARDS)
def test_rewards(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    environment = {"SANDBOX_GYM_PROVIDER": "local", **os.environ, "SANDBOX_GYM_STATE_DIR": str(tmp_path / "state")}
    command = [sys.executable, "-m", "sandbox_gym", "verify", str(DATA / f"{name}.jsonl"), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    found = sorted((json.loads(line) for line in out.read_text().splitlines()), key=lambda row: row["row"])
    assert [row["reward"] for row in found] == REWARDS[name]
