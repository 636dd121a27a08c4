"""The folders that tests of the channel run in."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Of the code under test and its tests."""
    folder = tmp_path / "repo"
    (folder / "tests").mkdir(parents=True)
    return folder


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """Of the runner."""
    folder = tmp_path / "host"
    folder.mkdir()
    return folder
