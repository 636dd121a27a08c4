"""What the podman provider makes of the machine's words; Podman itself is the conformance suite's."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Literal

import pytest

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.caps import Cap
from sandbox_gym.sandbox.containers.container import sizes
from sandbox_gym.sandbox.podman.command import Podman
from sandbox_gym.sandbox.podman.containers import ulimits
from sandbox_gym.sandbox.podman.doctor import SWAP, podman_caps
from sandbox_gym.sandbox.podman.machine import counted, size_options

ABLE = frozenset({"cpu", "memory", "pids", SWAP})


def test_a_machine_that_can_all() -> None:
    rows = podman_caps("v2", ABLE)
    assert [row.cap for row in rows] == list(Cap)
    assert all(row.enforced for row in rows)
    assert "cgroup v2" in next(row.enforced_by for row in rows if row.cap is Cap.MEMORY)


@pytest.mark.parametrize(
    ("missing", "cap", "scope"),
    [
        ("memory", Cap.MEMORY, "process"),
        (SWAP, Cap.SWAP, "none"),
        ("cpu", Cap.CPU_SHARE, "none"),
        ("pids", Cap.PROCESSES, "run"),
    ],
)
def test_a_machine_that_lacks_one_says_so(missing: str, cap: Cap, scope: str) -> None:
    found = {row.cap: row.scope for row in podman_caps("v1", ABLE - {missing})}
    assert found[cap] == scope
    assert [other for other, value in found.items() if value == "none"] == ([cap] if scope == "none" else [])


@pytest.mark.parametrize(
    ("controller", "name", "file"),
    [
        ("memory", "oom_kill", "memory/libpod/x/memory.oom_control"),
        ("memory", "oom_kill", "libpod/x/memory.events"),
        ("cpu", "nr_throttled", "cpu/libpod/x/cpu.stat"),
        ("cpu", "nr_throttled", "libpod/x/cpu.stat"),
    ],
)
def test_both_versions_of_cgroups_count(
    tmp_path: Path, controller: Literal["cpu", "memory"], name: str, file: str
) -> None:
    assert counted("/libpod/x", controller, name, tmp_path) == 0
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(f"low 0\nunder_oom 0\n{name} 3\noom 5\n{name}_other 1\n")
    assert counted("/libpod/x", controller, name, tmp_path) == 3


def test_swap_is_capped_with_memory() -> None:
    assert size_options(sizes(10 << 20, 0.5)) == (
        f"--memory={74 << 20}b",
        f"--memory-swap={74 << 20}b",
        "--cpu-period=100000",
        "--cpu-quota=50000",
    )


def test_no_container_asks_for_more_than_this_process_has() -> None:
    values = dict(word.removeprefix("--ulimit=").split("=") for word in ulimits())
    for name, limit in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)):
        hard = resource.getrlimit(limit)[1]
        soft, same = map(int, values[name].split(":"))
        assert 0 < soft == same
        assert hard == resource.RLIM_INFINITY or soft <= hard


def test_a_machine_without_podman_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ConfigurationError, match="apt-get install podman"):
        Podman()
