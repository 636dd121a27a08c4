"""The Makefile cleans up what it makes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_clean_removes_every_environment_that_a_target_makes() -> None:
    made = set(re.findall(r"-m venv (\S+)", (ROOT / "Makefile").read_text()))
    printed = subprocess.run(["make", "-n", "clean"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    inside = {path for path in made if not path.startswith("$") and Path(path).parts[0] != ".run"}
    assert len(inside) >= 4
    assert inside <= set(printed.split())
