"""Kills one sandbox of a server after the other, as a machine that fails does."""

from __future__ import annotations

import os
import random
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Killer:
    """`killed` so far."""

    server: Callable[[], int | None]
    """The server's process, once there is one."""
    provider: str = "local"
    killed: int = 0

    def kill_one(self, chance: random.Random) -> bool:
        """One at random; False where there is none."""
        server = self.server()
        docker = self.provider == "docker"
        boxes = [] if server is None else _containers(server) if docker else [str(pid) for pid in jails(server)]
        if not boxes:
            return False
        victim = chance.choice(boxes)
        kill = ["docker", "kill", victim] if docker else ["kill", "-KILL", victim]
        self.killed += not subprocess.run(kill, capture_output=True, check=False, timeout=60).returncode
        return True

    @contextmanager
    def at_work(self, every_s: float) -> Iterator[None]:
        """One every so many seconds while the body runs."""
        ended = threading.Event()

        def keep_killing() -> None:
            chance = random.Random(21)
            while not ended.wait(every_s):
                self.kill_one(chance)

        thread = threading.Thread(target=keep_killing, daemon=True)
        if every_s:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            if every_s:
                thread.join(70)


def children(pid: int) -> list[int]:
    """Of any of its threads."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in task.read_text().split()]
    return found


def below(pid: int) -> list[int]:
    """Children, their children, and so on."""
    return [one for child in children(pid) for one in (child, *below(child))]


def jails(server: int) -> list[int]:
    """The first process of each sandbox of the provider `local`."""
    return [child for child in children(server) if _name(child) == "bwrap"]


def server_below(pid: int, folder: str) -> int | None:
    """The Python that runs in a folder of this name, among all processes below another one."""
    found = [one for one in below(pid) if _name(one).startswith("python") and _folder(one).endswith(folder)]
    return found[0] if found else None


def cpu_s(pid: int | None) -> float:
    """CPU seconds of a process itself, sandboxes apart."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _folder(pid: int) -> str:
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/cwd")
    return ""


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def _containers(server: int) -> list[str]:
    listed = ["docker", "ps", "--quiet", "--filter", f"name=-{server}-"]
    return subprocess.run(listed, capture_output=True, text=True, check=False, timeout=60).stdout.split()
