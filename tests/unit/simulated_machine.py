"""A supervisor over a simulated machine: the host, the zygote, the init and the program's process are the test."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sandbox_gym.contract import Program, Run
from sandbox_gym.guest.runs.init_client import InitClient
from sandbox_gym.guest.runs.supervisor import Supervisor
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.channel.run_encoder import Sending
from tests.unit.bare_guest import NoEvidence, NoWaits
from tests.unit.guest_process import GuestProcess, Header

LIMITS = Limits(wall_time_s=20, stdout_bytes=1000)
PROGRAM = Program("fork", {"main.py": b"print(1)\n"})
PATIENCE_S = 10.0
KILLED = {"status": int(signal.SIGKILL), "wall_s": 9.0, "cpu_s": 9.0, "own_s": 9.0, "peak_kb": 1, "left": False}
ENDED = dict(KILLED, status=0)


class CountedCpu(NoEvidence):
    """A control group whose CPU seconds the test sets."""

    total_s = 0.0
    _before_s = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()

    def begin(self) -> None:
        self._before_s = self.total_s
        self.begun.set()

    def go_on(self, reading: float) -> None:
        self._before_s = reading

    def reading(self) -> float:
        return self.total_s

    def used_s(self, since: float | None = None, until: float | None = None) -> float:
        return (self.total_s if until is None else until) - (self._before_s if since is None else since)


class TestedSupervisor(Supervisor):
    """The real one, with the real client of an init."""

    __test__ = False

    def __init__(self, channel_fd: int, zygote: socket.socket) -> None:
        super().__init__(channel_fd, channel_fd, None)
        self.tier, self.shared_uid, self._dirs, self._uid_base, self._limit_data = "namespaces", False, [], 0, False
        self._world_writable: list[str] = []
        self.counted = self.evidence = CountedCpu()  # type: ignore[assignment]
        self.starvation = NoWaits()  # type: ignore[assignment]
        self.init_client = InitClient(zygote, self.selector, set(), lambda: None)

    def close_all(self) -> None:
        """What a guest's end closes."""
        if self.shared is not None:
            self.shared.close()
        if self._current is not None:
            self._current.streams.close()
        self.init_client._close()
        for sock in self.init_client._zygotes:
            sock.close()
        if self._channel._socket is not None:
            self._channel._socket.close()
        for selector in (self.selector, self.programs):
            selector.close()

    def _canary(self) -> str:
        self._end_shared()
        self.init_client.end()
        return ""


@dataclass
class Process:
    """A program's process, with its end of the control socket and the pipes that it was given last."""

    control: socket.socket
    pipes: list[int]

    def next(self) -> bytes:
        """Take the next input's pipes; the message that came with them."""
        for fd in self.pipes:
            os.close(fd)
        message, fds, _flags, _address = socket.recv_fds(self.control, 16, 8)
        self.pipes = list(fds)
        return message

    def write(self, text: bytes) -> None:
        os.write(self.pipes[1], text)

    def done(self) -> None:
        self.control.send(b"d")

    def die(self) -> None:
        for fd in self.pipes:
            os.close(fd)
        self.pipes = []
        self.control.close()


@dataclass
class Machine(GuestProcess):
    """The host's end, and what the supervisor talks to inside the box."""

    supervisor: TestedSupervisor
    host: socket.socket
    zygote: socket.socket
    failed: list[BaseException] = field(default_factory=list)
    opened: list[socket.socket] = field(default_factory=list)
    sent: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.host)
        self.sending = Sending()
        self.host.sendall(b"".join(self.sending.files_of(PROGRAM)))

    def run(self, *, join: bool = False, keep: bool = True, stdin: bytes = b"", alone: bool = False) -> None:
        """Send one more run, which may share the process of the run before and after it."""
        run = Run(f"test-{self.sent}", PROGRAM, stdin, LIMITS, shared=True, alone=alone)
        frames = self.sending.frames_of(run, self.sent, before=run if join else None, after=run if keep else None)
        self.sent += 1
        self.host.sendall(b"".join(frame for frame, _size in frames))

    def init(self) -> socket.socket:
        """The init that the supervisor asks the zygote for."""
        _message, fds, _flags, _address = socket.recv_fds(self.zygote, 16, 1)
        return self._opened(fds[0])

    def started(self, init: socket.socket) -> Process:
        """The process that the init is asked to start."""
        message, fds, _flags, _address = socket.recv_fds(init, 1 << 16, 64)
        assert message[:1] == b"s", message
        for fd in fds[3:-1]:
            os.close(fd)
        return Process(self._opened(fds[-1]), fds[:3])

    def _opened(self, fd: int) -> socket.socket:
        sock = socket.socket(fileno=fd)
        sock.settimeout(PATIENCE_S)
        self.opened.append(sock)
        return sock

    def result(self) -> tuple[Header, bytes]:
        header, body = self.receive()
        assert header["op"] == "result", header
        return header, body


def report(init: socket.socket, account: dict[str, Any]) -> None:
    init.send(json.dumps(account).encode())


def killed(init: socket.socket, process: Process, account: dict[str, Any] = KILLED) -> None:
    """The init is told to kill its program, does so, and reports it."""
    assert init.recv(16) == b"k"
    process.die()
    report(init, account)


def alone(init: socket.socket) -> None:
    """A run that is started in a process of its own, and ends well."""
    message, fds = b"k", list[int]()
    while message == b"k":  # it may come after the end of what it should kill
        message, fds, _flags, _address = socket.recv_fds(init, 1 << 16, 64)
    assert message[:1] == b"s", message
    for fd in fds:
        os.close(fd)
    report(init, ENDED)


@contextmanager
def machine() -> Iterator[Machine]:
    """A supervisor that serves in a thread. Asserts that it did so to the end."""
    host, its = socket.socketpair()
    ours, zygote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for sock in (host, zygote):
        sock.settimeout(PATIENCE_S)
    supervisor = TestedSupervisor(its.detach(), ours)
    made = Machine(supervisor, host, zygote)

    def serve() -> None:
        try:
            supervisor.serve()
        except BaseException as error:
            made.failed.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    yield made
    assert made.failed == []
    assert thread.is_alive()
    for sock in (host, zygote, *made.opened):  # without a zygote it ends, whatever it waits for
        sock.close()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "the supervisor hangs"
    supervisor.close_all()
