"""Servers in processes of their own, and schemathesis against them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx2 as httpx

CONFIG = Path(__file__).parent / "schemathesis.toml"


class Served:
    """`sandbox-gym serve KIND`, its state in `folder`."""

    def __init__(self, kind: str, folder: Path, *options: str) -> None:
        self._log = folder / f"{kind}.log"
        command = [sys.executable, "-m", "sandbox_gym", "serve", kind, "--port", "0", "--provider", "local", *options]
        environment = {**os.environ, "NO_COLOR": "1", "SANDBOX_GYM_STATE_DIR": str(folder / "state")}
        with self._log.open("wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        self.url = self._address()

    def _address(self) -> str:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            found = re.search(r"http://127\.0\.0\.1:\d+", self.log())
            if found:
                return found[0]
            assert self.process.poll() is None, self.log()
            time.sleep(0.1)
        raise AssertionError(f"no address within 120 s: {self.log()}")

    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def fuzz(
    url: str,
    path: str,
    folder: Path,
    *,
    examples: int,
    headers: Mapping[str, str],
    more: str = "",
    given: bool = True,
    leave_out: tuple[str, ...] = (),
) -> None:
    """Ask every operation of the document at a path of a server, with these headers each time.

    `more`: configuration beside the common one. `given`: a short run asks the documents' own examples, too. Raises
    AssertionError with schemathesis' own report.
    """
    ours = {name: value for name, value in headers.items() if not name.startswith("e2b-sandbox")}
    document = httpx.get(f"{url}{path}", headers=ours, timeout=120).json()
    for operation in (one for item in document["paths"].values() for one in item.values()):
        # a coverage case without the header that names a sandbox would be a request to the pool itself
        operation["parameters"] = [one for one in operation["parameters"] if one["name"] not in headers]
    file = folder / "document.json"
    file.write_text(json.dumps(document))
    config = folder / "schemathesis.toml"
    config.write_text(f"{CONFIG.read_text()}\n{more}")
    # the coverage phase has hundreds of cases for an operation: it belongs to the long run
    phases = "examples,coverage,fuzzing" if examples > 10 else "examples,fuzzing" if given else "fuzzing"
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", str(file), "--url", url]
    command += ["--phases", phases, "--max-examples", str(examples), "--request-timeout", "600", "--no-color"]
    command += ["--continue-on-failure", "--generation-database", "none", "--suppress-health-check", "all"]
    for name, value in headers.items():
        command += ["--header", f"{name}: {value}"]
    for name in leave_out:
        command += ["--exclude-operation-id", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=3600, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-20_000:]
    assert "Tested: 0" not in done.stdout
