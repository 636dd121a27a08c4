"""The newer name of ng_run: `gym env start`, on the cluster that runs already, and a rollout by `gym eval run`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.documented import command as documented
from tests.gym import tasks
from tests.gym.running import Gym, figure, playing, started
from tests.gym.test_ng_run import check

pytestmark = pytest.mark.timeout(1500)


def test_gym_env_start(gym: Gym, tmp_path: Path) -> None:
    of = tasks.examples()
    scripts = tmp_path / "scripts.json"
    scripts.write_text(json.dumps({task.marker: task.turns for task in of}))
    with playing(scripts) as port:
        command = documented("from-nemo-gym.md", "gym env start", {"http://127.0.0.1:8000": f"http://127.0.0.1:{port}"})
        command += [f"+ray_head_node_address={gym.ray_address()}", "+skip_venv_if_present=true"]
        # Ray wrote the cluster's token when it started it, and wants to be told that there is one
        with started(tmp_path, command, 3, RAY_AUTH_MODE="token") as other:
            figure(f"gym env start: ready after {other.started_s:.0f} s")
            assert other.address("coding") != gym.address("coding")
            lines = [task.line("coding_simple_agent") for task in of]
            path = other.collect("env_start", lines, agent="coding_simple_agent", command="gym eval run")
            check(path, of)
