"""The supervisor's end of a process that runs one test after the other; the process, its init and the zygote are these
tests."""

from __future__ import annotations

import array
import json
import os
import selectors
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from sandbox_gym.contract import Program, Run
from sandbox_gym.guest.runs.init_client import InitClient
from sandbox_gym.guest.runs.starvation import Starvation
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

    def begin(self) -> None:
        self._before_s = self.total_s

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
        self.init_client = InitClient(zygote, self.selector)

    def close_all(self) -> None:
        """What a guest's end closes."""
        if self.shared is not None:
            self.shared.close()
        if self._current is not None:
            self._current.streams.close()
        self.init_client._close()
        self.init_client._zygote.close()
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

    def run(self, *, join: bool = False, keep: bool = True, stdin: bytes = b"") -> None:
        """Send one more run, which may share the process of the run before and after it."""
        run = Run(f"test-{self.sent}", PROGRAM, stdin, LIMITS, shared=True)
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


@pytest.fixture
def machine() -> Iterator[Machine]:
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


def test_inputs_are_given_one_at_a_time_and_their_outputs_stay_apart(machine: Machine) -> None:
    machine.run(stdin=b"a")
    machine.run(join=True, stdin=b"b")
    machine.run(join=True, keep=False, stdin=b"c")
    init = machine.init()
    process = machine.started(init)
    for given, said in ((b"a", b"n"), (b"b", b"l")):
        assert os.read(process.pipes[0], 10) == given
        process.write(b"got " + given)
        old = os.dup(process.pipes[1])
        process.done()
        header, body = machine.result()
        assert (body, header["shared"], header["ending"]["exit_code"]) == (b"got " + given, given != b"a", 0)
        assert process.next() == said
        with pytest.raises(BrokenPipeError):
            os.write(old, b"late")
        os.close(old)
    process.write(b"last")
    process.die()
    report(init, ENDED)
    header, body = machine.result()
    assert (body, header["shared"], header["cpu_s"]) == (b"last", True, 0.0)
    assert header["wall_s"] < 9, "the init measured the whole process"


def test_done_twice_between_two_inputs_ends_the_process(machine: Machine) -> None:
    machine.run()
    init = machine.init()
    process = machine.started(init)
    process.done()
    machine.result()
    process.done()
    assert process.control.recv(16) == b"", "nobody listens to what speaks out of turn"
    machine.run(join=True, keep=False)
    killed(init, process)
    alone(init)
    assert machine.result()[0]["shared"] is False


def test_done_ahead_ends_the_next_input_without_output(machine: Machine) -> None:
    machine.run()
    machine.run(join=True)
    init = machine.init()
    process = machine.started(init)
    process.done()
    process.next()
    process.done()
    assert [machine.result()[1] for _ in range(2)] == [b"", b""]


