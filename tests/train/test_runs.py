"""The training runs of examples/train, as readers start them; each brings its own server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.train.example import FOLDER

pytestmark = pytest.mark.timeout(3600)
SEEDS = (0, 1, 2)


def run(script: str, seed: int, out: Path) -> dict[str, object]:
    """The figures that it wrote. It judges itself by its exit code."""
    command = [sys.executable, str(FOLDER / f"{script}.py"), "--seed", str(seed), "--out", str(out)]
    done = subprocess.run(command, timeout=3500, check=False)
    assert done.returncode == 0
    found: dict[str, object] = json.loads((out / f"{script.partition('_')[0]}-{seed}.json").read_text())
    assert (out / f"{script.partition('_')[0]}-{seed}.svg").stat().st_size > 1000
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_policy_learns_from_verdicts(seed: int, tmp_path: Path) -> None:
    found = run("learn", seed, tmp_path)
    assert found["reward"][0] < 0.2  # type: ignore[index]
    assert found["verdicts"] > 1000  # type: ignore[operator]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_policy_learns_a_hack_which_is_told_and_ended(seed: int, tmp_path: Path) -> None:
    found = run("weak_tests", seed, tmp_path)
    assert "source_ignores_input rose" in str(found["radar"])
