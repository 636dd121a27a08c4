"""What keeps a silent sandbox's guest from its CPU: what the sandbox's own programs do, as counted outside of it.

Pure. A guest needs next to no CPU to be heard. Where it is not heard while its own sandbox is full of processes and
uses CPU, these have the turns that it waits for, on a quiet machine and on a busy one: how much CPU a sandbox has is
the machine's doing, who has it there that of its programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CROWD: Final = 32
"""So many processes or threads make a guest wait for its turn."""
FULL: Final = 0.9
"""Of its process cap: a sandbox that has so many is one whose program starts what it can."""
KEPT_S: Final = 1.0
"""CPU seconds in a silence of which the guest, with a fair share among so many, had to have its turns."""


@dataclass(frozen=True, slots=True)
class Strain:
    """Counters of a sandbox, 0 where nothing tells."""

    throttled: int = 0
    """In how many periods its own CPU quota has held it back."""
    cpu_s: float = 0.0
    """CPU time of all its processes since it was made."""
    tasks: int = 0
    """Processes and threads in it now."""
    tasks_cap: int = 0


def keeps_its_guest_waiting(before: Strain, after: Strain) -> bool:
    """Whether a sandbox that was silent is not frozen: its programs have the CPU that its guest waits for."""
    crowded = min(before.tasks, after.tasks) >= CROWD
    return after.throttled != before.throttled or (crowded and after.cpu_s > before.cpu_s)


def starved_itself(before: Strain, after: Strain) -> bool:
    """Whether it is to blame for a run that its guest could not end in time, with `before` of a moment when it was
    silent, too: full of processes all that time, which had the CPU."""
    full = all(0 < FULL * one.tasks_cap <= one.tasks for one in (before, after))
    return full and after.cpu_s - before.cpu_s >= KEPT_S
