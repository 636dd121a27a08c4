"""One-shot use: a container that gets every run on stdin and gives every outcome on stdout."""

from __future__ import annotations

import os
from collections.abc import Sequence

import anyio
import pytest

from sandbox_gym.contract import Program, Run, Status
from sandbox_gym.errors import BoxLost
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.batch import read_batch, write_batch
from sandbox_gym.sandbox.channel.bundle import BOOTSTRAP

pytestmark = pytest.mark.anyio

LIMITS = Limits(cpu_time_s=2, wall_time_s=6, memory_bytes=128 * MIB, processes=16)
CONTAINER = [
    os.environ.get("DOCKER", "docker"), "run", "--rm", "--interactive", "--network", "none", "--read-only",
    "--tmpfs", "/scratch:size=64m,mode=755,exec", "--tmpfs", "/tmp:size=16m,mode=1777", "--user", "0:0",
    "sandbox-gym/python", "python3", "-I", "-c", BOOTSTRAP, "0", "1",
]  # fmt: skip
DIRS = ("/scratch", "/tmp", "/dev/shm")


def python(name: str, source: str, stdin: bytes = b"") -> Run:
    return Run(name, Program("fork", {"main.py": source.encode()}), stdin, LIMITS)


async def one_shot(runs: Sequence[Run]) -> bytes:
    batch = await write_batch(runs, tier="uid", cgroup="/sys/fs/cgroup", dirs=DIRS, uid_base=20000)
    with anyio.fail_after(60):
        return (await anyio.run_process(CONTAINER, input=batch)).stdout


async def test_a_batch_gives_an_outcome_for_each_run() -> None:
    runs = [
        python("double", "print(2 * int(input()))", b"21"),
        python("fails", "raise SystemExit(3)"),
        python("sleeps", "import time; time.sleep(60)"),
        python("big", "import sys; print(len(sys.stdin.buffer.read()))", b"x" * 3_000_000),
        Run("shell", Program("exec", {}, argv=("/bin/sh", "-c", "cat; exit 4")), b"ok", LIMITS),
        python("leaves a daemon", "import os\nif os.fork() == 0:\n    os.setsid()\n    while True: pass\nprint(1)"),
        python("last", "import os; print(os.listdir('.'))"),
    ]
    outcomes = await read_batch(await one_shot(runs), runs)
    assert [(one.status, one.exit_code, one.stdout) for one in outcomes] == [
        (Status.OK, 0, b"42\n"),
        (Status.RUNTIME_ERROR, 3, b""),
        (Status.WALL_TIME_LIMIT, None, b""),
        (Status.OK, 0, b"3000000\n"),
        (Status.RUNTIME_ERROR, 4, b"ok"),
        (Status.OK, 0, b"1\n"),
        (Status.OK, 0, b"['main.py']\n"),
    ]


async def test_a_cut_or_padded_output_is_a_lost_box_and_never_an_outcome() -> None:
    runs = [python("one", "print(1)"), python("two", "print(2)")]
    output = await one_shot(runs)
    assert [outcome.stdout for outcome in await read_batch(output, runs)] == [b"1\n", b"2\n"]
    for broken in (b"", output[:-1], output[: len(output) // 2], b"\0" + output, output + output):
        with pytest.raises(BoxLost):
            await read_batch(broken, runs)


async def test_files_that_would_escape_are_refused() -> None:
    with pytest.raises(ValueError, match="escape"):
        await write_batch([Run("bad", Program("fork", {"../x": b""}))], tier="uid", cgroup="", dirs=(), uid_base=1)
