"""What is done to a server and its boxes, and undone."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2 as httpx

from tests.chaos.surroundings import MIB, World, empty
from tests.chaos.victims import DOCKER, Role, containers, of_role, pick
from tests.processes import below

Deed = Callable[[World, random.Random], AbstractContextManager[bool]]
"""A context: the fault is there while it is open. It yields whether anything was there to be done to."""


@dataclass(frozen=True)
class Fault:
    """What is done, to whom, and what a server that meets it still promises."""

    name: str
    once: Deed
    workloads: tuple[str, ...]
    providers: tuple[str, ...] = ("local",)
    every_s: tuple[float, float] = (0.6, 1.8)
    """Between two deeds."""
    for_s: float = 0.0
    """How long each goes on."""
    least: int = 6
    """Deeds that a cell goes on for."""
    times: int = 1000
    others_serve: bool = False
    """Another box can serve what this one was to: at least 95 % must be right."""
    inherent: tuple[str, ...] = ()
    """Workloads whose program itself is what dies, from outside, without any trace: a crash as good as its own."""
    keyed: bool = False
    own_engine: bool = False
    """The server has a Docker Engine of its own, which the fault is for."""
    last: bool = False
    """The server's state is no good afterwards: nothing else is done to this server."""


ALL = ("coding", "math", "swe", "session")


def _signalled(role: Role, number: signal.Signals) -> Deed:
    @contextmanager
    def once(world: World, chance: random.Random) -> Iterator[bool]:
        victim = pick(of_role(world.pid, world.provider, role, world.docker_host), chance)
        yield victim is not None and victim.send(number)

    return once


def _container(command: str) -> Deed:
    @contextmanager
    def once(world: World, chance: random.Random) -> Iterator[bool]:
        found = sorted(containers(world.pid, world.docker_host))
        if found:
            subprocess.run([DOCKER, command, chance.choice(found)], capture_output=True, check=False, timeout=60)
        yield bool(found)

    return once


@contextmanager
def _engine_killed(world: World, chance: random.Random) -> Iterator[bool]:
    assert world.engine is not None
    world.engine.send(signal.SIGKILL)
    yield True


@contextmanager
def _engine_stopped(world: World, chance: random.Random) -> Iterator[bool]:
    assert world.engine is not None
    world.engine.send(signal.SIGSTOP)
    try:
        yield True
    finally:
        world.engine.send(signal.SIGCONT)


def _process_faults() -> Iterator[Fault]:
    both, local = ("local", "docker"), ("local",)
    roles: dict[Role, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
        "bwrap": (ALL, local, ()),
        "supervisor": (ALL, both, ()),
        "zygote": (ALL, both, ()),
        "init": (ALL, both, ()),
        "parent": (ALL, local, ("swe",)),  # there it is of the program's own
        "worker": (("math",), both, ()),
        "program": (("coding",), local, ("coding",)),
    }
    for role, (workloads, providers, inherent) in roles.items():
        kill, stop = _signalled(role, signal.SIGKILL), _signalled(role, signal.SIGSTOP)
        serve = not inherent
        every_s = (0.1, 0.4) if role == "worker" else (0.6, 1.8)  # another is forked in milliseconds
        yield Fault(f"{role} SIGKILL", kill, workloads, providers, every_s, others_serve=serve, inherent=inherent)
        yield _stopping(Fault(f"{role} SIGSTOP", stop, workloads, providers, others_serve=serve, inherent=inherent))
    docker = ("docker",)
    yield Fault("container SIGKILL", _container("kill"), ALL, docker, others_serve=True)
    yield _stopping(Fault("container SIGSTOP", _container("pause"), ALL, docker, others_serve=True))
    for name, once, for_s in (("SIGKILL", _engine_killed, 0.0), ("SIGSTOP", _engine_stopped, 4.0)):
        yield Fault(f"Engine {name}", once, ALL, docker, every_s=(4.0, 6.0), least=2, for_s=for_s, own_engine=True)


def _stopping(fault: Fault) -> Fault:
    """What stands still is found by a deadline, which takes longer than a death."""
    return replace(fault, every_s=(3.0, 5.0), least=3)


# -- whole boxes, and many things at once


@contextmanager
def _frozen(world: World, chance: random.Random) -> Iterator[bool]:
    """Every process of a box stands still, as when its machine does."""
    if world.provider == "docker":
        with _container("pause")(world, chance) as done:
            yield done
        return
    top = pick(of_role(world.pid, world.provider, "bwrap"), chance)
    for pid in (top.pid, *below(top.pid)) if top else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    yield top is not None


@contextmanager
def _snapshots_full(world: World, chance: random.Random) -> Iterator[bool]:
    """A session writes more than all snapshots together may take."""
    write = {"command": f"head -c 9000000 /dev/urandom > f{chance.randrange(9)}", "timeout_s": 20}
    with contextlib.suppress(httpx.HTTPError):
        httpx.post(f"{world.url}/bash", json=write, timeout=30)
    yield True


@contextmanager
def _anything(world: World, chance: random.Random) -> Iterator[bool]:
    deeds: list[tuple[Deed, int]] = [
        (_signalled("bwrap" if world.provider == "local" else "supervisor", signal.SIGKILL), 3),
        (_signalled("supervisor", signal.SIGKILL), 3),
        (_signalled("init", signal.SIGKILL), 3),
        (_signalled("zygote", signal.SIGSTOP), 1),
        (_frozen, 3),
        (_server_killed, 1),
    ]
    once = chance.choices([deed for deed, _weight in deeds], [weight for _deed, weight in deeds])[0]
    with once(world, chance) as done:
        yield done


# -- the machine


