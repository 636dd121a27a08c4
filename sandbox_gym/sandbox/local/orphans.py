"""Orphans of local sandboxes: cgroups of dead owners with all that is in them, and jails outside any cgroup.

A jail dies with its owner by PR_SET_PDEATHSIG; what is found here is what the kernel could not end then, such as
frozen processes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from sandbox_gym.sandbox.cleanup.owner import EXPIRY_GRACE_S, Owner, Owners, is_near, owner_of, parse_owner
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.local.cgroups import Cgroups, Group
from sandbox_gym.sandbox.local.files import STORED_UID
from sandbox_gym.sandbox.local.jail import OWNER_VARIABLE
from sandbox_gym.sandbox.users import Users

KILL_S = 5.0
_ENVIRONMENT_MAX = 1 << 16
_FOREIGN_KEEP_S = 24 * 3600 + EXPIRY_GRACE_S
"""An empty group of an owner that can't be asked, from another PID namespace, is kept for so long."""


class LocalOrphans:
    """The local provider's OrphanSource."""

    def __init__(self, owners: Owners, cgroups: Cgroups | None, users: Users) -> None:
        self._owners = owners
        self._users = users
        self._cgroups = cgroups

    async def orphans(self) -> Sequence[Orphan]:
        return await anyio.to_thread.run_sync(self._find, abandon_on_cancel=True)

    async def remove(self, orphan: Orphan) -> None:
        owner = parse_owner(orphan.owner)
        if owner is None:
            raise PermissionError(f"{orphan.owner!r} is no owner")
        if orphan.kind == "cgroup":
            await self._remove_group(orphan.name, owner)
        elif orphan.kind == "process":
            self._kill(orphan.name, owner)
        else:
            raise ValueError(f"local boxes leave no {orphan.kind}")

    def _find(self) -> list[Orphan]:
        found = self._processes()
        for name in self._cgroups.names() if self._cgroups else ():
            owner = owner_of(name)
            why = self._why_group(name, owner) if owner else ""
            if owner and why:
                found.append(Orphan("cgroup", name, str(owner), why))
        return found

    def _why_group(self, name: str, owner: Owner) -> str:
        """As `Owners.why_dead`; an empty group of an owner elsewhere expires."""
        why = self._owners.why_dead(owner)
        if why or is_near(owner) or self._cgroups is None:
            return why
        group = self._cgroups.existing(name)
        return self._owners.why_dead(owner, None if group.pids() else _expiry(group))

    async def _remove_group(self, name: str, owner: Owner) -> None:
        if self._cgroups is None or owner_of(name) != owner or not self._why_group(name, owner):
            raise PermissionError(f"{name!r} is no group of a dead owner")
        group = self._cgroups.existing(name)
        deadline = time.monotonic() + KILL_S
        while group.pids():
            group.kill()
            if time.monotonic() > deadline:
                raise OSError(errno.EBUSY, f"{len(group.pids())} processes of {name} outlive SIGKILL")
            await anyio.sleep(0.01)
        group.remove()
        left = self._cgroups.existing(name).folders
        if left:
            raise OSError(errno.EBUSY, f"cgroup {name} is still there in {', '.join(sorted(left))}")

    def _processes(self) -> list[Orphan]:
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            owner = self._marked_owner(int(name))
            why = self._owners.why_dead(owner) if owner else ""
            if owner and why:
                found.append(Orphan("process", name, str(owner), why))
        return found

    def _kill(self, name: str, owner: Owner) -> None:
        """Held by a descriptor while it is looked at again, so that no other process is killed by a recycled PID."""
        try:
            pidfd = os.pidfd_open(int(name))
        except ProcessLookupError:
            return
        try:
            if self._marked_owner(int(name)) == owner and self._owners.why_dead(owner):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        finally:
            os.close(pidfd)

    def _marked_owner(self, pid: int) -> Owner | None:
        """The owner in the environment of a jail of ours. As root only processes of boxes' users are looked at, else
        only our own user's: another user's mark could only have that user's own processes killed."""
        folder = Path(f"/proc/{pid}")
        mine = os.geteuid()
        try:
            uid = folder.stat().st_uid
            if not (self._users.holds(uid) or uid == STORED_UID if mine == 0 else uid == mine):
                return None
            with open(folder / "environ", "rb") as file:
                environment = file.read(_ENVIRONMENT_MAX)
        except OSError:
            return None  # gone, or not ours to look at
        prefix = OWNER_VARIABLE.encode() + b"="
        for entry in environment.split(b"\0"):
            if entry.startswith(prefix):
                return parse_owner(entry[len(prefix) :].decode("ascii", "replace"))
        return None


def _expiry(group: Group) -> float:
    try:
        times = [folder.stat().st_mtime for folder in group.folders.values()]
    except FileNotFoundError:  # removed meanwhile
        return float("inf")
    return max(times, default=float("inf")) + _FOREIGN_KEEP_S
