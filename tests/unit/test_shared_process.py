"""The supervisor's end of a process that runs one test after the other; the process, its init and the zygote are these
tests."""

from __future__ import annotations

import array
import os
import resource
import selectors
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from sandbox_gym.guest.runs import init
from sandbox_gym.guest.runs.init_client import InitClient
from sandbox_gym.guest.runs.starvation import Starvation
from tests.unit import simulated_machine
from tests.unit.simulated_machine import ENDED, KILLED, PATIENCE_S, Machine, alone, killed, report


@pytest.fixture
def machine() -> Iterator[Machine]:
    with simulated_machine.machine() as made:
        yield made


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


def test_a_run_alone_has_the_socket_of_a_shared_one_and_no_other_input(machine: Machine) -> None:
    for _ in range(2):
        machine.run(alone=True)
    init = machine.init()
    for _ in range(2):
        process = machine.started(init)
        process.write(b"its")
        process.done()
        assert process.control.recv(16) == b"", "no input follows"
        process.write(b" own")
        process.die()
        report(init, ENDED)
        header, body = machine.result()
        assert (body, header["shared"], header["ending"]["exit_code"]) == (b"its own", False, 0)


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
    assert evidence.begun.wait(PATIENCE_S)
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
    starvation = Starvation(WaitingThread(), "/nowhere", [], lambda: None)
    starvation.measurable = True
    starvation.begin(0.0, 10.0, goes_on=goes_on)
    starvation.look(1.0)
    starvation.look(2.0)
    assert (starvation._waits.best_s > 4) is not goes_on


def test_a_selector_s_late_word_of_a_closed_socket_is_nothing() -> None:
    selector = selectors.DefaultSelector()
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client = InitClient(ours, selector, set(), lambda: None)
    client._on_control()  # there is no init
    client._control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client._busy = True
    client._on_control()  # another reader took the report
    assert client.busy
    for sock in (ours, its, client._control, far):
        sock.close()
    selector.close()


def test_an_init_that_has_no_descriptors_for_a_run_s_files_runs_nothing() -> None:
    """The kernel delivers as many as there is room for, and says so in a flag alone."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    socket.send_fds(ours, [b"s{}"], [0] * 60)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    held = [os.open("/dev/null", os.O_RDONLY)]
    while held[-1] <= highest:  # every number below is taken, whatever other tests have closed
        held.append(os.open("/dev/null", os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 3, hard))
    try:
        with pytest.raises(OSError, match="no descriptors"):
            init._receive(its)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in held:
            os.close(fd)
        ours.close()
        its.close()