@pytest.mark.parametrize("words", [b"x", b"dd", b"l", b"d" * 64, b""])
def test_garbage_closes_the_control_socket_and_costs_no_more(machine: Machine, words: bytes) -> None:
    machine.run()
    machine.run(join=True, keep=False)
    init = machine.init()
    process = machine.started(init)
    process.write(b"1")
    descriptors = array.array("i", [0, 1, 2])
    process.control.sendmsg([words], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    assert process.control.recv(16) == b""
    process.die()
    report(init, ENDED)
    header, body = machine.result()
    assert (body, header["ending"]["exit_code"]) == (b"1", 0)
    alone(init)
    assert machine.result()[0]["shared"] is False


def test_a_closed_control_socket_is_the_init_s_to_report(machine: Machine) -> None:
    machine.run()
    init = machine.init()
    process = machine.started(init)
    process.control.close()
    assert machine.silent(0.2)
    process.die()
    report(init, dict(ENDED, status=3 << 8))
    assert machine.result()[0]["ending"]["exit_code"] == 3


@pytest.mark.parametrize("socket_kept", [False, True])
def test_death_between_two_inputs_is_no_run_s(machine: Machine, socket_kept: bool) -> None:
    """Also where its end of the control socket is still open, as in a socket in flight."""
    machine.run()
    init = machine.init()
    process = machine.started(init)
    kept = process.control.dup()
    process.write(b"1")
    process.done()
    assert machine.result()[1] == b"1"
    process.die()
    if not socket_kept:
        kept.close()
    report(init, dict(KILLED, left=True, seen={"ptrace": 2}))
    time.sleep(0.05)
    machine.run(join=True, keep=False)
    alone(init)
    header, _body = machine.result()
    assert (header["shared"], header["ending"]["signal"]) == (False, None)
    assert header["tamper"] == ["processes_left_behind", "debugging: ptrace 2 times"]
    kept.close()


def test_death_with_an_input_is_that_run_s(machine: Machine) -> None:
    machine.run()
    machine.run(join=True)
    init = machine.init()
    process = machine.started(init)
    process.done()
    machine.result()
    process.next()
    process.die()
    report(init, KILLED)
    header, _body = machine.result()
    assert (header["shared"], header["ending"]["signal"]) == (True, signal.SIGKILL)


def test_output_over_its_cap_ends_a_process_that_says_it_is_through(machine: Machine) -> None:
    machine.run()
    init = machine.init()
    process = machine.started(init)
    process.write(b"x" * 1001)
    process.done()
    killed(init, process)
    header, body = machine.result()
    assert (header["ending"]["stopped"], len(body), header["shared"]) == ("output_limit", 1000, False)


def test_a_process_that_writes_without_end_does_not_hold_the_supervisor(machine: Machine) -> None:
    machine.run()
    init = machine.init()
    process = machine.started(init)

    def flood(fd: int) -> None:
        with suppress(OSError):
            while True:
                os.write(fd, b"x" * 4096)

    writers = [threading.Thread(target=flood, args=(os.dup(process.pipes[1]),)) for _ in range(3)]
    process.write(b"x" * 1001)
    for writer in writers:
        writer.start()
    process.done()
    killed(init, process)
    assert machine.result()[0]["ending"]["stopped"] == "output_limit"
    for writer in writers:
        writer.join(PATIENCE_S)


@pytest.mark.parametrize("dead", [False, True])
def test_cancel_while_it_waits_for_an_input(machine: Machine, dead: bool) -> None:
    machine.run()
    init = machine.init()
    process = machine.started(init)
    process.done()
    machine.result()
    if dead:  # its end and the host's word may come at once
        process.die()
        report(init, KILLED)
    machine.send({"op": "cancel"})
    if not dead:
        killed(init, process)
    assert machine.receive()[0]["op"] == "cancelled"
    machine.run(keep=False)
    alone(init)
    assert machine.result()[0]["shared"] is False


def test_reset_while_it_waits_for_an_input(machine: Machine) -> None:
    machine.run()
    init = machine.init()
    process = machine.started(init)
    process.done()
    machine.result()
    machine.send({"op": "reset"})
    killed(init, process)
    assert init.recv(16) == b"", "the init ends with its task"
    machine.zygote.send(b"0")
    header, _body = machine.receive()
    assert (header["op"], header["ok"]) == ("reset", True)


def test_the_init_s_end_between_two_inputs_ends_the_process(machine: Machine) -> None:
    machine.run()
    init = machine.init()
    process = machine.started(init)
    process.done()
    machine.result()
    init.close()
    machine.zygote.send(b"9")
    assert process.control.recv(16) == b""
    machine.run(join=True, keep=False)
    alone(machine.init())
    assert machine.result()[0]["shared"] is False


def test_cpu_time_between_two_inputs_is_the_next_one_s(machine: Machine) -> None:
    machine.run()
    init = machine.init()
    process = machine.started(init)
    evidence = machine.supervisor.counted
    evidence.total_s += 1.0
    process.done()
    assert machine.result()[0]["cpu_s"] == pytest.approx(1.0)
    evidence.total_s += 0.005
    machine.run(join=True, keep=False)
    process.next()
    evidence.total_s += 2.0
    process.die()
    report(init, ENDED)
    assert machine.result()[0]["cpu_s"] == pytest.approx(2.005), "the init's own time is not this run's alone"


def test_one_that_computes_between_two_inputs_gets_no_other(machine: Machine) -> None:
    machine.run()
    init = machine.init()
    process = machine.started(init)
    process.done()
    machine.result()
    machine.supervisor.counted.total_s += 0.5
    time.sleep(0.1)
    machine.run(join=True, keep=False)
    killed(init, process, dict(KILLED, seen={"ptrace": 1}))
    alone(init)
    header, _body = machine.result()
    assert (header["shared"], header["tamper"]) == (False, ["debugging: ptrace 1 times"])


class WaitingThread:
    """A process whose thread waited for long before this run."""

    has_cpu_cgroup = True

    def program_pids(self) -> list[int]:
        return [os.getpid()]

    def used_s(self) -> float:
        return 0.0


@pytest.mark.parametrize("goes_on", [False, True])
def test_waits_of_an_earlier_input_are_not_this_one_s(goes_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox_gym.guest.runs.starvation.threads", lambda pid: [((pid, 1), 0.0, 5.0, 1)])
    starvation = Starvation(WaitingThread(), "/nowhere", [])
    starvation.measurable = True
    starvation.begin(0.0, 10.0, goes_on=goes_on)
    starvation.look(1.0)
    starvation.look(2.0)
    assert (starvation._waits.best_s > 4) is not goes_on


def test_a_selector_s_late_word_of_a_closed_socket_is_nothing() -> None:
    selector = selectors.DefaultSelector()
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client = InitClient(ours, selector)
    client._on_control()  # there is no init
    client._control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client._busy = True
    client._on_control()  # another reader took the report
    assert client.busy
    for sock in (ours, its, client._control, far):
        sock.close()
    selector.close()
