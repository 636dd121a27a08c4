"""Runs a task's tests here, as a supervisor would in a box: the command, its job on stdin, the channel on a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox_gym.verifiers.swe import (
    SCRUBBED,
    ChannelReport,
    RunOptions,
    SweTask,
    read_channel,
    run_command,
    script_sources,
)

NONCE = "5f0c8f0e5a8b4f6e9d31"


@dataclass(frozen=True)
class Ran:
    """What came of it: the channel as read and as it was, and what the tests printed."""

    report: ChannelReport
    channel: bytes
    output: str


def run_tests(
    task: SweTask, ids: Iterable[str], scripts: Path, *, python: str = sys.executable, options: RunOptions | None = None
) -> Ran:
    """The scripts go to the folder `scripts`; the task's workdir is a folder of this machine."""
    for name, source in script_sources().items():
        (scripts / name).write_bytes(source)
    read_end, write_end = os.pipe()
    base = options or RunOptions(python="", folder="", nonce=NONCE)
    command = run_command(
        task, ids, replace(base, python=python, folder=str(scripts), channel_fd=write_end, nonce=NONCE)
    )
    env = {name: value for name, value in os.environ.items() if name not in SCRUBBED}
    process = subprocess.Popen(
        command.argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=command.workdir,
        env={**env, **command.env},
        pass_fds=[write_end],
    )
    os.close(write_end)
    held: list[bytes] = []
    reader = threading.Thread(target=lambda: held.append(_drained(read_end)))
    reader.start()
    output, _ = process.communicate(command.stdin, timeout=100)
    reader.join()
    return Ran(read_channel(held[0], NONCE), held[0], output.decode("utf-8", "replace"))


def _drained(fd: int) -> bytes:
    with open(fd, "rb") as stream:
        return stream.read()
