"""The example with NeMo Gym's own commands: ten instances, eight at once, a sandbox killed every five seconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.gym.running import figure
from tests.gym.tasks import REPOSITORY

pytestmark = pytest.mark.timeout(2400)


def test_the_collection_ends_by_itself_and_no_reward_is_wrong() -> None:
    command = [sys.executable, "-m", "examples.agents", "nemo-gym", "--chaos"]
    ran = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=2300)
    figure(ran.stdout)
    assert ran.returncode == 0, ran.stdout + ran.stderr
