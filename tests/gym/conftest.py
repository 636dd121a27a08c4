"""One NeMo Gym for all tests here: its start takes longer than what they do with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gym import tasks
from tests.gym.running import Gym, figure, playing, running


@pytest.fixture(scope="session")
def gym(tmp_path_factory: pytest.TempPathFactory, data_folder: Path) -> Iterator[Gym]:
    """Our servers, NeMo Gym's own code_gen, its agents and its model server, which asks the stub."""
    folder = tmp_path_factory.mktemp("gym")
    scripts = folder / "scripts.json"
    every = tasks.examples() + tasks.with_tools() + tasks.math() + tasks.swe(data_folder) + [tasks.masked()]
    scripts.write_text(json.dumps({task.marker: task.turns for task in every}))
    with playing(scripts) as model_port, running(folder, model_port) as gym:
        figure(f"ng_run: all servers ready after {gym.started_s:.0f} s")
        yield gym
