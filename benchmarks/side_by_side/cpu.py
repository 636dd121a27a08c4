"""CPU seconds of processes, their descendants and all that these have waited for, as /proc has them.

A finished child's time is in its parent's once the parent has waited for it, so the sum over a living tree is whole.
Ticks are 10 ms a process: read it before and after many verifies, not one.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def _stat(pid: str) -> tuple[int, str, list[float]] | None:
    """(parent, name, seconds: user, system, and the same of waited-for children); None for a process that is gone."""
    try:
        text = Path("/proc", pid, "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    name, fields = text[text.find("(") + 1 : text.rfind(")")], text.rpartition(")")[2].split()
    return int(fields[1]), name, [int(ticks) / _TICK for ticks in fields[11:15]]


def trees_s(roots: Iterable[int]) -> float:
    """CPU seconds of these processes and all below them; of this process itself when it is among them, itself only."""
    children: dict[int, list[int]] = {}
    seconds: dict[int, float] = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        found = _stat(pid)
        if found is not None:
            children.setdefault(found[0], []).append(int(pid))
            seconds[int(pid)] = sum(found[2])
    total, left, seen = 0.0, list(roots), set[int]()
    while left:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            total += seconds.get(one, 0.0)
            left += children.get(one, [])
    return total


def named_s(names: Iterable[str]) -> float:
    """CPU seconds of all processes of these names, without their children's."""
    wanted, total = set(names), 0.0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        found = _stat(pid)
        if found is not None and found[1] in wanted:
            total += sum(found[2][:2])
    return total


def self_s(pid: int) -> float:
    """CPU seconds of one process alone; 0 where there is none."""
    found = _stat(str(pid))
    return sum(found[2][:2]) if found is not None else 0.0


def own_s() -> float:
    """CPU seconds of this process and of the children it has waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def children_of(pid: int) -> list[int]:
    """The living children of a process."""
    found = {int(one): _stat(one) for one in filter(str.isdigit, os.listdir("/proc"))}
    return [one for one, stat in found.items() if stat is not None and stat[0] == pid]


def name_of(pid: int) -> str:
    """What the kernel calls a process; empty where there is none."""
    found = _stat(str(pid))
    return found[1] if found is not None else ""


def resident_bytes(pid: int) -> int:
    """Resident memory of a process; 0 where there is none."""
    try:
        pages = int(Path("/proc", str(pid), "statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
