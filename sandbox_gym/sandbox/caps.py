"""The caps matrix: what every cap is called, and who enforces it in one provider on this machine.

docs/guides/operator/caps.md is the whole table; `sandbox-gym doctor` prints this machine's row of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Scope = Literal["run", "process", "box", "none"]


class Cap(StrEnum):
    """Each limit that a program may run into."""

    CPU_TIME = "cpu time"
    CPU_SHARE = "cpu share"
    WALL_TIME = "wall time"
    MEMORY = "memory"
    SWAP = "swap"
    PROCESSES = "processes"
    OPEN_FILES = "open files"
    FILE_SIZE = "file size"
    DISK_BYTES = "disk bytes"
    DISK_INODES = "disk inodes"
    OUTPUT_BYTES = "output bytes"
    PTYS = "pseudo-terminals"
    NETWORK = "network"


@dataclass(frozen=True, slots=True)
class CapRow:
    """Who enforces a cap, and on what: each run's whole tree, each process of it, or the box. Scope "none": not
    enforced."""

    cap: Cap
    scope: Scope
    enforced_by: str

    @property
    def enforced(self) -> bool:
        return self.scope != "none"


def guest_caps() -> tuple[CapRow, ...]:
    """What the guest enforces alike in every real box."""
    return (
        CapRow(Cap.WALL_TIME, "run", "supervisor's clock"),
        CapRow(Cap.OPEN_FILES, "process", "RLIMIT_NOFILE"),
        CapRow(Cap.FILE_SIZE, "process", "RLIMIT_FSIZE"),
        CapRow(Cap.OUTPUT_BYTES, "run", "supervisor's pipes"),
    )


def in_order(rows: Sequence[CapRow]) -> tuple[CapRow, ...]:
    """Every cap once, in the order of `Cap`. Raises ValueError for one that is missing or double."""
    by_cap = {row.cap: row for row in rows}
    if len(by_cap) != len(rows) or len(rows) != len(Cap):
        raise ValueError("each cap has one row")
    return tuple(by_cap[cap] for cap in Cap)
