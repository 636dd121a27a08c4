"""Our server alone, as `sandbox-gym serve` starts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.documented import command as documented
from tests.gym.running import free_port

OURS: Final = shutil.which("sandbox-gym", path=str(Path(sys.executable).parent)) or "sandbox-gym"
HEALTHY_S: Final = 60.0


@contextmanager
def serving(folder: Path, kind: str, *options: str, program: str = OURS, **settings: str) -> Iterator[int]:
    """Its port, once it is healthy. `program`: the command, of another environment perhaps; `settings` by variable."""
    port = free_port()
    command = [program, "serve", kind, "--port", str(port), "--provider", "local", *options]
    with running_server(folder, command, port, settings):
        yield port


@contextmanager
def serving_as_documented(folder: Path, page: str, swaps: Mapping[str, str]) -> Iterator[int]:
    """The page's own `sandbox-gym serve`, but for its port and what is swapped."""
    port = free_port()
    command = documented(page, "sandbox-gym serve", {"8080": str(port), **swaps})
    with running_server(folder, [OURS, *command[1:]], port, {}):
        yield port


@contextmanager
def running_server(folder: Path, command: list[str], port: int, settings: Mapping[str, str]) -> Iterator[None]:
    """Ended by SIGTERM."""
    own = {**os.environ, "SANDBOX_GYM_STATE_DIR": str(folder / "state"), **settings}
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(command, env=own, stdout=log, stderr=log)
    try:
        _await_health(port, process)
        yield
    finally:
        process.terminate()
        process.wait(60)


def _await_health(port: int, process: subprocess.Popen[bytes]) -> None:
    ends_at = time.monotonic() + HEALTHY_S
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=20):
                return
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < ends_at
            time.sleep(0.2)
