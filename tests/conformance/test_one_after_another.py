"""Runs of one task go through one init, as may those of several: what the one before did must not be found, nor felt,
by the next."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from sandbox_gym.contract import Program, Run, Status
from sandbox_gym.errors import BoxLost
from sandbox_gym.guest.runs import init_client
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.docker.machine import DockerMachine
from sandbox_gym.sandbox.docker.provider import DockerProvider
from sandbox_gym.sandbox.local.machine import LocalMachine
from sandbox_gym.sandbox.podman.machine import PodmanMachine
from sandbox_gym.sandbox.sandbox import Sandbox
from tests.inits import BIRTH, init_of

pytestmark = pytest.mark.anyio

LIMITS = Limits(cpu_time_s=5, wall_time_s=20, memory_bytes=128 * MIB, processes=16)
LOOK = """
import json, os
found = {"cwd": sorted(os.listdir(".")), "tmp": os.listdir("/tmp"), "shm": os.listdir("/dev/shm"), "fds": []}
for fd in range(3, 256):
    try:
        os.fstat(fd)
        found["fds"].append(fd)
    except OSError:
        pass
mine, others = os.getuid(), []
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) not in (1, os.getpid()):
        try:
            if os.stat("/proc/" + name).st_uid == mine:
                others.append(name)
        except OSError:
            pass
found["others"] = others
found["mounts"] = len(open("/proc/self/mounts").readlines())
print(json.dumps(found))
"""
HOSTILE = {
    "signals to init": """
import os, signal
for pid in (1, os.getppid()):
    for number in set(range(1, 65)) - {32, 33}:
        try:
            os.kill(pid, number)
        except OSError:
            pass
print("sent")
""",
    "files everywhere": """
import os
for folder in (".", "/tmp", "/dev/shm", "/scratch"):
    try:
        os.mkdir(folder + "/left")
        open(folder + "/left/behind", "w").write("x" * 4096)
        os.symlink("/etc/passwd", folder + "/link")
    except OSError:
        pass
print("written")
""",
    "a daemon that holds its folder": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/tmp")
        kept = open("held", "w")
        os.close(1); os.close(2)
        time.sleep(60)
    os._exit(0)
os.wait()
print("left")
""",
    "killed by its own hand": "import os; print('gone', flush=True); os.kill(os.getpid(), 9)",
    "over its wall time": "import time; print('slow', flush=True); time.sleep(60)",
    "a flood": "while True: print('x' * 10000)",
    "files and output in sockets of the dead": """
import _socket, os
print("in flight", flush=True)
kept = [os.open(name, os.O_CREAT | os.O_RDWR) for name in ("work", "/tmp/tmp", "/dev/shm/shm")] + [1, 2]
for _ in range(20):
    left, right = _socket.socketpair()
    fds = b"".join(fd.to_bytes(4, "little") for fd in [right.fileno(), *kept])
    left.sendmsg([b"x"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
os._exit(0)
""",
}


async def outcomes_of(box: Sandbox, *sources: str) -> list[Status | str]:
    """What each program printed, or how it ended where that was not well. All in one go."""
    caps = {HOSTILE["over its wall time"]: Limits(cpu_time_s=1, wall_time_s=1, memory_bytes=128 * MIB)}
    runs = [Run("one", Program("fork", {"main.py": text.encode()}), limits=caps.get(text, LIMITS)) for text in sources]
    found: list[Status | str] = []
    async with box.run_all(runs) as outcomes:
        async for outcome in outcomes:
            found.append(outcome.stdout.decode() if outcome.status is Status.OK else outcome.status)
    return found


@pytest.mark.parametrize("what", HOSTILE)
async def test_the_next_run_finds_nothing(box: Sandbox, what: str) -> None:
    before, _, after = await outcomes_of(box, LOOK, HOSTILE[what], LOOK)
    first, then = json.loads(before), json.loads(after)
    assert then == first
    assert (first["cwd"], first["tmp"], first["shm"], first["fds"]) == (["main.py"], [], [], [])
    assert first["others"] == []


async def test_every_ill_one_after_the_other(box: Sandbox) -> None:
    ended = await outcomes_of(box, *HOSTILE.values(), "print('well')")
    assert ended[-1] == "well\n"
    assert ended[3:6] == [Status.RUNTIME_ERROR, Status.WALL_TIME_LIMIT, Status.OUTPUT_LIMIT]
    assert await box.reset(), "the box is as it was"
    assert await outcomes_of(box, "print('again')") == ["again\n"]


async def test_an_init_serves_so_many_runs_and_no_more(box: Sandbox) -> None:
    source = f"import os\nprint({BIRTH})"
    inits = []
    for runs in (1, init_client.MAX_RUNS - 1, 1, 1):
        seen = await outcomes_of(box, *[source] * runs)
        assert len(set(seen)) == 1
        inits.append(init_of(box, seen[-1]))
    assert inits[0] == inits[1] != inits[2] == inits[3]


