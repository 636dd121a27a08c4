"""What runs of the tests leave behind, and what of it the next run takes away."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests import forgotten


def test_folders_of_runs_long_over_go_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    old = time.time() - forgotten.KEPT_S - 60
    names = {"sg-abcd_123": True, "sandbox-gym-tests-abcd_123": True, "sg-abcd_124": False, "sg-mine": True, "x": True}
    for name, is_old in names.items():
        (tmp_path / name).mkdir(mode=0o700)
        (tmp_path / name / "file").touch()
        if is_old:
            os.utime(tmp_path / name, (old, old))
    (tmp_path / "sg-open_123").mkdir(mode=0o755)
    os.utime(tmp_path / "sg-open_123", (old, old))
    forgotten.forget_folders()
    assert sorted(os.listdir(tmp_path)) == ["sg-abcd_124", "sg-mine", "sg-open_123", "x"]


def test_a_state_folder_is_a_runs_that_is_over_only_where_the_runs_own_folder_went(tmp_path: Path) -> None:
    run = tmp_path / "sg-abcd_123"
    state = run / "test" / "state"
    run.mkdir()
    assert not forgotten.is_over(state)
    run.rmdir()
    assert forgotten.is_over(state)
    assert not forgotten.is_over(tmp_path / "gone" / "state"), "an operator's, moved aside"
