"""A driver of the guest's in a process of this machine, without a sandbox: what it says on its channel is read here."""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox_gym.guest.protocol import frames
from sandbox_gym.sandbox.pool.services import service_modules

ROOT = Path(__file__).parents[2]
_START = """
import json, os, sys
fd, mode, spec = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
os.dup2(fd, 3); os.set_inheritable(3, False); os.close(fd)
from sandbox_gym.guest.session import driver
from sandbox_gym.guest.envd import daemon
{"session": driver, "envd": daemon}[mode].serve(spec)
"""
_SERVICE_WORKER = """
import os, sys
os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, False); os.close(int(sys.argv[1]))
import service_worker

def handle(body, say):
    say("begun")
    space = {}
    exec(body, space)
    return b"%d" % space["answer"]

service_worker.serve(handle, 2, 512 << 20)
"""
PATIENCE_S = 60.0

Header = Mapping[str, Any]


class GuestProcess:
    """Frames to and from a driver. Raises TimeoutError where it says nothing for long."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._reader = frames.FrameReader(max_body=32 << 20)

    def send(self, header: Header, body: bytes = b"") -> None:
        self.channel.sendall(frames.pack(header, body))

    def receive(self) -> tuple[Header, bytes]:
        while True:
            frame: tuple[Header, bytes] | None = self._reader.next()
            if frame is not None:
                return frame
            data = self.channel.recv(1 << 18)
            assert data, "the driver has gone"
            self._reader.feed(data)

    def silent(self, for_s: float) -> bool:
        """Whether it says nothing unasked."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, selectors.EVENT_READ)
            return self._reader.next() is None and not selector.select(for_s)


@contextmanager
def driver(mode: str, home: Path, ahead: str = "") -> Iterator[GuestProcess]:
    """`session`, `envd` or `service_worker`; at its end everything that it started is gone. `ahead`: source that is run
    first."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "MARKED": str(home)}
    spec = {"env": env, "workdir": str(home), "main": "main.py", "recursion_limit": 0, "mode": "session"}
    mine, its = socket.socketpair()
    mine.settimeout(PATIENCE_S)
    code, path = _START, ROOT
    if mode == "service_worker":
        code, path = _SERVICE_WORKER, home / "modules"
        path.mkdir()
        for name, content in service_modules().items():
            (path / name).write_bytes(content)
    argv = [sys.executable, "-S", "-c", ahead + code, str(its.fileno()), mode, json.dumps(spec)]
    process = subprocess.Popen(
        argv, pass_fds=[its.fileno()], env={**env, "PYTHONPATH": str(path)}, cwd=home, start_new_session=True
    )
    its.close()
    try:
        yield GuestProcess(mine)
    finally:
        mine.close()
        process.kill()
        process.wait(timeout=10)
        _end_the_rest(f"MARKED={home}".encode())


def _end_the_rest(mark: bytes) -> None:
    """Kill what still runs with the driver's environment, and only that."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), 9)
            except (OSError, ProcessLookupError):
                continue  # it ended
