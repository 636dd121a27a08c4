"""Who enforces which cap in local boxes, given the cgroups that this process may make."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sandbox_gym.limits import SESSION_PTYS
from sandbox_gym.sandbox.caps import Cap, CapRow, guest_caps, in_order
from sandbox_gym.sandbox.local.cgroups import Cgroups

_SWAP_OFF = {1: "memory.memsw.limit_in_bytes", 2: "memory.swap.max"}
_MEMORY = {1: "memory.limit_in_bytes", 2: "memory.max"}
_CPU = {1: "cpu.cfs_quota_us", 2: "cpu.max"}


def local_caps(cgroups: Cgroups | None, reason: str) -> Sequence[CapRow]:
    """One row per cap. `reason` says why there are no cgroups."""
    rows = (
        *guest_caps(),
        CapRow(Cap.DISK_BYTES, "run", "tmpfs size"),
        CapRow(Cap.DISK_INODES, "run", "tmpfs nr_inodes"),
        CapRow(Cap.PTYS, "box", f"no devpts; {SESSION_PTYS} in a session's"),
        CapRow(Cap.NETWORK, "box", "network namespace without interfaces"),
    )
    return in_order((*rows, *(_by_cgroup(cgroups) if cgroups else _by_rlimit(reason))))


def _by_cgroup(cgroups: Cgroups) -> tuple[CapRow, ...]:
    version = f"cgroup v{cgroups.version}"
    if cgroups.caps_cpu:
        share = CapRow(Cap.CPU_SHARE, "box", f"{version} {_CPU[cgroups.version]}")
    else:
        share = CapRow(Cap.CPU_SHARE, "none", f"{version} has no cpu controller for us")
    if cgroups.caps_swap:
        swap = CapRow(Cap.SWAP, "box", f"{version} {_SWAP_OFF[cgroups.version]}")
    else:
        swap = CapRow(Cap.SWAP, "none", f"{version} counts no swap here (boot with swapaccount=1)")
    return (
        CapRow(Cap.CPU_TIME, "run", f"supervisor, from {version}; RLIMIT_CPU"),
        share,
        CapRow(Cap.MEMORY, "box", f"{version} {_MEMORY[cgroups.version]}"),
        swap,
        CapRow(Cap.PROCESSES, "box", f"{version} pids.max; RLIMIT_NPROC"),
    )


def _by_rlimit(reason: str) -> tuple[CapRow, ...]:
    own_user = os.geteuid() == 0
    processes = "RLIMIT_NPROC of the box's own user" if own_user else "RLIMIT_NPROC in the box's user namespace"
    return (
        CapRow(Cap.CPU_TIME, "run", "supervisor, from /proc; RLIMIT_CPU"),
        CapRow(Cap.CPU_SHARE, "none", f"no cgroup: {reason}"),
        CapRow(Cap.MEMORY, "process", "RLIMIT_DATA"),
        CapRow(Cap.SWAP, "process", "RLIMIT_DATA counts swapped pages too"),
        CapRow(Cap.PROCESSES, "box", processes),
    )
