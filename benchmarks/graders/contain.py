"""One grader's process: in a throw-away jail for peers, under a hard wall limit, killed as a group.

Peers hand hostile programs their own rights, so a jail is around the whole grader: no network, no sight of other
processes, a system that can't be written, small memory file systems, a control group that caps memory and processes.
It is there to protect the machine; it takes nothing from the grader that its own documentation lets it count on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process

from sandbox_gym.sandbox.local.cgroups import Group, cgroups_or_reason

GRADERS = Path(__file__).resolve().parent
ROOT = GRADERS.parents[1]
"""What `python -m benchmarks...` is run from."""
MEMORY_BYTES = 2 << 30
FILE_BYTES = 64 << 20
PROCESSES = 128
CPUS = 2.0
TAIL_BYTES = 4096
KILL_GRACE_S = 5.0
ENTER = 'while [ "$1" != -- ]; do echo 0 > "$1"; shift; done; shift; exec "$@"'
"""Joins the groups named before `--`, then becomes what follows."""


@dataclass(frozen=True)
class Ended:
    code: int | None
    """None where the wall limit killed it."""
    tail: str
    """The last of its standard error, which programs may have written."""


def jailed(python: str, module: str) -> list[str]:
    """The command that runs `python -m module` in a jail of bubblewrap's."""
    limits = [f"--as={MEMORY_BYTES}", f"--fsize={FILE_BYTES}", "--core=0"]
    jail = ["--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--die-with-parent", "--new-session"]
    jail += ["--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp", "--setenv", "PYTHONPATH"]
    jail += ["/grader", "--setenv", "PYTHONDONTWRITEBYTECODE", "1"]
    jail += ["--setenv", "EVALPLUS_MAX_MEMORY_BYTES", str(MEMORY_BYTES)]  # its own default, 4 GiB, is above ours
    jail += ["--proc", "/proc", "--dev", "/dev"]
    for folder in ("/tmp", "/dev/shm"):
        jail += ["--size", str(FILE_BYTES), "--tmpfs", folder]
    for folder in ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache", *_prefixes(python)):
        jail += ["--ro-bind-try", folder, folder]
    jail += ["--ro-bind", str(GRADERS), "/grader/benchmarks/graders", "--chdir", "/tmp"]
    return ["prlimit", *limits, "--", "bwrap", *jail, "--", python, "-m", module]


def _prefixes(python: str) -> list[str]:
    """Where an interpreter and its packages are, beyond /usr."""
    asked = subprocess.run(
        [python, "-c", "import sys; print(sys.base_prefix); print(sys.prefix)"],
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )
    return [folder for folder in asked.stdout.splitlines() if not folder.startswith("/usr")]


@asynccontextmanager
async def capped(command: Sequence[str]) -> AsyncIterator[list[str]]:
    """The command in a control group of its own, emptied at the end. Raises OSError where there are none to be had."""
    cgroups, reason = cgroups_or_reason()
    if cgroups is None:
        raise OSError(f"hostile programs need a control group around a grader that has none: {reason}")
    group = cgroups.make(f"integrity-{uuid.uuid4().hex}")
    try:
        group.limit(MEMORY_BYTES, PROCESSES, CPUS)
        yield ["/bin/sh", "-c", ENTER, "sh", *group.procs_files, "--", *command]
    finally:
        with anyio.CancelScope(shield=True):
            await _empty(group)


async def _empty(group: Group) -> None:
    deadline = time.monotonic() + KILL_GRACE_S
    while group.pids() and time.monotonic() < deadline:
        group.kill()
        await anyio.sleep(0.01)
    group.remove()


async def run(command: Sequence[str], stdin: str, wall_s: float) -> Ended:
    """Run to its end or to the wall limit; nothing of its process group is left."""
    process = await anyio.open_process(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    tail, code = bytearray(), None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_drain, process.stderr, tail)
            with anyio.move_on_after(wall_s):
                with suppress(anyio.BrokenResourceError):
                    await process.stdin.send(stdin.encode())
                await process.stdin.aclose()
                code = await process.wait()
            tasks.cancel_scope.cancel()
    finally:
        await _end(process)
    return Ended(code, tail.decode(errors="replace"))


async def _drain(stream: ByteReceiveStream, tail: bytearray) -> None:
    """Floods must neither block the grader nor fill our memory."""
    async for data in stream:
        tail += data
        del tail[:-TAIL_BYTES]


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(KILL_GRACE_S, shield=True):
        await process.wait()
        await process.aclose()
