"""A container as a sandbox's machine: when it may be reused, what is known of its end, and its removal."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from sandbox_gym.contract import Isolation
from sandbox_gym.errors import BoxLost, LossEvidence, ProviderDown
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.strain import Strain
from sandbox_gym.sandbox.containers.container import ContainerOptions, Sizes, sizes
from sandbox_gym.sandbox.users import User

T = TypeVar("T")


class Removals(Generic[T]):
    """Removes containers; what can't be removed now is removed later."""

    def __init__(self, remove: Callable[[T], Awaitable[None]]) -> None:
        """`remove`: kills a container and removes it with its volumes; one that is gone already is fine."""
        self._remove = remove
        self._unremoved: list[T] = []

    async def remove(self, container: T) -> None:
        """Never raises an Exception; `retry` does what failed."""
        try:
            await self._remove(container)
        except Exception:  # the engine, or no thread here to ask it with
            self._unremoved.append(container)

    async def retry(self) -> None:
        """The engine answers: remove what could not be removed before."""
        unremoved, self._unremoved = self._unremoved, []
        for container in unremoved:
            await self.remove(container)


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """What a container was made with. `guest_volume`: its guest's interpreter is not the image's."""

    name: str
    user: User
    options: ContainerOptions
    guest_volume: bool = False


class ContainerMachine(ABC):
    """See `machine.Machine`. An engine's own one says how it is asked about a container."""

    def __init__(self, channel: GuestChannel, facts: ContainerFacts) -> None:
        self.box_id, self.user, self.guest_volume = facts.name, facts.user, facts.guest_volume
        self.isolation: Isolation = facts.options.isolation
        self.channel = channel
        self.channel.strain = self.strain
        self.further: list[GuestChannel] = []
        """Of guests beside the first."""
        self._earlier_oom = False
        self._caps = (facts.options.memory_bytes, Limits().cpus)
        self._expires_at = time.monotonic() + facts.options.lifetime_s

    @abstractmethod
    async def resize(self, sizes: Sizes) -> None:
        """Raises ProviderDown."""

    @abstractmethod
    async def state(self) -> Mapping[str, object]:
        """`State` of what an OCI engine's `inspect` gives: Status, ExitCode, OOMKilled. Raises ProviderDown."""

    @abstractmethod
    async def remove(self) -> None:
        """Now, or later. Never raises."""

    async def oom_kills(self, state: Mapping[str, object]) -> int:
        """How many of its processes the kernel has killed for memory, as far as the engine knows."""
        return int(state.get("OOMKilled") is True)

    @abstractmethod
    async def strain(self) -> Strain:
        """See `Strain`; zeros where the engine does not say. Never raises."""

    async def pid(self) -> int:
        """Its first process, as the engine's machine numbers it. Raises ProviderDown."""
        pid = (await self.state()).get("Pid")
        if not isinstance(pid, int) or pid <= 0:
            raise ProviderDown(f"container {self.box_id} does not run")
        return pid

    @property
    def expired(self) -> bool:
        """Whether its lifetime is over: soon its label lets other hosts' reapers take it for an orphan."""
        return time.monotonic() > self._expires_at

    @property
    def session_uid(self) -> int:
        """The user of its guest's first run, which a session is, and a run on a session's files."""
        return self.user.uid + 1

    async def set_limits(self, limits: Limits) -> None:
        """The container's memory and CPUs. Raises BoxLost."""
        caps = (limits.memory_bytes, limits.cpus)
        if caps == self._caps:
            return
        try:
            await self.resize(sizes(*caps))
        except ProviderDown as error:
            raise BoxLost(f"container {self.box_id}: it can't be capped ({str(error)[:300]})") from error
        self._caps = caps

    def begin_task(self) -> bool:
        """A container in which the kernel killed a process for memory is not reused: the engine's OOMKilled flag stays
        up and does not say when it was raised, so a later task's kill could not be told apart."""
        self._earlier_oom = self._earlier_oom or self.channel.memory_limits > 0
        return not self.channel.reported_ooms

    async def evidence(self) -> LossEvidence:
        """What the engine recorded of its end; nothing when it is gone or the engine is down."""
        try:
            found = await self.state()
        except ProviderDown as error:
            return LossEvidence(detail=f"the engine does not know it: {str(error)[:200]}")
        detail = f"{found.get('Status')}, exit code {found.get('ExitCode')}"
        # nothing says when, and an earlier task may have been the cause
        return LossEvidence(oom_kills=0 if self._earlier_oom else await self.oom_kills(found), detail=detail)

    async def destroy(self) -> None:
        for channel in (*self.further, self.channel):
            await channel.aclose()
        await self.remove()
        self.user.close()
