"""Whatever a box's own steps are refused, wherever in its guest: a right verdict or none, never an answer's failure."""

from __future__ import annotations

import errno
import json
import os
import re
import struct
import subprocess
import sys
import textwrap
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from sandbox_gym.contract import Answer, Program, Run, Status, Verdict
from sandbox_gym.engine import Engine, local_engine
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.limits import Limits
from sandbox_gym.plans.runner import Caller
from sandbox_gym.sandbox.api import Provider, SandboxSpec
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.sandbox.session.client import SHORT
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from sandbox_gym.verifiers.coding.running.fetching import STARTER, fetching
from tests.coding.test_checkers import BISECT, KATTIS, interactive, row
from tests.coding.test_one_process import ALIAS, SHOUT
from tests.conftest import make_real
from tests.engine.guest_faults import NONE, Fault, FaultyGuests, faulty_guests, head, steps_of_boxes
from tests.unit.guest_process import GuestProcess, driver

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(1800)]
MAKES_FD: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
KINDS: Final = {
    "fork": (errno.EAGAIN, errno.ENOMEM),
    "execvpe": (errno.EAGAIN, errno.EMFILE, errno.ENFILE),
    "chdir": (errno.ENOMEM, errno.EIO),
    **dict.fromkeys(["open", "pipe", "pipe2", "dup", "memfd_create", "socket", "socketpair", "openpty"], MAKES_FD),
}
"""By the last part of a step what it can be refused with; of an executable other errors may be its own doing."""
REFUSED: Final = (errno.ENOMEM, errno.ENOSPC, errno.EIO)
THEIRS: Final = re.compile(r"objects\.peer:|python\.together:\d+:(say|serve):os\.(read|write)")
"""What may run in a process in which an answer's code has run, or beside one that can fill the memory of both: there it
is told as the program's. No shortage but of memory reaches a channel that is there."""
PIPES: Final = (":os.read", ":os.write", ":socket.recv", ":socket.send", ":socket.sendall")
"""In a session, which is its agent's own: the same of pipes and sockets that are there."""
COMMON: Final = ("runs.", "protocol.")
COMMON_SHARE, SHARE = 30, 3
"""Of the steps that all runs take, a workload has daily one in so many; of its own ones, one in so many."""
TWO = {"inputs": ["1\n", "2\n"], "outputs": ["2\n", "4\n"]}
DOUBLE = "print(2 * int(input()))"
CHECK = {
    "entry_point": "double",
    "prompt": "def double(x):\n",
    "test": "def check(candidate):\n    if True: assert candidate(2) == 4\n    assert candidate([1]) == [1, 1]\n",
}
"""A branch: the test is run, and not judged by the values of its calls."""
WORKLOADS: Final[Mapping[str, tuple[Mapping[str, object], str]]] = {
    "script": ({"unit_tests": TWO, "processes": "own"}, DOUBLE),
    "shared": ({"unit_tests": TWO}, DOUBLE),
    "numpy": ({"unit_tests": TWO}, "import numpy\n" + DOUBLE),
    "wrong": ({"unit_tests": TWO}, "print(2)"),
    "command": ({"unit_tests": TWO, "language": "bash"}, "read n; echo $((2*n))"),
    "compiled": (
        {"unit_tests": TWO, "language": "c"},
        '#include <stdio.h>\nint main() { int n; scanf("%d", &n); printf("%d", 2 * n); }',
    ),
    "compile_error": ({"unit_tests": TWO, "language": "c"}, "int main() {"),
    "call": (
        {"unit_tests": {"fn_name": "double", "inputs": ["1", "2"], "outputs": ["2", "4"]}},
        "def double(x):\n    return 2 * x",
    ),
    "check": (CHECK, "def double(x):\n    return x + x"),
    "check_wrong": (CHECK, "def double(x):\n    return x"),
    "together": (ALIAS | {"canonical_solution": "    print(text.upper())\n"}, SHOUT),
    "checker": (
        row([""], {"type": "program", "source": textwrap.dedent(KATTIS)}, ["10\n"]),
        "n = int(input())\nprint(n - 1, 1)",
    ),
    "interactive": (interactive(language="python"), textwrap.dedent(BISECT["python"])),
}  # fmt: skip


WRONG: Final = ("wrong", "compile_error", "check_wrong")


def faults(steps: Mapping[str, int], before: Mapping[str, int], name: str, *, whole: bool) -> Iterator[Fault]:
    """Of each step that a workload takes: all errors at its first calls, or one error at one of them, of a part of the
    steps. `before`: calls that were made already."""
    for step, calls in sorted(steps.items()):
        first = before.get(step, 0) + 1
        kinds = KINDS.get(step.rpartition(":")[2].rpartition(".")[2], REFUSED)
        some = [Fault(step, number, at) for at in range(first, min(calls, first + 2) + 1) for number in kinds]
        chance = zlib.crc32(f"{step} {name}".encode())
        share = COMMON_SHARE if step.startswith(COMMON) else SHARE
        if whole:
            yield from some
        elif some and chance % share == 0:
            yield some[chance // share % len(some)]


@asynccontextmanager
async def engine_over(provider: Provider, tasks: int = 1) -> AsyncIterator[Engine]:
    """One try for each plan, in boxes for so many tasks."""
    pool = Pool(provider, boxes=2, box_max_tasks=tasks, queue_size=10)
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run)
        yield local_engine(pool, attempts=1, busy=lambda: False)
        group.cancel_scope.cancel()
    await pool.aclose()