async def test_a_new_init_gives_no_credit_of_cpu_time(box: Sandbox) -> None:
    """What the old one's runs used is nothing that a later run may use too. Children that nobody waits for are told of
    by no parent: only who looks at the whole box sees their time."""
    spin = "import time\nwhile time.process_time() < %f: pass"
    spread = "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    spread += "if os.fork() and os.fork() and os.fork(): time.sleep(8)\n" + spin % 0.9
    capped = Limits(cpu_time_s=1, wall_time_s=20, memory_bytes=128 * MIB, processes=16)
    sources = [spin % 3, *["pass"] * (init_client.MAX_RUNS - 1), spread]
    runs = [Run("one", Program("fork", {"main.py": text.encode()}), limits=LIMITS) for text in sources[:-1]]
    runs.append(Run("one", Program("fork", {"main.py": spread.encode()}), limits=capped))
    async with box.run_all(runs) as outcomes:
        statuses = [outcome.status async for outcome in outcomes]
    assert statuses == [Status.OK] * init_client.MAX_RUNS + [Status.CPU_TIME_LIMIT]


async def init_after(box: Sandbox, program: Program) -> object:
    """Run a program; its init."""
    async with box.run_all([Run("one", program, limits=LIMITS)]) as outcomes:
        (outcome,) = [outcome async for outcome in outcomes]
    return init_of(box, outcome.stdout)


def answer(text: str = f"import os\nprint({BIRTH})", **more: Any) -> Program:
    return Program(more.pop("mode", "fork"), {"main.py": text.encode(), **more.pop("files", {})}, **more)


async def test_the_next_tasks_answers_have_the_init_of_those_that_left_nothing(box: Sandbox) -> None:
    first = await init_after(box, answer())
    for text in ("print(1)", "raise SystemExit(3)", HOSTILE["files everywhere"], HOSTILE["killed by its own hand"]):
        await init_after(box, answer(text))
        assert await box.reset()
        assert await init_after(box, answer()) == first, text


LEFT_BEHIND = {
    "a process": answer(HOSTILE["a daemon that holds its folder"]),
    "a look into another process": answer("import ctypes; ctypes.CDLL(None).ptrace(16, 1, 0, 0)"),
    "a name of a file": answer(files={"mine.py": b""}),
    "variables": answer(env={"MINE": "1"}),
    "arguments": answer(argv=("mine",)),
    "a command": Program("exec", {"main.sh": b"true"}, argv=("/bin/sh", "main.sh")),
}


@pytest.mark.parametrize("what", LEFT_BEHIND)
async def test_no_other_task_has_the_init_of_what_left_something(box: Sandbox, what: str) -> None:
    first = await init_after(box, answer())
    await init_after(box, LEFT_BEHIND[what])
    assert await box.reset()
    assert await init_after(box, answer()) != first


async def test_a_packet_ends_the_init_and_numbers_begin_anew(box: Sandbox) -> None:
    """Where the init has a network of its own."""
    packet = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))"
    first = await init_after(box, answer())
    await init_after(box, answer("import os\nfor _ in range(9):\n if not os.fork(): os._exit(0)\n os.wait()"))
    if isinstance(box.machine, LocalMachine):
        assert await box.reset()
        assert await outcomes_of(box, "import os\nprint(os.getpid())") == ["2\n"]
        assert await init_after(box, answer()) == first
        await init_after(box, answer(packet))
        assert await box.reset()
        assert await init_after(box, answer()) != first


async def test_ports_that_are_taken_are_not_the_next_tasks(box: Sandbox) -> None:
    """A closed connection keeps its port for a minute, though all are dead: the next could not listen there. A local
    box's next task has another network; a container goes."""
    source = """
import socket
try:
    server = socket.create_server(("127.0.0.1", 8080))
    client = socket.create_connection(server.getsockname())
    served, _ = server.accept()
    served.close()
    print("taken" if client.recv(1) == b"" else "")
except OSError:
    print("no loopback")
"""
    well, found = await outcomes_of(box, "print('well')", source)
    assert well == "well\n"
    own_network = isinstance(box.machine, LocalMachine)
    here = own_network or isinstance(box.machine, DockerMachine | PodmanMachine)
    assert found == "taken\n" or (found == "no loopback\n" and not here)
    clean = await box.reset()
    assert clean or not own_network
    assert not (clean and found == "taken\n" and not own_network), "what was tried in vain may count, too"
    if own_network:
        assert await outcomes_of(box, source, "print('well')") == ["taken\n", "well\n"]


KILL_THE_PARENT_OF_A_PROGRAM = """
import os, time
while True:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat("/proc/" + name).st_uid:
                parent = open("/proc/" + name + "/stat").read().rpartition(")")[2].split()[1]
                os.kill(int(parent), 9)
                raise SystemExit
        except OSError:
            pass
    time.sleep(0.05)
"""


async def test_a_container_whose_init_died_is_lost_with_what_its_run_left() -> None:
    """Without a PID namespace of the run's, what an init does not end lives on; the next run must not be beside it."""
    provider = DockerProvider()
    box = await provider.create(SandboxSpec())
    machine = box.machine
    assert isinstance(machine, DockerMachine)
    try:
        command = ["python3", "-c", KILL_THE_PARENT_OF_A_PROGRAM]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(provider.engine.call, lambda _client: machine.container.exec_run(command))
            with pytest.raises(BoxLost, match="an init ended"):
                await outcomes_of(box, "import time; time.sleep(10)", "print('beside it')")
    finally:
        await box.aclose()
        await provider.aclose()
