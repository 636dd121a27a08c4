"""Forks that programs make in a driver's process: no reply is theirs, and each reply belongs to its question."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.guest_process import GuestProcess, driver

FORKS = (
    # how a program makes children, all of which outlive nothing or little; "child" is what the child goes on to do
    "p = os.fork()\nif not p:\n    {child}\n",
    "p = os.fork()\n",  # the child goes on with the rest of the cell
    "p = os.fork()\nq = os.fork()\n",
    "p, fd = os.forkpty()\nif not p:\n    {child}\nos.close(fd)\n",
    "p = ctypes.CDLL(None).fork()\nif not p:\n    {child}\n",  # no hook of Python's is run
    "w = multiprocessing.get_context('fork').Process(target=len, args=([],)); w.start(); w.join()\n",
    "subprocess.run(['true'], preexec_fn=lambda: None, check=True)\n",
    "os.waitpid(os.posix_spawn('/bin/true', ['true'], os.environ), 0)\n",
    "t = threading.Thread(target=os.fork); t.start(); t.join()\n",
    "signal.signal(signal.SIGCHLD, signal.SIG_IGN); p = os.fork()\n",
    "signal.signal(signal.SIGCHLD, lambda *_: reap()); p = os.fork()\n",
)
CHILDREN = (
    "raise ValueError('of a child')",
    "sys.exit(3)",
    "sys.exit('words')",
    "os._exit(0)",
    "time.sleep(0.05); print('late')",
    "sys.stdin.read()",
    "os.kill(os.getpid(), 9)",
    "os.kill(os.getpid(), signal.SIGINT); time.sleep(5)",
    "threading.Thread(target=print, args=('of a thread',)).start()",
    "os.closerange(3, 256)",
    "os.setsid(); os.killpg(0, 15)",
    "1 / 0",
)
IMPORTS = "import ctypes, multiprocessing, os, signal, subprocess, sys, threading, time\n"
REAP = """def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass
"""


@dataclass(frozen=True)
class Reply:
    """`value`: what the cell's last expression is; `text`: all that was printed."""

    status: str
    value: str | None
    text: str


Ask = Callable[[str], Reply]


@contextmanager
def session(home: Path) -> Iterator[Ask]:
    """Cells of `/python`."""
    with driver("session", home) as guest:

        def ask(code: str) -> Reply:
            guest.send({"op": "python", "timeout_s": 20, "output_bytes": 1 << 16, "echo": False}, code.encode())
            reply, body = guest.receive()
            assert reply["ok"], reply
            return Reply(reply["status"], reply.get("value"), body.decode())

        yield ask
        assert guest.silent(0.1)


@contextmanager
def notebook(home: Path) -> Iterator[Ask]:
    """Cells of E2B's interpreter."""
    with driver("envd", home) as guest:
        guest.send({"op": "context", "id": 1, "name": "c", "language": "python", "cwd": "", "base": {}})
        assert guest.receive()[0]["ok"]
        asked = iter(range(2, 1 << 20))

        def ask(code: str) -> Reply:
            number = next(asked)
            guest.send({"op": "cell", "id": number, "name": "c", "env": {}, "window": 1 << 22}, code.encode())
            status, value, text = "ok", None, ""
            while True:
                header, body = guest.receive()
                if "id" in header:
                    assert (header["id"], header["ok"]) == (number, True), header
                    continue
                assert header["stream"] == number
                if header["event"] == "end":
                    return Reply(status, value, text)
                word = json.loads(body)
                if word["type"] == "error":
                    status, text = "error", text + word["traceback"]
                elif word["type"] == "result":
                    assert value is None, "two results"
                    value = word["text"]
                text += word["text"] if word["type"] in ("stdout", "stderr") else ""

        yield ask
        assert guest.silent(0.1)


