"""A guest without a sandbox: the real supervisor, channel and runs over plain processes, for tests of what is said.

Run as `python -m tests.unit.bare_guest FD`. Knows no isolation: programs are trusted here.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from sandbox_gym.guest.runs.supervisor import Supervisor, run
from sandbox_gym.sandbox.channel import guest_config
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.socket_stream import RawSocketStream

ROOT = Path(__file__).parents[2]


class NoEvidence:
    """Nothing that a kernel would say."""

    has_memory_cgroup = has_cpu_cgroup = True

    def oom_kills(self) -> int:
        return 0

    def counters(self) -> tuple[int, int, int, int]:
        return 0, 0, 0, 0

    def memory_full(self, times_before: int) -> bool:
        return False

    def processes_full(self, above: int) -> bool:
        return False

    def cpu_s(self) -> float:
        return 0.0

    used_s = cpu_s

    def begin(self) -> None:
        """Nothing is counted."""


class NoWaits:
    """Nothing is measured."""

    def begin(self, started: float, wall_time_s: float, goes_on: bool = False) -> None:
        """Nothing is counted."""

    def look(self, now: float) -> None:
        """Nothing is counted."""

    def due_s(self, now: float) -> float:
        return 60.0

    def seconds(self) -> None:
        return None


class Processes:
    """In place of an init: each run is a process of this machine."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector

    def prepare(self, libraries: bool) -> None:
        """Programs have no libraries."""

    def resume(self) -> None:
        """No zygote is stopped."""

    def run(self, spec: dict[str, Any], fds: list[int], run: Any) -> None:
        stdin, stdout, stderr = fds[:3]
        self._process = subprocess.Popen(spec["argv"], stdin=stdin, stdout=stdout, stderr=stderr, close_fds=True)
        self._run = run
        self._fd = os.pidfd_open(self._process.pid)
        self._selector.register(self._fd, selectors.EVENT_READ, self._over)

    def _over(self) -> None:
        self._selector.unregister(self._fd)
        os.close(self._fd)
        code = self._process.wait()
        status = -code if code < 0 else code << 8
        account = {"status": status, "wall_s": 0.1, "cpu_s": 0.0, "peak_kb": 1, "left": False, "seen": {}}
        self._run.reported(json.dumps(account).encode())

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()

    def end(self) -> None:
        """No process outlives its run."""


class BareSupervisor(Supervisor):
    """The real one, whose runs are plain processes."""

    def _op_config(self, header: dict[str, Any], body: bytes) -> None:
        self.tier, self.shared_uid, self._dirs, self._uid_base = "namespaces", False, [], 0
        self._limit_data, self._beat_s, self._world_writable = False, header["beat_s"], []
        self.starvation = NoWaits()  # type: ignore[assignment]
        self.evidence, self.init_client = NoEvidence(), Processes(self.selector)  # type: ignore[assignment]
        self._zygote_pid = os.getpid()  # there is none
        self.send({"op": "hello"})

    def _op_reset(self, header: dict[str, Any], body: bytes) -> None:
        self.send({"op": "reset", "ok": self._current is None and not self._queue, "why": "", "oom_kills": 0})


@asynccontextmanager
async def bare_guest() -> AsyncIterator[GuestChannel]:
    """A link to a guest of its own process, configured."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    command = [sys.executable, "-m", "tests.unit.bare_guest", str(theirs.fileno())]
    process = await anyio.open_process(
        command, stdin=None, stdout=None, stderr=None, pass_fds=[theirs.fileno()], cwd=ROOT
    )
    theirs.close()
    link = GuestChannel(RawSocketStream(ours), lambda: "a bare guest", silence_s=20)
    try:
        await link.send({"op": "config", "beat_s": guest_config.BEAT_S})
        await link.hello()
        link._beats = True
        yield link
    finally:
        with anyio.CancelScope(shield=True):
            await link.aclose()
            process.kill()
            await process.wait()


if __name__ == "__main__":
    descriptor = int(sys.argv[1])
    run(BareSupervisor(descriptor, descriptor, programs=None))
