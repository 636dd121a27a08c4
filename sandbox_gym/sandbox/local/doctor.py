"""What works of local sandboxes on this machine, and who enforces their caps."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import anyio

from sandbox_gym.errors import ProviderDown
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import Capability
from sandbox_gym.sandbox.caps import CapRow
from sandbox_gym.sandbox.local.caps import local_caps
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
