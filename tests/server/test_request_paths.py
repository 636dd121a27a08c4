"""What a coding, an SWE and a tool request pass is no more than tools/limits.py allows."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tools.source import ROOT


@pytest.mark.timeout(300)
def test_requests_take_no_longer_paths_than_is_known(whole: bool) -> None:
    """Daily without swe, whose instance is built for it."""
    wanted = {"coding", "bash"} | ({"swe"} if whole else set())
    command = [sys.executable, "-m", "tools.house", "follow", "--check", *sorted(wanted)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr[-4000:]}"
    kinds = {line.partition(":")[0] for line in ran.stdout.splitlines() if line.endswith((" ok", " known"))}
    assert kinds == wanted
