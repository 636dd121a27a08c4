"""Both cgroup versions against a folder that looks like theirs; the real v1 is the conformance suite's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox_gym.sandbox.channel.strain import Strain
from sandbox_gym.sandbox.local.cgroups import Cgroups, Group, cgroups_or_reason


def test_v1_limits(tmp_path: Path) -> None:
    for controller in ("memory", "pids", "cpuacct"):
        (tmp_path / controller).mkdir()
    cgroups = Cgroups(tmp_path)
    assert not cgroups.caps_cpu
    group = cgroups.make("1-0")
    group.limit(64 << 20, 9, 1.0)
    memory = tmp_path / "memory" / "sandbox_gym" / "1-0"
    assert (memory / "memory.limit_in_bytes").read_text() == str(64 << 20)
    assert (tmp_path / "pids" / "sandbox_gym" / "1-0" / "pids.max").read_text() == "9"
    assert len(group.procs_files) == 3


@pytest.mark.parametrize("version", [1, 2])
def test_what_a_groups_programs_do(tmp_path: Path, version: int) -> None:
    names = ("memory", "pids", "cpuacct", "cpu") if version == 1 else ("memory", "pids", "cpu")
    group = Group({name: tmp_path / (name if version == 1 else "one") for name in names}, version)
    for folder in group.folders.values():
        folder.mkdir(exist_ok=True)
    assert group.strain() == Strain()
    (group.folders["pids"] / "pids.current").write_text("60\n")
    (group.folders["pids"] / "pids.max").write_text("64\n")
    if version == 1:
        (group.folders["cpuacct"] / "cpuacct.usage").write_text("2500000000\n")
        (group.folders["cpu"] / "cpu.stat").write_text("nr_throttled 3\n")
    else:
        (group.folders["cpu"] / "cpu.stat").write_text("usage_usec 2500000\nnr_throttled 3\n")
    assert group.strain() == Strain(3, 2.5, 60, 64)


def test_v1_cpu_beside_cpuacct_in_one_folder(tmp_path: Path) -> None:
    """As Debian mounts them: `cpu` and `cpuacct` are links to `cpu,cpuacct`."""
    for controller in ("memory", "pids", "cpu,cpuacct"):
        (tmp_path / controller).mkdir()
    for name in ("cpu", "cpuacct"):
        (tmp_path / name).symlink_to("cpu,cpuacct")
    cgroups = Cgroups(tmp_path)
    group = cgroups.make("1-0")
    group.limit(64 << 20, 9, 0.5)
    folder = tmp_path / "cpu,cpuacct" / "sandbox_gym" / "1-0"
    assert cgroups.caps_cpu
    assert (folder / "cpu.cfs_period_us").read_text() == "100000"
    assert (folder / "cpu.cfs_quota_us").read_text() == "50000"
    assert len(group.procs_files) == 3
    assert cgroups.names() == ["1-0"]


@pytest.mark.skipif(not Path("/sys/fs/cgroup/cpu").is_dir(), reason="only a v1 kernel refuses; there is none here")
def test_v1_cpu_quota_above_our_own(tmp_path: Path) -> None:
    """A server in a container of half a CPU: the kernel refuses more to its children, which is no fault of a box's."""
    ours = Path(f"/sys/fs/cgroup/cpu/sandbox-gym-test-{os.getpid()}")
    ours.mkdir()
    for controller in ("memory", "pids", "cpuacct"):
        (tmp_path / controller).mkdir()
    (tmp_path / "cpu").symlink_to(ours)
    cgroups = Cgroups(tmp_path)
    try:
        (ours / "cpu.cfs_quota_us").write_text("50000")
        group = cgroups.make("1-0")
        group.limit(64 << 20, 9, 2.0)
        assert (group.folders["cpu"] / "cpu.cfs_quota_us").read_text() == "-1\n"
        group.limit(64 << 20, 9, 0.25)
        assert (group.folders["cpu"] / "cpu.cfs_quota_us").read_text() == "25000\n"
    finally:
        for folder in (ours / "sandbox_gym" / "1-0", ours / "sandbox_gym", ours):
            folder.rmdir()


def test_v1_without_swap_accounting_discourages_swap(tmp_path: Path) -> None:
    for controller in ("memory", "pids", "cpuacct"):
        (tmp_path / controller).mkdir()
    cgroups = Cgroups(tmp_path)
    group = cgroups.make("1-0")
    (group.folders["memory"] / "memory.swappiness").write_text("60")
    group.limit(64 << 20, 9, 1.0)
    assert (group.folders["memory"] / "memory.swappiness").read_text() == "0"
    assert not cgroups.caps_swap


