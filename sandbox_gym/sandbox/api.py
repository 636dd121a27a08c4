"""What the engine asks of sandboxes. Contracts only; knows neither verifiers nor providers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sandbox_gym.contract import Dialogue, DialogueOutcome, Isolation, Outcome, Run
from sandbox_gym.errors import LossEvidence


class Box(Protocol):
    """One live sandbox. It runs one program at a time; every method raises BoxLost when the sandbox is gone."""

    box_id: str
    isolation: Isolation

    def run_all(self, runs: Sequence[Run]) -> AbstractAsyncContextManager[AsyncIterator[Outcome]]:
        """Run in order and yield each outcome as it comes; leaving the context early skips what has not started.

        Program files are sent once for all runs that share them.
        """
        ...

    async def reset(self) -> bool:
        """Prove that nothing of earlier runs is left; False means the box must not be handed to another task."""
        ...

    async def evidence(self) -> LossEvidence:
        """Of a box that was lost: what the kernel or the provider knows of it since its last `reset`, so that no task
        answers for an earlier one. Ask before `aclose`."""
        ...

    async def aclose(self) -> None:
        """Destroy the sandbox and everything in it. Idempotent."""
        ...


@runtime_checkable
class SupportsDialogue(Protocol):
    """A box that can join its program's fd 3 with that of a program in another box."""

    async def converse(self, dialogue: Dialogue, candidate_box: Box) -> DialogueOutcome: ...


@runtime_checkable
class SupportsWear(Protocol):
    """A box with a lifetime: once `worn` it is replaced before another task gets it."""

    @property
    def worn(self) -> bool: ...


@runtime_checkable
class SupportsCheck(Protocol):
    """A provider that is somebody else's. `check` raises ConfigurationError for what no retry mends, such as a wrong
    key, and ProviderDown for what may pass."""

    async def check(self) -> None: ...


@runtime_checkable
class SupportsCosts(Protocol):
    """A provider that is paid for: what it made and how long that ran, in whole units, by name."""

    def costs(self) -> Mapping[str, int]: ...


@dataclass(frozen=True, slots=True)
class Capability:
    """One line of `doctor`: what was probed, whether it works here, and what to do when it doesn't."""

    name: str
    works: bool
    detail: str
    remedy: str = ""


class Provider(Protocol):
    """Makes boxes. `open` raises ConfigurationError when the machine can't; `start` raises ProviderDown."""

    name: str

    async def start(self, image: str) -> Box: ...

    async def doctor(self) -> Sequence[Capability]: ...

    async def aclose(self) -> None: ...
