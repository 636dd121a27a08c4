"""The configuration that a guest gets of the sandbox that it is in. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

BEAT_S: Final = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestConfig:
    """Which folders and caps a sandbox has."""

    tier: str
    """`namespaces`, or `uid` where they are not to be had."""
    cgroup: str
    dirs: Sequence[str]
    """What programs can write to, emptied after each run."""
    uid_base: int
    limit_data: bool
    """Memory is capped for each process, since no cgroup caps it."""
    sessions: bool = False
    """The box will hold one, and needs its driver."""
    own_network: bool = False
    """Each init makes a network namespace of its own, so that no counter, port or route outlives a task."""
    shared_uid: bool = False
    """Other boxes run programs as the same users, so that the kernel's count of them says nothing."""
    guests: bool = False
    """What runs in the box already belongs there, and is no run's."""
    beat_s: float = BEAT_S
    """Between heartbeats; 0 for none."""
