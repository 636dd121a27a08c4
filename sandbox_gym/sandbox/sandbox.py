"""A sandbox, whatever made it: programs run in it, and it is proven clean before another task gets it.

Owns the order of limits, runs and proof; knows nothing of how machines are made or reached.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

import anyio
import structlog

from sandbox_gym.contract import Dialogue, DialogueOutcome, Isolation, Outcome, Run
from sandbox_gym.errors import BoxLost, LossEvidence
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.channel.contract import AttachedRun, Channel
from sandbox_gym.sandbox.channel.driver import DriverLink
from sandbox_gym.sandbox.egress.proxy import EgressProxy
from sandbox_gym.sandbox.snapshots import SavedState, Saving, Snapshot


class Machine(Protocol):
    """One live sandbox as its provider made it: what can't be done through its channel."""

    box_id: str
    isolation: Isolation

    async def set_limits(self, limits: Limits) -> None:
        """Set what is capped from outside: memory, processes and CPUs of the whole sandbox. Called before runs; no-op
        where they are set so already. Raises BoxLost: a sandbox without its caps is not to be used."""
        ...

    def begin_task(self) -> bool:
        """After the guest's proof, before another task: what the counters say from now on is of the next one. False
        where that could not be told apart."""
        ...

    async def evidence(self) -> LossEvidence:
        """What the kernel or the provider knows of a lost sandbox since the last `begin_task`."""
        ...

    @property
    def expired(self) -> bool:
        """Whether it has to be replaced before it is used for something else: it is too old, or was told to end."""
        ...

    async def destroy(self) -> None:
        """End it and all that is in it. Idempotent; called shielded from cancellation."""
        ...


DESTROY_S: Final = 120.0
_log = structlog.get_logger(__name__)


class Standstill(Protocol):
    """Stops all that runs in a sandbox where it is, and lets it go on."""

    async def freeze(self) -> bool:
        """Whether nothing runs any more. Raises ProviderDown."""
        ...

    async def thaw(self) -> None:
        """Raises ProviderDown."""
        ...


@dataclass(frozen=True, slots=True)
class SessionParts:
    """What a sandbox has beside its machine where it holds a session."""

    link: DriverLink
    """What its driver is started and spoken to by."""
    save: Callable[[Saving], Awaitable[Snapshot]]
    """Keep its files as they are now. Raises SnapshotFailed, BoxLost, OSError."""
    begins_from: SavedState | None = None
    measures_files: bool = True
    """Whether `save` can tell how much the files take; else the driver has to."""
    root_link: Callable[[], Awaitable[DriverLink]] | None = None
    """What a driver of the sandbox's root is started and spoken to by, where the provider has one. Raises ProviderDown,
    BoxLost."""
    standstill: Standstill | None = None
    """Where the provider can freeze it."""


class Sandbox:
    """One live sandbox. It runs one program at a time; every method raises BoxLost when it is gone."""

    def __init__(
        self,
        machine: Machine,
        channel: Channel | None,
        *,
        session: SessionParts | None = None,
        egress: EgressProxy | None = None,
        reusable: bool = True,
    ) -> None:
        """`channel`: None where no supervisor is inside that runs programs. `egress`: its only way to the network.
        `reusable`: whether another task may have it once it is proven clean."""
        self.machine, self.session, self.egress = machine, session, egress
        self._channel, self._reusable = channel, reusable
        self.box_id = machine.box_id
        self.isolation: Isolation = machine.isolation

    @property
    def expired(self) -> bool:
        """Whether it has to be replaced before another task gets it."""
        return self.machine.expired

    @asynccontextmanager
    async def run_all(self, runs: Sequence[Run]) -> AsyncIterator[AsyncIterator[Outcome]]:
        """Run in order and yield each outcome as it comes; leaving the context early skips what has not started.

        Program files are sent once for all runs that share them.
        """
        await self._limit(runs)
        async with self._programs().run_all(runs) as outcomes:
            yield outcomes

    async def converse(self, dialogue: Dialogue, candidate: Sandbox) -> DialogueOutcome:
        """Join the asker's program here with the candidate's program there."""
        await self._limit([dialogue.asker])
        await candidate._limit([dialogue.candidate])
        return await self._programs().converse(dialogue, candidate._programs())

    async def attach(self, run: Run) -> AttachedRun:
        """A long run that this process talks to, capped and started."""
        await self._limit([run])
        return await self._programs().attach(run)

    async def reset(self) -> bool:
        """Prove that nothing of earlier runs is left; False means the sandbox must not be handed to another task."""
        clean = self._reusable and not self.expired and await self._programs().reset()
        return self.machine.begin_task() and clean

    async def evidence(self) -> LossEvidence:
        """Of a sandbox that was lost: what is known of it since its last `reset`, so that no task answers for an
        earlier one. Ask before `aclose`."""
        return await self.machine.evidence()

    async def aclose(self) -> None:
        """Destroy the sandbox and everything in it. Idempotent. What takes longer than DESTROY_S is left to the
        reaper."""
        with anyio.move_on_after(DESTROY_S, shield=True) as scope:
            try:
                if self.egress is not None:
                    await self.egress.aclose()
            finally:
                await self.machine.destroy()
        if scope.cancelled_caught:
            _log.warning("sandbox_not_destroyed", box=self.box_id, why=f"not within {DESTROY_S:g} s")

    def _programs(self) -> Channel:
        if self._channel is None:
            raise BoxLost(f"{self.box_id} holds a session and runs no programs of plans")
        return self._channel

    async def _limit(self, runs: Sequence[Run]) -> None:
        """The largest of the runs' limits; runs of one task share theirs."""
        if runs:
            await self.machine.set_limits(_largest([run.limits for run in runs]))


def _largest(limits: Sequence[Limits]) -> Limits:
    first = limits[0]
    if all(one is first for one in limits):
        return first
    return replace(
        first,
        memory_bytes=max(one.memory_bytes for one in limits),
        processes=max(one.processes for one in limits),
        cpus=max(one.cpus for one in limits),
    )
