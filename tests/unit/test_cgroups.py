"""Both cgroup versions against a folder that looks like theirs; the real v1 is the conformance suite's."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_gym.sandbox.local.cgroups import Cgroups, cgroups_or_reason


def test_v1_limits(tmp_path: Path) -> None:
    for controller in ("memory", "pids", "cpuacct"):
        (tmp_path / controller).mkdir()
    group = Cgroups(tmp_path).make("1-0")
    group.limit(64 << 20, 9)
    memory = tmp_path / "memory" / "sandbox_gym" / "1-0"
    assert (memory / "memory.limit_in_bytes").read_text() == str(64 << 20)
    assert (tmp_path / "pids" / "sandbox_gym" / "1-0" / "pids.max").read_text() == "9"
    assert len(group.procs_files) == 3


def test_v2_limits(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    cgroups = Cgroups(tmp_path)
    group = cgroups.make("1-0")
    group.limit(64 << 20, 9)
    folder = tmp_path / "sandbox_gym" / "1-0"
    assert cgroups.version == 2
    assert (folder / "memory.max").read_text() == str(64 << 20)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert group.procs_files == [str(folder / "cgroup.procs")]


@pytest.mark.parametrize("controllers", ["", "cpu pids"])
def test_v2_without_controllers_says_which(tmp_path: Path, controllers: str) -> None:
    (tmp_path / "cgroup.controllers").write_text(controllers)
    cgroups, reason = cgroups_or_reason(tmp_path)
    assert cgroups is None
    assert "memory" in reason
