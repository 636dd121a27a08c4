"""What is asked of a way to a sandbox's programs. Contract only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from sandbox_gym.contract import Dialogue, DialogueOutcome, Outcome, Run
from sandbox_gym.sandbox.channel.attached_run import AttachedRun


class Channel(Protocol):
    """The way to the programs of one sandbox. Every method raises BoxLost when the sandbox is gone."""

    def run_all(self, runs: Sequence[Run]) -> AbstractAsyncContextManager[AsyncIterator[Outcome]]:
        """See `Sandbox.run_all`."""
        ...

    async def converse(self, dialogue: Dialogue, candidate: Channel) -> DialogueOutcome:
        """See `Sandbox.converse`; `candidate` is the other sandbox's."""
        ...

    async def attach(self, run: Run) -> AttachedRun:
        """See `Sandbox.attach`."""
        ...

    async def reset(self) -> bool:
        """The guest's own proof that nothing of earlier runs is left."""
        ...
