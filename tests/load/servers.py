"""Server processes for tests: started on loopback, watched, and stopped by the signal of choice."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2 as httpx


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServerProcess:
    """`sandbox-gym serve` in a process of its own, its state in `folder`."""

    def __init__(
        self,
        provider: str,
        folder: Path,
        port: int = 0,
        settings: Mapping[str, str] | None = None,
        server: str = "coding",
        module: str = "",
        command: Sequence[str] = (),
    ) -> None:
        """`module`: one that serves by itself, given provider and port, instead of the command; `command`: any."""
        self._log = folder / f"server-{time.monotonic_ns()}.log"
        serve = ["sandbox_gym", "serve", server, "--port", str(port), "--provider", provider]
        command = command or [sys.executable, "-m", *([module, provider, str(port)] if module else serve)]
        environment = {
            **os.environ,
            "NO_COLOR": "1",
            "SANDBOX_GYM_STATE_DIR": str(folder / "state"),
            **(settings or {}),
        }
        with self._log.open("wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        try:
            self.url = self._address()
        except BaseException:
            self.process.kill()  # nobody else knows of it
            self.process.wait()
            raise

    def _address(self) -> str:
        for _ in range(2400):  # beside a cluster that comes up on a busy machine
            found = re.search(r"http://127\.0\.0\.1:\d+", self.log())
            if found:
                return found[0]
            assert self.process.poll() is None, self.log()
            time.sleep(0.1)
        raise AssertionError(f"no address within 240 s: {self.log()}")

    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it and wait; a second time is fine."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        expected = {signal.SIGTERM: (0, -signal.SIGTERM), signal.SIGKILL: (-signal.SIGKILL,)}
        code = self.process.wait(60)
        assert code in expected.get(number, ()) or number is signal.SIGTERM, self.log()  # uvicorn ends as it was told

    def health(self) -> dict[str, Any]:
        document: dict[str, Any] = httpx.get(f"{self.url}/health", timeout=30).json()
        return document

    def wait_for(self, condition: Callable[[dict[str, Any]], bool]) -> None:
        """Until /health says so, within a minute."""
        for _ in range(2400):  # beside a cluster that comes up on a busy machine
            health = self.health()
            if condition(health):
                return
            time.sleep(0.1)
        raise AssertionError(f"never so within 60 s: {health}")

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
