"""A server as a process of its own, and an HTTP client of it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import httpx2 as httpx

from benchmarks.side_by_side import cpu
from benchmarks.side_by_side.systems.base import Failed

START_S = 120.0
STOP_S = 30.0
CONNECTIONS = 1100
CALL_S = 900.0
_TAIL = 1500
_HOLDER = str(Path(__file__).with_name("holder.py"))


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Server:
    """A server that answers."""

    holder: int
    """The process whose tree has all CPU time of the server's; see holder.py."""
    pid: int
    client: httpx.AsyncClient

    async def post(self, path: str, body: Mapping[str, object], **more: object) -> dict[str, object]:
        """The answer's JSON object. Raises Failed for anything but a 200."""
        try:
            answer = await self.client.post(path, json=body, **more)  # type: ignore[arg-type]
        except httpx.HTTPError as error:
            raise Failed(f"{type(error).__name__}: {error}") from error
        if answer.status_code != 200:
            raise Failed(f"HTTP {answer.status_code}: {answer.text[:300]}")
        document = answer.json()
        if not isinstance(document, dict):
            raise Failed(f"no JSON object: {answer.text[:300]}")
        return document


@asynccontextmanager
async def serving(
    command: Sequence[str], port: int, log: Path, *, environment: Mapping[str, str], folder: Path | None = None
) -> AsyncIterator[Server]:
    """The command as a server on `port`, until the context ends. Raises Failed where it doesn't come up."""
    process = await anyio.to_thread.run_sync(partial(_start, command, log, {**os.environ, **environment}, folder))
    try:
        client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            timeout=CALL_S,
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
        )
        async with client:
            await _ready(client, process, log)
            yield Server(process.pid, cpu.children_of(process.pid)[0], client)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_stop, process)


def _start(
    command: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path | None
) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, _HOLDER, *command],
            stdout=output,
            stderr=output,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-_TAIL:]


async def _ready(client: httpx.AsyncClient, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Failed(f"ended with {process.returncode}: {_tail(log)}")
        with suppress(httpx.HTTPError):
            await client.get("/")
            return
        await anyio.sleep(0.1)
    raise Failed(f"no answer within {START_S:g} s: {_tail(log)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """By SIGINT, then with all of its session."""
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
