"""What works of local sandboxes on this machine, and who enforces their caps."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import anyio

from sandbox_gym.errors import ProviderDown
from sandbox_gym.limits import SESSION_PTYS, Limits
from sandbox_gym.sandbox.api import Capability
from sandbox_gym.sandbox.caps import Cap, CapRow, guest_caps, in_order
from sandbox_gym.sandbox.local.cgroups import Cgroups
from sandbox_gym.sandbox.local.jails import Jails
from sandbox_gym.sandbox.local.machine import GUEST_BYTES, GUEST_PROCESSES
from sandbox_gym.sandbox.local.surroundings import JailRefused, in_container, surroundings


class LocalDoctor:
    """See `api.Doctor`."""

    def __init__(self, jails: Jails, cgroups: Cgroups | None, no_cgroup_reason: str) -> None:
        self._jails, self._cgroups, self._no_cgroup_reason = jails, cgroups, no_cgroup_reason

    async def check(self) -> None:
        """The constructor has looked at all that can be wrong for good."""

    async def probe(self) -> Sequence[Capability]:
        """Start a jail and ask it."""
        rows = [Capability("surroundings", True, surroundings().describe())]
        rows.append(Capability("bubblewrap", True, self._jails.bwrap))
        try:
            machine = await self._jails.start("python")
        except JailRefused as error:
            return [*rows, Capability("jail", False, error.said, error.remedy)]
        except ProviderDown as error:
            return [*rows, Capability("jail", False, str(error))]
        with anyio.CancelScope(shield=True):
            await machine.destroy()
        rows.append(Capability("jail", True, "user, pid, ipc, uts, net and mount namespaces; seccomp filter"))
        return [*rows, *self._caps_by_cgroup()]

    def _caps_by_cgroup(self) -> list[Capability]:
        name = "memory and process caps"
        if self._cgroups is None:
            where = "on the machine itself" if in_container() else "as root" if os.geteuid() else ""
            remedy = where and f"run it {where} for cgroups"
            return [Capability(name, True, f"rlimits only: {self._no_cgroup_reason}", remedy)]
        return [Capability(name, True, f"cgroup v{self._cgroups.version}"), _headroom(self._cgroups)]

    async def caps(self) -> Sequence[CapRow]:
        return local_caps(self._cgroups, self._no_cgroup_reason)

    def costs(self) -> Mapping[str, int]:
        return {}


def _headroom(cgroups: Cgroups) -> Capability:
    """Whether sandboxes can reach their own caps before the machine, a container or a slice is short."""
    memory, processes = cgroups.headroom()
    caps = Limits()
    fits = min(memory // (caps.memory_bytes + GUEST_BYTES), processes // (caps.processes + GUEST_PROCESSES))
    left = f"{memory >> 20} MiB and {processes} processes are left above the sandboxes"
    found = f"{left}: enough for {fits} at their caps"
    remedy = "" if fits else "raise the caps of the groups above, or lower the limits"
    return Capability("headroom", fits >= 1, found, remedy)


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
