"""The processes behind a server's sandboxes, by the part they play, and their end or standstill.

A box's processes are a chain: on local the server's child bwrap, the supervisor, the zygote, an init, the program; in a
container the same without bwrap. What the program starts comes below it.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
from dataclasses import dataclass
from typing import Literal

from tests.processes import children, parent_of, state_of, text_of

Role = Literal["bwrap", "supervisor", "zygote", "init", "parent", "worker", "program", "container"]
CHAIN: tuple[Role, ...] = ("bwrap", "supervisor", "zygote", "init", "program", "worker")
DOCKER = os.environ.get("DOCKER", "docker")


@dataclass(frozen=True)
class Victim:
    """A process, held by a descriptor so that its number can't be another's by the time of the signal."""

    pid: int
    pidfd: int

    def send(self, number: signal.Signals) -> bool:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, number)
            return True
        return False


def containers(server: int, host: str = "", *, all_states: bool = False) -> dict[str, int]:
    """The server's containers that run, or all, by id, and the process on this machine that each began with."""
    docker = [DOCKER, *(["--host", host] if host else [])]
    listed = subprocess.run(
        [*docker, "ps", *(["--all"] if all_states else []), "--filter", f"name=-{server}-", "--format", "{{.ID}}"],
        capture_output=True, text=True, check=False, timeout=30,
    ).stdout.split()  # fmt: skip
    if not listed:
        return {}
    asked = [*docker, "inspect", "--format", "{{.Id}} {{.State.Pid}}", *listed]
    told = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=30).stdout
    found = {line.split()[0]: int(line.split()[1]) for line in told.splitlines()}
    return {one: pid for one, pid in found.items() if pid or all_states}


def chains(server: int, provider: str, host: str = "") -> list[tuple[int, int]]:
    """Where each box begins: (pid, how far down CHAIN it is)."""
    if provider == "docker":
        return [(pid, 1) for pid in containers(server, host).values()]
    return [(pid, 0) for pid in children(server) if text_of(pid, "comm").strip() == "bwrap"]


def of_role(server: int, provider: str, role: Role, host: str = "") -> list[int]:
    """All processes that play the part now."""
    found: list[int] = []
    for top, depth in chains(server, provider, host):
        level = [top]
        for part in CHAIN[depth:]:
            if role == "parent" and part == "program":
                found += [parent for pid in level for parent in _parents_of_leaves(pid)]
            if part == role:
                found += level
            level = [child for pid in level for child in children(pid)]
    return found


def _parents_of_leaves(program: int) -> list[int]:
    """Who forked what is at work: below a program its deepest forker, else the program's own parent, the init."""
    below = children(program)
    if not below:
        parent = parent_of(program)
        return [parent] if parent is not None else []
    deeper = [parent for child in below if children(child) for parent in _parents_of_leaves(child)]
    return deeper or [program]


def pick(candidates: list[int], chance: random.Random) -> Victim | None:
    """One of them, rather one that is on a CPU."""
    at_work = [pid for pid in candidates if state_of(pid) == "R"]
    for pool in (at_work, candidates):
        if pool:
            pid = chance.choice(sorted(pool))
            with contextlib.suppress(OSError):
                return Victim(pid, os.pidfd_open(pid))
    return None
