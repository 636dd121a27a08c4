"""The example with mini-swe-agent: ten instances, eight at once, a sandbox killed every five seconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.timeout(1500)


def test_every_instance_ends_with_its_verdict_or_with_none() -> None:
    command = [sys.executable, "-m", "examples.agents", "mini-swe-agent", "--chaos"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=1400)
    assert ran.returncode == 0, ran.stdout + ran.stderr
