"""Which init serves which programs; the zygote and its inits are these tests."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sandbox_gym.guest.runs import init
from sandbox_gym.guest.runs.init_client import MAX_RUNS, InitClient

PATIENCE_S = 10.0


class Zygote:
    """The client of a zygote that has one init at a time, as the real one, in a thread."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.inits = 0
        self.says = init.CLEAN
        """What an init answers when a task is over; it ends instead where that is empty."""

    def serve(self) -> None:
        while True:
            _message, fds, _flags, _address = socket.recv_fds(self._socket, 16, 1)
            if not fds:
                return
            self.inits += 1
            with socket.socket(fileno=fds[0]) as control:
                while message := control.recv(1 << 16):
                    said = self.says if message == init.NEXT_TASK else b"{}"
                    if not said:
                        break
                    control.send(said)
            self._socket.send(b"0")


class Ended:
    """A run that minds nothing."""

    def reported(self, data: bytes) -> None:
        assert data == b"{}"


class Box:
    """What runs programs and ends tasks as a supervisor does."""

    def __init__(self, zygote: Zygote, client: InitClient) -> None:
        self.zygote, self.client = zygote, client

    def ran(self, kind: str, mode: str = "fork", *, libraries: bool = False) -> int:
        """Run a program of that kind; how many inits there have been."""
        self.client.run({"mode": mode, "kind": kind, "libraries": libraries}, [0], Ended())
        self.client._wait_for(self.client._control)
        self.client._on_control()
        return self.zygote.inits

    def settled(self) -> bool:
        return bool(self.client.settle())


@pytest.fixture
def box() -> Iterator[Box]:
    with _box() as made:
        yield made


@contextmanager
def _box() -> Iterator[Box]:
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    zygote = Zygote(its)
    thread = threading.Thread(target=zygote.serve)
    thread.start()
    with selectors.DefaultSelector() as selector:
        client = InitClient(ours, selector, set(), lambda: None)
        yield Box(zygote, client)
        client.end()
    ours.close()
    thread.join(PATIENCE_S)
    its.close()
    assert not thread.is_alive()


@pytest.mark.parametrize("kind", ["answer", "test"])
def test_an_init_serves_the_next_tasks_programs_of_its_kind(box: Box, kind: str) -> None:
    for _ in range(3):
        assert [box.ran(kind), box.ran(kind)] == [1, 1]
        assert box.settled()


@pytest.mark.parametrize(("first", "then"), [("answer", "test"), ("test", "answer"), ("answer", ""), ("test", "")])
def test_and_no_program_of_another(box: Box, first: str, then: str) -> None:
    box.ran(first)
    assert box.settled()
    assert box.ran(then) == 2


@pytest.mark.parametrize("kinds", [["answer", "test"], ["test", "answer"], ["answer", "", "answer"], [""]])
def test_a_task_of_several_kinds_ends_it(box: Box, kinds: list[str]) -> None:
    assert {box.ran(kind) for kind in kinds} == {1}, "the runs of a task have one"
    assert not box.settled()
    assert box.ran(kinds[-1]) == 2


@pytest.mark.parametrize("says", [init.LEFT, b"", b"clean, it says", b'{"broken": "cleaning"}'])
def test_one_that_does_not_say_that_it_is_clean_ends(box: Box, says: bytes) -> None:
    box.ran("answer")
    box.zygote.says = says
    assert not box.settled()
    assert box.ran("answer") == 2


def test_one_that_has_served_so_many_ends_in_another_task_too(box: Box) -> None:
    for _ in range(MAX_RUNS):
        assert box.ran("answer") == 1
        assert box.settled()
    assert box.ran("answer") == 2


def test_a_program_with_libraries_and_a_test_beside_its_answer_have_new_ones(box: Box) -> None:
    box.ran("answer")
    assert box.settled()
    assert box.ran("answer", libraries=True) == 2
    assert box.ran("", mode="check") == 3
    assert not box.settled()


def test_where_nothing_ran_there_is_none_to_keep(box: Box) -> None:
    assert not box.settled()
    assert box.zygote.inits == 0
