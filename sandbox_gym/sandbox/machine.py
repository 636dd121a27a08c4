"""What a provider supplies for each sandbox, beside the channel to the programs in it. Contract only."""

from __future__ import annotations

from typing import Protocol

from sandbox_gym.contract import Isolation
from sandbox_gym.errors import LossEvidence
from sandbox_gym.limits import Limits


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