@contextmanager
def worker(home: Path) -> Iterator[Ask]:
    """Requests to a service's forked workers."""
    with driver("service_worker", home) as guest:
        assert guest.receive()[0]["op"] == "ready"
        asked = iter(range(1 << 20))

        def ask(code: str) -> Reply:
            number = next(asked)
            body, _line, last = code.rpartition("\n")
            guest.send({"op": "ask", "id": number, "cpu_s": 20, "wall_s": 20}, f"{body}\nanswer = {last}".encode())
            reply, answer = guest.receive()
            assert (reply["op"], reply["id"]) == ("answer", number), reply
            return Reply(reply["status"], answer.decode() or None, "")

        yield ask
        assert guest.silent(0.1)


DRIVERS = {"session": session, "notebook": notebook, "worker": worker}


@pytest.fixture(params=list(DRIVERS))
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ask]:
    with DRIVERS[request.param](tmp_path) as asking:
        yield asking


@pytest.mark.timeout(120)
def test_after_many_cells_with_forks_each_reply_belongs_to_its_question(ask: Ask, whole: bool) -> None:
    chance = random.Random(16)
    assert ask(IMPORTS + "0").value == "0"
    for number in range(1, (1000 if whole else 300) + 1):
        code = f"{IMPORTS}{REAP}signal.signal(signal.SIGCHLD, signal.SIG_DFL)\n"
        if chance.random() < 0.25:
            code += chance.choice(FORKS).format(child=chance.choice(CHILDREN))
        if chance.random() < 0.2:
            code += "reap()\n"
        found = ask(f"{code}{number}")
        assert (found.status, found.value) == ("ok", str(number)), (code, found)


@pytest.mark.parametrize("fork", FORKS[:5])
def test_a_fork_says_nothing_in_place_of_its_parent_nor_ends_the_copy_that_waits(tmp_path: Path, fork: str) -> None:
    with session(tmp_path) as ask:
        assert ask(f"{IMPORTS}n = 0\nn").value == "0"
        for number, child in enumerate(CHILDREN):
            assert ask(f"{fork.format(child=child)}n += 1\nn").value == str(2 * number + 1)
            assert ask("n += 1\nn").value == str(2 * number + 2)
            code = fork.format(child=child) + "time.sleep(0.2)\nos._exit(1)"  # by now the child has ended
            assert ask(code).status == "died"


ENDS = {
    "pass": ("0", "rest\n"),
    "print('own')": ("0", "own\nrest\n"),
    "raise ValueError('no')": ("256", "ValueError: no\n"),
    "sys.exit()": ("0", ""),
    "sys.exit(3)": ("768", ""),
    "sys.exit('words')": ("256", "words\n"),
    "import atexit; atexit.register(print, 'at its exit')": ("0", "rest\nat its exit\n"),
    "threading.Timer(0.1, print, ['of a thread']).start()": ("0", "rest\nof a thread\n"),
    "raise KeyboardInterrupt": ("2", "KeyboardInterrupt\n"),
    "os._exit(9)": ("2304", ""),
}


@pytest.mark.parametrize("child", ENDS)
@pytest.mark.parametrize("kind", ["session", "notebook"])
def test_a_fork_runs_the_rest_of_its_cell_and_ends_as_a_script(tmp_path: Path, kind: str, child: str) -> None:
    status, printed = ENDS[child]
    code = f"""{IMPORTS}
import atexit
atexit.register(print, "the session's")
print("once", end=" ")
p = os.fork()
if not p:
    {child}
else:
    ended = os.waitpid(p, 0)[1]
if not p: print("rest")
ended if p else "a fork has no echo"
"""
    with DRIVERS[kind](tmp_path) as ask:
        found = ask(code)
        assert (found.status, found.value) == ("ok", status)
        assert found.text.startswith("once ")
        assert found.text.endswith(printed)
        assert "the session's" not in found.text
        assert found.text.count("once") == 1
        assert "sandbox_gym" not in found.text


@pytest.mark.parametrize("kind", ["session", "notebook"])
def test_multiprocessing_by_every_start_method(tmp_path: Path, kind: str) -> None:
    with DRIVERS[kind](tmp_path) as ask:
        for method in ("fork", "spawn", "forkserver"):
            opened = f"import multiprocessing as m\nwith m.get_context({method!r}).Pool(2) as pool: "
            assert ask(f"{opened}a = pool.map(abs, [-1, 2])\na").value == "[1, 2]"
        opened = "from concurrent.futures import ProcessPoolExecutor as P\nwith P(2) as pool: "
        assert ask(f"{opened}a = list(pool.map(abs, [-3]))\na").value == "[3]"
        assert ask("5").value == "5"


