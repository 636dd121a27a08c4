"""CPU time from both shapes of control groups, and from /proc where there is none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox_gym.guest.evidence import Evidence, touchable


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
    evidence = Evidence(str(tmp_path), [])
    assert evidence.has_cpu_cgroup
    evidence.begin()
    counter.write_text(after)
    assert 2.0 < evidence.used_s() <= 2.5  # less what this process used meanwhile
    evidence.begin()
    assert abs(evidence.used_s()) < 0.5


def test_without_a_group_the_dead_count_as_they_were_last_seen(tmp_path: Path) -> None:
    others = [int(name) for name in os.listdir("/proc") if name.isdigit()]
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
    found = touchable([str(tmp_path)])
    assert found[0] == str(tmp_path)
    assert "/dev/null" in found
    assert len(found) == len(set(found))
