"""Processes of this machine that hold a sandbox."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

import anyio
from anyio.abc import Process


async def start_process(
    command: Sequence[str],
    *,
    stdin: int | IO[bytes] | None = subprocess.PIPE,
    stdout: int | IO[bytes] | None = subprocess.PIPE,
    stderr: int | IO[bytes] | None = subprocess.PIPE,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    pass_fds: Sequence[int] = (),
) -> Process:
    """`anyio.open_process` in a session of its own, so that Ctrl-C in a terminal does not reach it. A cancellation does
    not cut it short, since asyncio would leave a process that has begun with pipes that nobody closes: the caller is
    cancelled at its next wait, and ends the process. Raises OSError."""
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=env,
            cwd=cwd,
            pass_fds=pass_fds,
            start_new_session=True,
        )
    return process


def kill_session(process: Process) -> None:
    """SIGKILL for what `start_process` began, and for all that has not left its session. Not once it has ended: its
    number may be another's then."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