@contextmanager
def _ancestor_memory(world: World, chance: random.Random) -> Iterator[bool]:
    """A machine, pod or slice above all boxes runs out of memory, well before any box is at its own cap."""
    with world.groups.memory_short(chance.choice((1, 24, 80)) * MIB):
        yield True


@contextmanager
def _ancestor_processes(world: World, chance: random.Random) -> Iterator[bool]:
    world.groups.cap_processes("boxes", chance.choice((0, 3, 6)))
    try:
        yield True
    finally:
        world.groups.cap_processes("boxes", None)


@contextmanager
def _no_threads(world: World, chance: random.Random) -> Iterator[bool]:
    """The server can make neither a thread nor a process."""
    world.groups.cap_processes("server", 0)
    try:
        yield True
    finally:
        world.groups.cap_processes("server", None)


@contextmanager
def _no_descriptors(world: World, chance: random.Random) -> Iterator[bool]:
    """Each open, accept and pipe of the server fails."""
    soft, hard = resource.prlimit(world.pid, resource.RLIMIT_NOFILE)
    open_now = max(int(entry.name) for entry in Path(f"/proc/{world.pid}/fd").iterdir())
    resource.prlimit(world.pid, resource.RLIMIT_NOFILE, (open_now + 1 + chance.randrange(4), hard))
    try:
        yield True
    finally:
        resource.prlimit(world.pid, resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def _disk_full(world: World, chance: random.Random) -> Iterator[bool]:
    filler = world.state / "filler"
    with contextlib.suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(bytes(MIB))
    with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(512))
    try:
        yield True
    finally:
        filler.unlink(missing_ok=True)


@contextmanager
def _no_inodes(world: World, chance: random.Random) -> Iterator[bool]:
    folder = world.state / "filler"
    folder.mkdir()
    with contextlib.suppress(OSError):
        for number in range(1_000_000):
            (folder / str(number)).touch()
    try:
        yield True
    finally:
        shutil.rmtree(folder)


@contextmanager
def _journal_locked(world: World, chance: random.Random) -> Iterator[bool]:
    connection = sqlite3.connect(world.state / "journal.sqlite", timeout=10, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield True
    finally:
        connection.close()


@contextmanager
def _journal_damaged(world: World, chance: random.Random) -> Iterator[bool]:
    for path in world.state.glob("journal.sqlite*"):
        with path.open("r+b") as file:
            size = path.stat().st_size
            for _ in range(20):
                file.seek(chance.randrange(max(1, size)))
                file.write(chance.randbytes(4096))
            file.truncate(size)
    yield True


@contextmanager
def _state_gone(world: World, chance: random.Random) -> Iterator[bool]:
    empty(world.state)
    yield True


@contextmanager
def _tmp_read_only(world: World, chance: random.Random) -> Iterator[bool]:
    world.remount_tmp("ro")
    try:
        yield True
    finally:
        world.remount_tmp("rw")


@contextmanager
def _clock_step(world: World, chance: random.Random) -> Iterator[bool]:
    """Hours and days forth and back, and the year 1970."""
    world.clock.write_text(str(chance.choice((-int(time.time()), -86_400, -30, 30, 7200, 40 * 86_400))))
    try:
        yield True
    finally:
        world.clock.write_text("0")


@contextmanager
def _server_killed(world: World, chance: random.Random) -> Iterator[bool]:
    world.process.stop(signal.SIGKILL)
    world.restart()
    yield True


@contextmanager
def _idle_connections(world: World, chance: random.Random) -> Iterator[bool]:
    """Somebody opens as many connections as the server has descriptors, and says nothing."""
    soft, hard = resource.prlimit(world.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(world.pid, resource.RLIMIT_NOFILE, (128, hard))
    idle = []
    try:
        for _ in range(130):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", world.port))
            idle.append(one)
        yield True
    finally:
        for one in idle:
            one.close()
        resource.prlimit(world.pid, resource.RLIMIT_NOFILE, (soft, hard))


def _machine_faults() -> Iterator[Fault]:
    yield Fault("ancestor OOM", _ancestor_memory, ALL, for_s=2.0)
    yield Fault("ancestor pids", _ancestor_processes, ALL, for_s=1.5)
    yield Fault("EMFILE", _no_descriptors, ALL, for_s=1.5)
    yield Fault("idle connections", _idle_connections, ("coding",), for_s=2.0)
    yield Fault("no threads", _no_threads, ALL, for_s=1.5, keyed=True)
    yield Fault("disk full", _disk_full, ALL, for_s=2.0, keyed=True)
    yield Fault("no inodes", _no_inodes, ALL, for_s=2.0, keyed=True)
    yield Fault("journal locked", _journal_locked, ALL, for_s=2.0, keyed=True)
    yield Fault("/tmp read-only", _tmp_read_only, ALL, for_s=2.0)
    yield Fault("clock steps", _clock_step, ALL, for_s=1.0, keyed=True)
    yield _stopping(Fault("box frozen", _frozen, ALL, others_serve=True))
    yield Fault("snapshots full", _snapshots_full, ("session",))
    yield Fault("anything", _anything, ("coding", "session"), ("local", "docker"), least=12, keyed=True)
    yield Fault("server SIGKILL", _server_killed, ALL, every_s=(2.0, 4.0), least=2, times=2, keyed=True)
    yield Fault("journal damaged", _journal_damaged, ALL, least=1, times=1, keyed=True, last=True)
    yield Fault("state folder gone", _state_gone, ALL, least=1, times=1, keyed=True, last=True)


FAULTS: dict[str, Fault] = {fault.name: fault for fault in (*_process_faults(), *_machine_faults())}
