"""A pool server in a process of its own, and what an SDK needs to find it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

KEYS = {"alice": "alice-key-0123456789", "bob": "bob-key-0123456789ab", "carol": "carol-key-0123456789"}
TENANTS = f"""
[tenants.alice]
keys = ["{KEYS["alice"]}", "alice-other-key-01234"]
sandboxes = 12
creates_per_s = 100

[tenants.bob]
keys = ["{KEYS["bob"]}"]
creates_per_s = 100

[tenants.carol]
keys = ["{KEYS["carol"]}"]
sandboxes = 2
snapshots = 1
creates_per_s = 100
max_timeout_s = 600
"""


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Where(TypedDict):
    """The SDK's settings."""

    api_key: str
    api_url: str
    sandbox_url: str


class PoolServer:
    """`sandbox-gym serve pool`, its state in `folder`."""

    def __init__(self, provider: str, folder: Path, *options: str, port: int = 0, keys: str = TENANTS) -> None:
        self.provider = provider
        self._log = folder / f"pool-{time.monotonic_ns()}.log"
        command = ["nohup", sys.executable, "-m", "sandbox_gym", "serve", "pool"]  # what it ignores, no sandbox does
        command += ["--port", str(port), "--provider", provider]
        if keys:
            file = folder / "keys.toml"
            file.write_text(keys)
            command += ["--keys", str(file)]
        environment = {**os.environ, "NO_COLOR": "1", "SANDBOX_GYM_STATE_DIR": str(folder / "state")}
        with self._log.open("wb") as output:
            self.process = subprocess.Popen([*command, *options], stdout=output, stderr=output, env=environment)
        self.url = self._address()
        self.port = int(self.url.rpartition(":")[2])

    def _address(self) -> str:
        for _ in range(600):
            found = re.search(r"http://127\.0\.0\.1:\d+", self.log())
            if found:
                return found[0]
            assert self.process.poll() is None, self.log()
            time.sleep(0.1)
        raise AssertionError(f"no address within 60 s: {self.log()}")

    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def where(self, tenant: str = "alice") -> Where:
        return {"api_key": KEYS[tenant], "api_url": self.url, "sandbox_url": self.url}

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it and wait; a second time is fine."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(60)