def test_v2_limits(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    cgroups = Cgroups(tmp_path)
    group = cgroups.make("1-0")
    group.limit(64 << 20, 9, 1.5)
    folder = tmp_path / "sandbox_gym" / "1-0"
    assert (folder / "cpu.max").read_text() == "150000 100000"
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"
    assert cgroups.version == 2
    assert (folder / "memory.max").read_text() == str(64 << 20)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert group.procs_files == [str(folder / "cgroup.procs")]


def test_v2_without_the_cpu_controller_still_caps_the_rest(tmp_path: Path) -> None:
    """What systemd delegates to users by default."""
    (tmp_path / "cgroup.controllers").write_text("memory pids\n")
    cgroups = Cgroups(tmp_path)
    group = cgroups.make("1-0")
    group.limit(64 << 20, 9, 1.5)
    assert not cgroups.caps_cpu
    assert not (group.folders["memory"] / "cpu.max").exists()
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_killing_a_v2_group_thaws_it(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("memory pids\n")
    group = Cgroups(tmp_path).make("1-0")
    for name in ("cgroup.freeze", "cgroup.kill"):
        (group.folders["memory"] / name).write_text("")
    group.kill()
    assert (group.folders["memory"] / "cgroup.freeze").read_text() == "0"
    assert (group.folders["memory"] / "cgroup.kill").read_text() == "1"


@pytest.mark.parametrize("name", ["", ".", "..", "../memory", "a/b"])
def test_only_bare_names_are_groups(tmp_path: Path, name: str) -> None:
    (tmp_path / "cgroup.controllers").write_text("memory pids\n")
    with pytest.raises(ValueError):
        Cgroups(tmp_path).existing(name)


@pytest.mark.parametrize("controllers", ["", "cpu pids"])
def test_v2_without_controllers_says_which(tmp_path: Path, controllers: str) -> None:
    (tmp_path / "cgroup.controllers").write_text(controllers)
    cgroups, reason = cgroups_or_reason(tmp_path)
    assert cgroups is None
    assert "memory" in reason


CORES = len(os.sched_getaffinity(0))


def test_all_boxes_together_weigh_one_process_for_each_core(tmp_path: Path) -> None:
    for controller in ("memory", "pids", "cpuacct", "cpu"):
        (tmp_path / "v1" / controller).mkdir(parents=True)
    Cgroups(tmp_path / "v1")
    assert (tmp_path / "v1/cpu/sandbox_gym/cpu.shares").read_text() == str(1024 * CORES)
    (tmp_path / "v2").mkdir()
    (tmp_path / "v2/cgroup.controllers").write_text("cpu memory pids\n")
    Cgroups(tmp_path / "v2")
    assert (tmp_path / "v2/sandbox_gym/cpu.weight").read_text() == str(min(100 * CORES, 10_000))


@pytest.mark.parametrize(("told", "weight"), [("100\n", str(min(100 * CORES, 10_000))), ("30\n", "30\n")])
def test_a_weight_that_was_given_stays(tmp_path: Path, told: str, weight: str) -> None:
    """The kernel's own is none that anybody gave."""
    (tmp_path / "sandbox_gym").mkdir()
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (tmp_path / "sandbox_gym/cpu.weight").write_text(told)
    Cgroups(tmp_path)
    assert (tmp_path / "sandbox_gym/cpu.weight").read_text() == weight


def test_v2_freezes_by_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("memory pids\n")
    group = Cgroups(tmp_path).make("1-0")
    folder = group.folders["memory"]
    assert not group.freeze(), "a kernel without the file"
    (folder / "cgroup.freeze").write_text("0")
    (folder / "cgroup.events").write_text("populated 1\nfrozen 0\n")
    assert group.freeze()
    assert (folder / "cgroup.freeze").read_text() == "1"
    assert not group.frozen()
    (folder / "cgroup.events").write_text("populated 1\nfrozen 1\n")
    assert group.frozen()
    group.thaw()
    assert (folder / "cgroup.freeze").read_text() == "0"


def test_v1_freezes_where_it_has_the_controller(tmp_path: Path) -> None:
    for controller in ("memory", "pids", "cpuacct"):
        (tmp_path / controller).mkdir()
    assert not Cgroups(tmp_path).make("1-0").freeze()
    (tmp_path / "freezer").mkdir()
    group = Cgroups(tmp_path).make("1-1")
    state = group.folders["freezer"] / "freezer.state"
    state.write_text("THAWED")
    assert group.freeze()
    assert group.frozen()
    group.thaw()
    assert state.read_text() == "THAWED"
    state.write_text("FREEZING")
    assert not group.frozen()
