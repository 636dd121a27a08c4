"""What running servers say of themselves: their OpenAPI documents and their metrics.

Each server is started as a user would start it, but over fake sandboxes, on a free port of loopback and with state of
its own, and is ended again.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

SERVERS: Final = ("coding", "math", "swe")
DOCUMENT: Final = "/openapi.json"
METRICS: Final = "/metrics"
_READY_S: Final = 60.0


@cache
def pages(server: str) -> dict[str, str]:
    """What the server answers, by path: its OpenAPI document and its metrics."""
    with _served(server) as url:
        return {path: _get(url + path) for path in (DOCUMENT, METRICS)}


def document(server: str) -> dict[str, object]:
    """The server's OpenAPI document."""
    found: dict[str, object] = json.loads(pages(server)[DOCUMENT])
    return found


@contextmanager
def _served(server: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="sg-docs-") as folder:
        log = Path(folder, "log")
        command = [sys.executable, "-m", "sandbox_gym", "serve", server, "--provider", "fake", "--port", "0"]
        outer = {name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_GYM_")}
        own = {**outer, "NO_COLOR": "1", "SANDBOX_GYM_STATE_DIR": f"{folder}/state"}
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=folder, env=own, stdout=output, stderr=output)
        try:
            yield _address(process, log)
        finally:
            process.terminate()
            process.wait(60)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    ends_at = time.monotonic() + _READY_S
    while process.poll() is None and time.monotonic() < ends_at:
        found = re.search(r"running on (http://127\.0\.0\.1:\d+)", log.read_text("utf-8", "replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise RuntimeError(f"no server to ask for its documents:\n{log.read_text('utf-8', 'replace')}")


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read(), "utf-8")
