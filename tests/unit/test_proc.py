"""tests/processes.py: what the tests see of a process, while processes come and go."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from tests.processes import below, children, open_files, parent_of, state_of, text_of

STORM = """
import os, time
until = time.monotonic() + 4
while time.monotonic() < until:
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        os._exit(0)
    os.wait()
"""


def test_nothing_raises_while_processes_come_and_go() -> None:
    with subprocess.Popen([sys.executable, "-c", STORM]) as storm:
        until, seen = time.monotonic() + 3, set[int]()
        while time.monotonic() < until:
            for pid in below(os.getpid()):
                seen.add(pid)
                _ = children(pid), open_files(pid), parent_of(pid), state_of(pid), text_of(pid, "maps")
        storm.kill()
    assert len(seen) > 2


def test_what_a_process_is_like() -> None:
    with subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL) as child:
        assert child.pid in children(os.getpid())
        assert parent_of(child.pid) == os.getpid()
        assert "/dev/null" in open_files(child.pid)
        assert text_of(child.pid, "comm")
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert state_of(child.pid) == "Z"
    gone = child.pid
    assert (state_of(gone), parent_of(gone), text_of(gone, "stat")) == ("", None, "")
    assert not children(gone)
    assert not open_files(gone)
