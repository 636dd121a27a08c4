"""A local sandbox's machine: a jail on this machine, its guest's channel, its control group and its user."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import Process

from sandbox_gym.contract import Isolation
from sandbox_gym.errors import BoxLost, LossEvidence, ProviderDown
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.strain import Strain
from sandbox_gym.sandbox.local.cgroups import Group
from sandbox_gym.sandbox.processes import kill_session
from sandbox_gym.sandbox.users import User

GUEST_BYTES = 48 * MIB
"""What the supervisor and its zygote may use beside the program."""
GUEST_PROCESSES = 8
FREEZE_S = 5.0
"""For all of a box to stand still."""


class LocalMachine:
    """See `machine.Machine`."""

    isolation: Isolation = "namespace"

    def __init__(self, box_id: str, process: Process, channel: GuestChannel, group: Group | None, user: User) -> None:
        self.box_id = box_id
        self.channel = channel
        self.channel.strain = self._strain
        self._process = process
        self._pidfd = _open_pidfd(process.pid)
        self._earlier = (0, 0)
        self.group = group
        self.user = user
        self._caps = (0, 0, 0.0)
        self.on_destroyed: Callable[[], Awaitable[None]] | None = None
        """What goes once nothing runs in the jail any more: a session's folder."""

    @property
    def pid(self) -> int:
        """The jail's outermost process on this machine."""
        return self._process.pid

    def pids(self) -> set[int]:
        """Every process of the box on this machine; none where it has no group."""
        return self.group.pids() if self.group is not None else set()

    async def set_limits(self, limits: Limits) -> None:
        caps = (limits.memory_bytes, limits.processes, limits.cpus)
        if self.group is None or caps == self._caps:
            return
        self._caps = caps
        try:
            self.group.forget_peak()
            self.group.limit(limits.memory_bytes + GUEST_BYTES, limits.processes + GUEST_PROCESSES, limits.cpus)
        except OSError as error:
            raise BoxLost(f"{self.box_id}: its cgroup can't be set ({error})") from error

    @property
    def expired(self) -> bool:
        """Never: a jail lives as long as it is used."""
        return False

    def begin_task(self) -> bool:
        if self.group is not None:
            self.group.forget_peak()
        self._earlier = self._counters()
        return True

    async def evidence(self) -> LossEvidence:
        if self.group is None:
            return LossEvidence(detail="no cgroup")
        kills, full = (now - then for now, then in zip(self._counters(), self._earlier, strict=True))
        if kills and not full:
            return LossEvidence(0, f"{kills} processes killed for memory that was short above the sandbox")
        return LossEvidence(kills)

    def _counters(self) -> tuple[int, int]:
        """What the box's group has counted since it was made: OOM kills, times at its memory cap."""
        return (self.group.oom_kills(), self.group.times_full()) if self.group is not None else (0, 0)

    async def _strain(self) -> Strain:
        return self.group.strain() if self.group is not None else Strain()

    @property
    def counters_at(self) -> str:
        """Where the jail's supervisor sees the group's counters."""
        return "/cgroup/own" if self.group is not None and self.group.version == 2 else "/cgroup"

    @property
    def grouped(self) -> bool:
        """Whether a cgroup caps it."""
        return self.group is not None

    async def freeze(self) -> bool:
        """See `sandbox.Standstill`."""
        if self.group is None:
            return False
        try:
            asked = self.group.freeze()
        except OSError as error:
            raise ProviderDown(f"{self.box_id}: its cgroup can't be frozen ({error})") from error
        deadline = time.monotonic() + FREEZE_S
        while asked and time.monotonic() < deadline:
            if self.group.frozen():
                return True
            await anyio.sleep(0.002)
        self.group.thaw()
        return False

    async def thaw(self) -> None:
        """See `sandbox.Standstill`."""
        if self.group is not None:
            self.group.thaw()

    async def last_words(self) -> str:
        """What the jail said on stderr before it failed, bounded."""
        if self._process.stderr is None:
            return ""
        with anyio.move_on_after(1), contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            return (await self._process.stderr.receive(2000)).decode("utf-8", "replace").strip()
        return ""

    async def destroy(self) -> None:
        try:
            await self._end_processes()
        finally:
            self.user.close()
        after, self.on_destroyed = self.on_destroyed, None
        if after is not None:
            await after()

    async def _end_processes(self) -> None:
        await self.channel.aclose()
        if self.group is not None:
            with contextlib.suppress(OSError):  # it needs a descriptor, and SIGKILL reaches all but the frozen
                self.group.thaw()
        self._kill()
        with anyio.move_on_after(10):
            await self._process.wait()
            await self._process.aclose()
        if self.group is not None:
            await remove_group(self.group)

    def _kill(self) -> None:
        """With bubblewrap's child, which dies with it only some time after its start. Not by Process.send_signal, which
        reaps a dead child under asyncio's feet."""
        pidfd, self._pidfd = self._pidfd, None
        if pidfd is not None:
            ended = select.poll()
            ended.register(pidfd, select.POLLIN)
            if not ended.poll(0):
                kill_session(self._process)
            os.close(pidfd)


def _open_pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:  # it ended at once, and asyncio has reaped it
        return None


async def remove_group(group: Group) -> None:
    """A killed jail's last processes leave the group a moment after their parent. What does not is killed: the child of
    a bubblewrap that was killed, by whomever, before it asked to die with its parent."""
    for again in range(200):
        if not group.pids():
            break
        if again:
            with contextlib.suppress(OSError):  # of descriptors there may be none
                group.kill()
        await anyio.sleep(0.01)
    group.remove()
