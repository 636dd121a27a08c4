"""verifiers' own loader and tasks with our taskset."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainers.rows import LOST, METADATA, RIGHT, WRONG

pytestmark = pytest.mark.timeout(900)


def scored(folder: Path, url: str, answer: str) -> list[str]:
    rows = folder / "rows.jsonl"
    named = {"kept": METADATA, "lost": LOST}
    rows.write_text("".join(json.dumps({"question": n, "verifier_metadata": m}) + "\n" for n, m in named.items()))
    program = Path(__file__).with_name("with_verifiers.py")
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"SANDBOX_GYM_URL": url}
    command = [sys.executable, str(program), str(rows), answer]
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_rewards_and_a_lost_verdict(tmp_path: Path, server_url: str) -> None:
    assert scored(tmp_path, server_url, RIGHT) == ["kept: 1.0", "lost: None TaskError task_error"]
    assert scored(tmp_path, server_url, WRONG) == ["kept: 0.0", "lost: None TaskError task_error"]
