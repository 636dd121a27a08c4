"""Who enforces which cap in a container, given what its cgroup has controllers for."""

from __future__ import annotations

from collections.abc import Sequence, Set

from sandbox_gym.limits import SESSION_PTYS
from sandbox_gym.sandbox.caps import Cap, CapRow, guest_caps, in_order

_OTHERWISE = {
    Cap.MEMORY: CapRow(Cap.MEMORY, "process", "RLIMIT_DATA"),
    Cap.PROCESSES: CapRow(Cap.PROCESSES, "run", "RLIMIT_NPROC of the run's own user"),
}
_BY_GROUP = {
    Cap.CPU_SHARE: "CPU quota",
    Cap.MEMORY: "memory",
    Cap.SWAP: "memory and swap",
    Cap.PROCESSES: "pids; RLIMIT_NPROC of the run's own user",
}


def container_caps(group: str, controlled: Set[Cap], why_not: str) -> Sequence[CapRow]:
    """One row per cap. `group`: what the container's cgroup is called; `controlled`: what it can enforce, and
    `why_not` why nothing does the rest."""
    return in_order(
        (
            *guest_caps(),
            CapRow(Cap.CPU_TIME, "run", f"supervisor, from {group} or /proc; RLIMIT_CPU"),
            *(
                CapRow(cap, "box", f"{group} {what}")
                if cap in controlled
                else _OTHERWISE.get(cap, CapRow(cap, "none", why_not))
                for cap, what in _BY_GROUP.items()
            ),
            CapRow(Cap.DISK_BYTES, "box", "tmpfs size"),
            CapRow(Cap.DISK_INODES, "box", "tmpfs nr_inodes"),
            CapRow(Cap.PTYS, "box", f"no devpts; {SESSION_PTYS} in a session's; with gVisor its own kernel's"),
            CapRow(Cap.NETWORK, "box", "network none"),
        )
    )
