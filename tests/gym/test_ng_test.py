"""`ng_test` and its check of data for all three servers: in this checkout, in projects of one's own, in NeMo Gym's."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.documented import command as documented
from tests.gym.running import KEPT, environment, figure, installed
from tests.gym.tasks import REPOSITORY

pytestmark = pytest.mark.timeout(1800)
SERVERS: Final = ("coding", "math", "swe")


def copied(folder: Path, server: str) -> Path:
    """A folder with a copy of the server, as the page has it, below which NeMo Gym is run."""
    target = folder / "resources_servers" / server
    shutil.copytree(
        REPOSITORY / "resources_servers" / server, target, ignore=shutil.ignore_patterns(".venv", "__pycache__")
    )
    return folder


def this_checkout(folder: Path, server: str) -> Path:
    return REPOSITORY


def own_project(folder: Path, server: str) -> Path:
    return copied(folder, server)


def own_project_with_a_pyproject(folder: Path, server: str) -> Path:
    """NeMo Gym then installs requirements.txt as it stands, and pytest finds options that are not ours."""
    options = '[tool.pytest.ini_options]\naddopts = "--no-such-option"\n'
    (folder / "pyproject.toml").write_text(f'[project]\nname = "mine"\nversion = "1"\n{options}')
    return copied(folder, server)


def nemo_gym_checkout(folder: Path, server: str) -> Path:
    """What a checkout has of the wheel's files, beside a pyproject.toml: PyPI has no sdist of NeMo Gym, and no more of
    its repository can be had here. The commands are those of this environment, started there, as after an editable
    installation."""
    for name in ("nemo_gym", "resources_servers", "responses_api_agents", "responses_api_models"):
        (folder / name).mkdir()
        for path in installed(name).iterdir():
            (folder / name / path.name).symlink_to(path)
    (folder / "pyproject.toml").write_text('[project]\nname = "nemo-gym"\nversion = "0.4.0"\n')
    return copied(folder, server)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("place", [this_checkout, own_project, own_project_with_a_pyproject, nemo_gym_checkout])
def test_ng_test(place: Callable[[Path, str], Path], server: str, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    where = place(tmp_path / "project", server)
    called = documented("from-nemo-gym.md", "ng_test", {"resources_servers/coding": f"resources_servers/{server}"})
    called += [f"+uv_venv_dir={KEPT / place.__name__}", f"+uv_cache_dir={KEPT / 'uv-cache'}"]
    called += [f"hydra.run.dir={tmp_path / 'hydra'}"]
    own = environment(tmp_path) | {"PYTHONPATH": str(where)} if place is nemo_gym_checkout else environment(tmp_path)
    done = subprocess.run(called, cwd=where, env=own, capture_output=True, text=True, timeout=1700)
    said = done.stdout + done.stderr
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert f"The data for resources_servers/{server} has been successfully validated!" in said
    figure(f"ng_test {server} in {place.__name__}: {[line for line in said.splitlines() if ' passed' in line]}")