@pytest.mark.parametrize("kind", ["session", "notebook"])
def test_what_a_child_prints_later_is_in_a_later_reply(tmp_path: Path, kind: str) -> None:
    with DRIVERS[kind](tmp_path) as ask:
        told = tmp_path / "told"
        child = f"    while not os.path.exists({str(told)!r}): time.sleep(0.01)\n    print('late')\n"
        first = ask(f"import os, time\np = os.fork()\nif not p:\n{child}1")
        assert (first.value, first.text) == ("1", "")
        told.touch()
        later = ask("end = os.waitid(os.P_PID, p, os.WEXITED | os.WNOWAIT)\n2")
        assert (later.value, later.text) == ("2", "late\n")
        assert ask("os.waitpid(p, 0)[1]").value == "0"


def test_a_pseudo_terminal_and_its_program(tmp_path: Path) -> None:
    with session(tmp_path) as ask:
        ask("import os, pty\nread = []\ndef heard(fd):\n    read.append(os.read(fd, 99))\n    return read[-1]")
        assert ask("pty.spawn(['echo', 'hi'], heard)\nread[0]").value == "b'hi\\r\\n'"
        gone = ask("pty.spawn(['/nowhere'])\n7")
        assert (gone.status, gone.value) == ("ok", "7")
        assert ask("8").value == "8"


def test_a_kernel_that_ends_is_noticed_though_its_fork_lives_on(tmp_path: Path) -> None:
    with notebook(tmp_path) as ask:
        started = time.monotonic()
        died = ask("import os, time\np = os.fork()\nos._exit(1) if p else time.sleep(50)")
        assert died.status == "error"
        assert time.monotonic() - started < 25
        assert ask("1").value == "1"


def test_a_fork_displays_as_a_script_prints(tmp_path: Path) -> None:
    with notebook(tmp_path) as ask:
        found = ask("import os\np = os.fork()\nif p: os.waitpid(p, 0)\nelse: display({1: 2})\n3")
        assert (found.value, found.text) == ("3", "{1: 2}\n")


def test_a_signal_to_the_group_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    with session(tmp_path) as ask:
        assert ask("import os, signal\nn = 1\nn").value == "1"
        assert ask("n = 2\nos.killpg(0, signal.SIGTERM)").status == "died"
        assert ask("n").value == "1"


@pytest.mark.parametrize("kind", ["session", "notebook"])
def test_an_alarm_between_cells_costs_nothing(tmp_path: Path, kind: str) -> None:
    code = """import signal, time
def ring(*_): raise TimeoutError("rang")
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 1)
1"""
    with DRIVERS[kind](tmp_path) as ask:
        assert ask(code).value == "1"
        time.sleep(1.6)
        rung = ask("2")
        assert (rung.status, rung.value) == ("ok", "2")
        assert "TimeoutError: rang" in rung.text
        assert ask("signal.setitimer(signal.ITIMER_REAL, 0.1); time.sleep(9)").status == "error"
        assert ask("3").value == "3"


def test_words_of_several_threads_stay_whole(tmp_path: Path) -> None:
    shown = """import threading
def show():
    for _ in range(40): display("x" * 9000)
ts = [threading.Thread(target=show) for _ in range(4)]"""
    with driver("envd", tmp_path) as guest:
        guest.send({"op": "context", "id": 1, "name": "c", "language": "python", "cwd": "", "base": {}})
        guest.receive()
        guest.send(
            {"op": "cell", "id": 2, "name": "c", "env": {}, "window": 1 << 24},
            f"{shown}\n[t.start() for t in ts]\n[t.join() for t in ts]\n1".encode(),
        )
        results = _results(guest)
        assert results == 4 * 40 + 1


def _results(guest: GuestProcess) -> int:
    count = 0
    while True:
        header, body = guest.receive()
        if header.get("event") == "end":
            return count
        if header.get("event") == "word":
            count += json.loads(body)["type"] == "result"
