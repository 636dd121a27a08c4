"""A server of our own for a run, and what it says of itself. Standard library only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

START_S: Final = 60.0


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of `sandbox-gym serve coding`, which is ended afterwards."""
    log = folder / "server.log"
    settings = {**os.environ, "NO_COLOR": "1", "SANDBOX_GYM_STATE_DIR": str(folder / "state")}
    command = [sys.executable, "-m", "sandbox_gym", "serve", "coding", "--provider", "local", "--port", "0"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=settings)
    try:
        yield _address(log, process)
    finally:
        process.terminate()
        process.wait(60)


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    ends_at = time.monotonic() + START_S
    while time.monotonic() < ends_at and process.poll() is None:
        _, found, rest = log.read_text(errors="replace").partition("http://127.0.0.1:")
        if found and rest[:6].strip():
            return found + rest.split()[0].split("/")[0].rstrip(".,;")
        time.sleep(0.1)
    raise RuntimeError(f"no server: {log.read_text(errors='replace')[-2000:]}")


def live(url: str) -> dict[str, Any]:
    """What the dashboard shows."""
    with urllib.request.urlopen(f"{url}/dashboard/api/live", timeout=30) as reply:
        picture: dict[str, Any] = json.load(reply)
        return picture


def verdict_counts(url: str) -> dict[str, float]:
    """Verifies since the server's start, and those without a verdict."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as reply:
        lines = reply.read().decode().splitlines()
    found = {"verifies": "sandbox_gym_verifies_total", "masked": "sandbox_gym_masked_verifies_total"}
    return {
        name: sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((metric + "{", metric + " ")))
        for name, metric in found.items()
    }
