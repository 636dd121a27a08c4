"""A container as a sandbox's machine, and all that is asked of Podman about one container."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from sandbox_gym.contract import Isolation
from sandbox_gym.errors import BoxLost, LossEvidence, ProviderDown
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.podman.command import Podman
from sandbox_gym.sandbox.users import User

GUEST_BYTES: Final = 64 * MIB
CPU_PERIOD_US: Final = 100_000
CGROUPS: Final = Path("/sys/fs/cgroup")


def size_options(memory_bytes: int, cpus: float) -> tuple[str, ...]:
    """For `podman run` and `podman update`. Memory and swap together are capped at what memory is."""
    total, quota = memory_bytes + GUEST_BYTES, max(1000, round(cpus * CPU_PERIOD_US))
    return (
        f"--memory={total}b",
        f"--memory-swap={total}b",
        f"--cpu-period={CPU_PERIOD_US}",
        f"--cpu-quota={quota}",
    )


class Removals:
    """Removes containers; what can't be removed now is removed later."""

    def __init__(self, podman: Podman) -> None:
        self._podman = podman
        self._unremoved: list[str] = []

    async def remove(self, name: str) -> None:
        """Kill and remove, with its volumes; a container that is gone already is fine."""
        try:
            await self._podman.call("rm", "--force", "--volumes", "--ignore", "--time=0", name)
        except ProviderDown:
            self._unremoved.append(name)

    async def retry(self) -> None:
        """Remove what could not be removed before."""
        unremoved, self._unremoved = self._unremoved, []
        for name in unremoved:
            await self.remove(name)


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """What a container was made with."""

    name: str
    isolation: Isolation
    user: User
    memory_bytes: int
    expires_at: float
    """Of the monotonic clock."""


class PodmanMachine:
    """See `machine.Machine`."""

    def __init__(self, podman: Podman, removals: Removals, channel: GuestChannel, facts: ContainerFacts) -> None:
        self.box_id = self.name = facts.name
        self.isolation: Isolation = facts.isolation
        self.channel, self.user = channel, facts.user
        self._podman, self._removals = podman, removals
        self._earlier_oom = False
        self._caps = (facts.memory_bytes, Limits().cpus)
        self._expires_at = facts.expires_at

    @property
    def expired(self) -> bool:
        """Whether its lifetime is over: soon its label lets other reapers take it for an orphan."""
        return time.monotonic() > self._expires_at

    async def set_limits(self, limits: Limits) -> None:
        """The container's memory and CPUs."""
        caps = (limits.memory_bytes, limits.cpus)
        if caps == self._caps:
            return
        try:
            await self._podman.call("update", *size_options(*caps), self.name)
        except ProviderDown as error:
            raise BoxLost(f"container {self.name}: it can't be capped ({error})") from error
        self._caps = caps

    def begin_task(self) -> bool:
        """A container in which the kernel killed a process for memory is not reused: Podman's OOMKilled flag does not
        say when it was raised, so a later task's kill could not be told apart."""
        self._earlier_oom = self._earlier_oom or self.channel.memory_limits > 0
        return not self.channel.reported_ooms

    async def evidence(self) -> LossEvidence:
        """What its cgroup counts while it runs and Podman recorded of its end; nothing when it is gone."""
        try:
            found = json.loads(await self._podman.call("inspect", "--format={{json .State}}", self.name))
        except (ProviderDown, ValueError) as error:
            return LossEvidence(detail=f"Podman does not know it: {str(error)[:200]}")
        kills = int(found.get("OOMKilled") is True)
        if found.get("Running") is True:
            kills = await anyio.to_thread.run_sync(oom_kills, str(found.get("CgroupPath")))
        detail = f"{found.get('Status')}, exit code {found.get('ExitCode')}"
        # neither says when, and an earlier task may have been the cause
        return LossEvidence(oom_kills=0 if self._earlier_oom else kills, detail=detail)

    async def pid(self) -> int:
        """Its first process, as this machine numbers it. Raises ProviderDown."""
        return int(await self._podman.call("inspect", "--format={{.State.Pid}}", self.name))

    async def destroy(self) -> None:
        await self.channel.aclose()
        await self._removals.remove(self.name)
        self.user.close()


def oom_kills(group: str, root: Path = CGROUPS) -> int:
    """Processes of a cgroup that the kernel killed for memory; 0 where it can't be read. Blocking."""
    for file in (
        root / "memory" / group.lstrip("/") / "memory.oom_control",
        root / group.lstrip("/") / "memory.events",
    ):
        try:
            lines = file.read_text().split("\n")
        except OSError:
            continue
        return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return 0
