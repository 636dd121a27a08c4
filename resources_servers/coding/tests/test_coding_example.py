"""The example rows are worth what they were written to be worth, by the command that the documentation shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data"
WORTH = {"wrong": "wrong_answer", "crash": "runtime_error", "endless": "time_limit", "hungry": "memory_limit"}
WORTH |= {"flood": "output_limit", "hack": "wrong_answer", "right": ""}


@pytest.mark.parametrize("name", ["example", "example_more"])
def test_example_rows(name: str, tmp_path: Path) -> None:
    rows, out = DATA / f"{name}.jsonl", tmp_path / "out.jsonl"
    environment = {"SANDBOX_GYM_PROVIDER": "local", **os.environ, "SANDBOX_GYM_STATE_DIR": str(tmp_path / "state")}
    command = [sys.executable, "-m", "sandbox_gym", "verify", str(rows), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    found = sorted((json.loads(line) for line in out.read_text().splitlines()), key=lambda row: row["row"])
    ids = [json.loads(line)["response"]["id"] for line in rows.read_text().splitlines()]
    assert {each: row["failure_reason"] or "" for each, row in zip(ids, found, strict=True)} == {
        each: WORTH[each.rpartition("_")[2]] for each in ids
    }
