"""A state folder that others could look into is closed, if nothing but state is in it, and refused otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.private import state_folder
from sandbox_gym.server.access.session_secret import session_secret


def mode(folder: Path) -> int:
    return folder.stat().st_mode & 0o777


def test_a_volume_of_compose_is_closed_whoever_comes_first(tmp_path: Path) -> None:
    """It is made open to all, and the sessions' key is put there before anything else."""
    tmp_path.chmod(0o755)
    secret = session_secret(tmp_path)
    assert mode(tmp_path) == 0o700
    tmp_path.chmod(0o755)
    for name in ("journal.sqlite-wal", "owners"):
        (tmp_path / name).mkdir()
    assert state_folder(tmp_path) == tmp_path
    assert (mode(tmp_path), session_secret(tmp_path)) == (0o700, secret)


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    tmp_path.chmod(0o755)
    with pytest.raises(ConfigurationError, match="letters"):
        session_secret(tmp_path)
    assert mode(tmp_path) == 0o755
