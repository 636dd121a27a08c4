"""CPU time from both shapes of control groups, and from /proc where there is none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox_gym.guest.runs.evidence import Evidence, world_writable


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("cpu.stat", "usage_usec 5000000\nuser_usec 1\n", "usage_usec 7500000\nuser_usec 2\n"),
        ("cpuacct/cpuacct.usage", "5000000000\n", "7500000000\n"),
        ("cpu,cpuacct/cpuacct.usage", "5000000000\n", "7500000000\n"),
    ],
)
def test_the_groups_word_since_the_run_began(tmp_path: Path, path: str, before: str, after: str) -> None:
    counter = tmp_path / path
    counter.parent.mkdir(exist_ok=True)
    counter.write_text(before)
    evidence = Evidence(str(tmp_path), set())
    assert evidence.has_cpu_cgroup
    evidence.begin()
    counter.write_text(after)
    assert 2.0 < evidence.used_s() <= 2.5  # less what this process used meanwhile
    evidence.begin()
    assert abs(evidence.used_s()) < 0.5


def test_without_a_group_the_dead_count_as_they_were_last_seen(tmp_path: Path) -> None:
    others = {int(name) for name in os.listdir("/proc") if name.isdigit()}
    evidence = Evidence(str(tmp_path), others)
    assert not evidence.has_cpu_cgroup
    evidence._trusted.discard(os.getpid())  # the program's parent is no init here
    evidence.begin()
    source = "import time\nwhile True: time.process_time()"
    with subprocess.Popen([sys.executable, "-S", "-c", source]) as child:
        evidence._trusted.update(
            {int(name) for name in os.listdir("/proc") if name.isdigit()} - {child.pid, os.getpid()}
        )
        until = time.monotonic() + 30
        while evidence.used_s() < 0.3 and time.monotonic() < until:
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
    assert evidence.used_s() >= 0.3


def test_what_any_user_may_touch_is_found(tmp_path: Path) -> None:
    found = world_writable([str(tmp_path)])
    assert found[0] == str(tmp_path)
    assert "/dev/null" in found
    assert len(found) == len(set(found))


def group(root: Path, files: dict[str, object]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{content}\n")


V1 = {
    "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0",
    "memory/memory.failcnt": 0, "memory/memory.memsw.failcnt": 0,
    "memory/memory.limit_in_bytes": 256 << 20, "memory/memory.max_usage_in_bytes": 10 << 20,
    "pids/pids.events": "max 0", "pids/pids.peak": 5, "pids/pids.max": 20,
}  # fmt: skip
V2 = {"memory.events": "low 0\nmax 3\noom 0\noom_kill 0\n", "pids.events": "max 0", "pids.peak": 5, "pids.max": 20}
KILLED = "oom_kill_disable 0\nunder_oom 0\noom_kill 2"


@pytest.mark.parametrize(
    ("before", "after", "kills", "full"),
    [
        (V1, {"memory/memory.oom_control": KILLED}, 2, False),
        (V1, {"memory/memory.oom_control": KILLED, "memory/memory.max_usage_in_bytes": (256 << 20) - 4096}, 2, True),
        (V1, {"memory/memory.oom_control": KILLED, "memory/memory.failcnt": 7}, 2, True),
        (V1, {"memory/memory.oom_control": KILLED, "memory/memory.memsw.failcnt": 1}, 2, True),
        (V1, {}, 0, False),
        (V2, {"memory.events": "low 0\nmax 3\noom 0\noom_kill 1\n"}, 1, False),
        (V2, {"memory.events": "low 0\nmax 9\noom 1\noom_kill 1\n"}, 1, True),
        (V2, {"memory.events": "low 0\nmax 9\noom 0\noom_kill 0\n"}, 0, False),
        ({}, {}, 0, False),
    ],
)
def test_whose_memory_was_short(
    tmp_path: Path, before: dict[str, object], after: dict[str, object], kills: int, full: bool
) -> None:
    group(tmp_path, before)
    evidence = Evidence(str(tmp_path), set())
    then = evidence.counters()
    group(tmp_path, after)
    assert evidence.counters()[0] - then[0] == kills
    assert evidence.memory_full(then[1]) is full


@pytest.mark.parametrize(
    ("after", "above", "denied", "full"),
    [
        ({"pids.events": "max 4"}, 0, 4, False),
        ({"pids.events": "max 4", "pids.peak": 20}, 0, 4, True),
        ({"pids.events": "max 0"}, 3, 3, False),
        ({"pids.events": "max 1", "pids.peak": 20}, 1, 2, False),
        ({}, 0, 0, False),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_whose_process_cap_it_was(
    tmp_path: Path, version: int, after: dict[str, object], above: int, denied: int, full: bool
) -> None:
    """In v2 a group above has a count of its own; in v1 there is none, and the box's own group counts for all."""
    own = tmp_path / "own"
    group(own, V1 if version == 1 else V2)
    group(tmp_path / "above" / "0", {"pids.events.local": "max 2"})
    evidence = Evidence(str(own), set())
    then = evidence.counters()
    group(own / "pids" if version == 1 else own, after)
    group(tmp_path / "above" / "0", {"pids.events.local": f"max {2 + above}"})
    now = evidence.counters()
    assert now[2] - then[2] == denied
    assert evidence.processes_full(now[3] - then[3]) is full


def test_a_kernel_that_does_not_tell_the_peak_of_processes(tmp_path: Path) -> None:
    group(tmp_path, {name: value for name, value in V2.items() if name != "pids.peak"})
    assert Evidence(str(tmp_path), set()).processes_full(0)