async def verdict(engine: Engine, name: str, code: str = "") -> Verdict | SandboxGymError:
    given, right = WORKLOADS[name]
    code = code or right
    limits = Limits(cpu_time_s=2, wall_time_s=6)
    task = parse_task({"time_limit_s": 2, **given}, limits=limits, early_stop=True, in_process="allow")
    answer = Answer(f"````{given.get('language', 'python')}\n{code}\n````")
    try:
        return (await engine.verify(CodingVerifier(), task, answer, caller=Caller(deadline_s=60))).verdict
    except SandboxGymError as error:
        return error


def told(found: Verdict) -> tuple[object, ...]:
    return found.reward, found.failure_reason, [test.status.value for test in found.tests]


async def counted(guests: FaultyGuests, provider: Provider, name: str) -> tuple[Verdict, Counter[str], Counter[str]]:
    """The verdict where nothing fails, the steps of its boxes, and those of a box that has run nothing."""
    guests.fault = NONE
    box = await provider.create(SandboxSpec())
    idle = steps_of_boxes()
    await box.aclose()
    async with engine_over(provider, 100) as engine:
        right = await verdict(engine, name)
        steps = steps_of_boxes()
    assert isinstance(right, Verdict), right
    assert len(steps) > 80, "the stand-ins are in place"
    assert right.reward == float(name not in WRONG), told(right)
    return right, steps, idle


@pytest.mark.parametrize("provider_name", ["local", "docker"])
@pytest.mark.parametrize("name", WORKLOADS)
async def test_no_step_of_ours_is_an_answers_failure(name: str, provider_name: str, whole: bool) -> None:
    bad = []
    with faulty_guests() as guests:
        provider = make_real(provider_name)
        right, steps, idle = await counted(guests, provider, name)
        steps = Counter({step: calls for step, calls in steps.items() if not THEIRS.match(step)})
        for fault in faults(steps, idle, name, whole=whole and provider_name == "local"):
            guests.fault = fault
            async with engine_over(provider) as engine:
                found = await verdict(engine, name)
            if isinstance(found, Verdict) and told(found) != told(right):
                bad.append(f"{fault}: {told(found)} {[test.reason for test in found.tests]}")
        await provider.aclose()
    assert not bad, f"{told(right)} with nothing refused, but\n" + "\n".join(bad)


# -- the converse: what an answer does to itself is no fault of ours

FORGE = """
import os
for fd in range(3, 256):
    try:
        os.write(fd, b"bforged")
    except OSError:
        pass
os._exit(127)
"""


@pytest.mark.parametrize("name", ["script", "shared", "call", "check", "together"])
async def test_a_program_can_t_say_that_it_did_not_begin(name: str) -> None:
    provider = make_real("local")
    async with engine_over(provider) as engine:
        found = await verdict(engine, name, FORGE)
    await provider.aclose()
    assert isinstance(found, Verdict), found
    assert found.reward == 0.0
    assert found.failure_reason in ("runtime_error", "bad_value", "wrong_answer")


def elf(*segments: tuple[int, int, int, int]) -> bytes:
    """A program of (type, offset, size in the file, size in memory); none of its bytes is code."""
    machine = {"x86_64": 62, "aarch64": 183}[os.uname().machine]
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, machine, 1, 0, 64, 0, 0, 64, 56, len(segments), 0, 0, 0
    )
    packed = [
        struct.pack("<IIQQQQQQ", kind, 7, at, 1 << 22, 0, size, memory, 4096) for kind, at, size, memory in segments
    ]
    return head + b"".join(packed)


ODD_PROGRAMS: Final = {
    "an interpreter beyond its end": elf((3, 1 << 20, 64, 64)),
    "more memory than there is": elf((1, 0, 64, 1 << 46)),
    "a script of itself": b"#!./main\n",
    "a script of nothing": b"#!/no/such/interpreter\n",
    "a script of a folder": b"#!/usr\n",
    "a script of a device": b"#!/dev/full\n",
    "no format": b"\0" * 100,
}


@pytest.mark.parametrize("name", ODD_PROGRAMS)
async def test_a_program_that_can_t_be_executed_is_the_runs_own(name: str) -> None:
    provider = make_real("local")
    box = await provider.create(SandboxSpec())
    run = Run("odd", Program("exec", {"main": ODD_PROGRAMS[name]}, argv=("./main",)), limits=Limits())
    async with box.run_all([run]) as outcomes:
        found = [outcome async for outcome in outcomes]
    await box.aclose()
    await provider.aclose()
    assert found[0].status in (Status.START_ERROR, Status.RUNTIME_ERROR), found


# -- sessions: an answer that says that the sandbox has no more of something

