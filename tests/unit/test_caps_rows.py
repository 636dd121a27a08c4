"""Which caps a provider claims, from what the machine says; whether they hold is the conformance suite's."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_gym.sandbox.caps import Cap, CapRow, in_order
from sandbox_gym.sandbox.docker.doctor import docker_caps
from sandbox_gym.sandbox.local.cgroups import Cgroups
from sandbox_gym.sandbox.local.doctor import local_caps

ABLE = {"CgroupVersion": "2", "MemoryLimit": True, "SwapLimit": True, "CpuCfsQuota": True, "PidsLimit": True}


def scopes(rows: object) -> dict[Cap, str]:
    return {row.cap: row.scope for row in rows}  # type: ignore[attr-defined]


def test_an_engine_that_can_all() -> None:
    rows = docker_caps(ABLE)
    assert [row.cap for row in rows] == list(Cap)
    assert all(row.enforced for row in rows)
    assert "cgroup v2" in next(row.enforced_by for row in rows if row.cap is Cap.MEMORY)


@pytest.mark.parametrize(
    ("missing", "cap", "scope"),
    [
        ("MemoryLimit", Cap.MEMORY, "process"),
        ("SwapLimit", Cap.SWAP, "none"),
        ("CpuCfsQuota", Cap.CPU_SHARE, "none"),
        ("PidsLimit", Cap.PROCESSES, "run"),
    ],
)
def test_an_engine_that_lacks_one_says_so(missing: str, cap: Cap, scope: str) -> None:
    """As rootless Engines do without delegation."""
    found = scopes(docker_caps({**ABLE, missing: False}))
    assert found[cap] == scope
    assert {other: value for other, value in found.items() if value == "none"} == (
        {cap: "none"} if scope == "none" else {}
    )


def v2(root: Path, controllers: str, *, swap: bool) -> Cgroups:
    (root / "cgroup.controllers").write_text(controllers)
    cgroups = Cgroups(root)
    if swap:
        (root / "sandbox_gym" / "memory.swap.max").touch()
    return cgroups


def test_v2_with_all_controllers(tmp_path: Path) -> None:
    rows = local_caps(v2(tmp_path, "cpu memory pids", swap=True), "")
    assert [row.cap for row in rows] == list(Cap)
    assert all(row.enforced for row in rows)
    by = {row.cap: row.enforced_by for row in rows}
    assert (by[Cap.CPU_SHARE], by[Cap.MEMORY]) == ("cgroup v2 cpu.max", "cgroup v2 memory.max")
    assert by[Cap.SWAP] == "cgroup v2 memory.swap.max"


def test_v2_as_systemd_delegates_it(tmp_path: Path) -> None:
    found = scopes(local_caps(v2(tmp_path, "memory pids", swap=False), ""))
    assert (found[Cap.CPU_SHARE], found[Cap.SWAP], found[Cap.MEMORY]) == ("none", "none", "box")


def test_no_cgroup_says_why() -> None:
    rows = {row.cap: row for row in local_caps(None, "not writable")}
    assert (rows[Cap.CPU_SHARE].scope, rows[Cap.CPU_SHARE].enforced_by) == ("none", "no cgroup: not writable")
    assert rows[Cap.MEMORY].scope == "process"


def test_a_row_for_every_cap() -> None:
    row = CapRow(Cap.MEMORY, "box", "x")
    for rows in ((), (row,), (row,) * len(Cap)):
        with pytest.raises(ValueError):
            in_order(rows)