ENTER = """
import sys
from sandbox_gym.guest.envd import daemon
from sandbox_gym.guest.session import driver
for one in [m for n, m in sys.modules.items() if n.startswith("sandbox_gym.guest.")]: F.enter(vars(one))
"""
Reply = tuple[Mapping[str, Any], bytes]


def ask(guest: GuestProcess, header: Mapping[str, object], body: bytes = b"") -> Reply:
    guest.send(header, body)
    return guest.receive()


def execute(guest: GuestProcess, *argv: str, stdin: bytes = b"", keep: bool = False) -> Reply:
    texts = "".join(f"{text}\0" for text in argv).encode()
    request = {"op": "exec", "args_bytes": len(texts), "env_bytes": 0, "head_only": False, "cwd": "", "keep": keep}
    return ask(guest, {**request, "timeout_s": 20, "stdout_bytes": 1000, "stderr_bytes": 1000}, texts + stdin)


def test_a_starter_without_descriptors_is_run_once_more(tmp_path: Path) -> None:
    """A program that ends by this signal is: what starts it can say no more, as it is a program itself."""
    starter = fetching(Program("exec", {}, argv=("true",)), [], "mark", {}).files[STARTER]
    (tmp_path / STARTER).write_bytes(starter)
    few = f"import resource, runpy; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)); runpy.run_path('{STARTER}')"
    for code, ended in (("", 0), (few, -9)):
        command = [sys.executable, "-S", *(["-c", code] if code else [STARTER])]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60).returncode == ended


def test_a_workers_own_step_is_no_answers_failure(tmp_path: Path) -> None:
    """What the host is told of a worker that was killed is judged by evidence."""
    none = "import service_worker\ndef none(*_): raise OSError(24, 'none')\nservice_worker.open = none\nanswer = 1"
    with driver("service_worker", tmp_path) as guest:
        assert guest.receive()[0]["op"] == "ready"
        guest.send({"op": "ask", "id": 1, "cpu_s": 20, "wall_s": 20}, none.encode())
        reply, _ = guest.receive()
        assert (reply["status"], reply["detail"]) == ("killed", "9")


TIMED = {"timeout_s": 20, "output_bytes": 4000}
TERMINAL = {"op": "terminal", "name": "t", "expect": [], **TIMED}
CALLS: Final[Mapping[str, Callable[[GuestProcess], Reply]]] = {
    "exec": lambda guest: execute(guest, "sh", "-c", "cat; echo $0 >&2; exit 3", stdin=b"in"),
    "exec that leaves a process": lambda guest: execute(guest, "sh", "-c", "sleep 0.2 & echo x", keep=True),
    "exec of nothing": lambda guest: execute(guest, "no-such-program"),
    "bash": lambda guest: ask(guest, {"op": "bash", **TIMED}, b"echo hi; false"),
    "bash again": lambda guest: ask(guest, {"op": "bash", **TIMED}, b"echo $((1+1))"),
    "python": lambda guest: ask(guest, {"op": "python", **TIMED}, b"x = 1; x + 1"),
    "python again": lambda guest: ask(guest, {"op": "python", **TIMED}, b"x + 41"),
    "write": lambda guest: ask(guest, {"op": "write", "path": "d/f"}, b"data"),
    "read": lambda guest: ask(guest, {"op": "read", "path": "d/f", "max_bytes": 100}),
    "open": lambda guest: ask(guest, {**TERMINAL, "do": "open"}),
    "run": lambda guest: ask(guest, {**TERMINAL, "do": "run"}, b"echo t"),
}


def said(reply: Reply) -> tuple[str, bytes]:
    return json.dumps({key: value for key, value in reply[0].items() if key != "cwd"}, sort_keys=True), reply[1]


def session(home: Path, fault: Fault) -> tuple[dict[str, Reply], Counter[str]]:
    """What each call was answered, up to the first that the sandbox had too little for; and the steps."""
    answers: dict[str, Reply] = {}
    home.mkdir()
    with driver("session", home, head(fault) + ENTER) as guest:
        for name, call in CALLS.items():
            try:
                reply = call(guest)
            except (AssertionError, OSError):
                break  # it has gone, and its session with it: the host says so
            if reply[0]["ok"] is not True and str(reply[0]["error"]).partition(":")[0] in SHORT:
                break
            answers[name] = reply
        return answers, steps_of_boxes() if fault is NONE else Counter()


def test_no_step_of_ours_is_a_commands_end(tmp_path: Path, whole: bool) -> None:
    right, steps = session(tmp_path / "right", NONE)
    assert list(right) == list(CALLS)
    assert len(steps) > 40, "the stand-ins are in place"
    own = Counter({step: n for step, n in steps.items() if "files" in step or not step.endswith(PIPES)})
    bad = []
    for number, fault in enumerate(faults(own, {}, "session", whole=whole)):
        answers, _steps = session(tmp_path / str(number), fault)
        differ = [name for name in answers if said(answers[name]) != said(right[name])]
        bad += [f"{fault}: {name}: {answers[name]} for {right[name]}" for name in differ]
    assert not bad, "\n".join(bad)
