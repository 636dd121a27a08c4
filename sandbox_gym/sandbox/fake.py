"""The fake provider: boxes in this process whose programs are described, not run. For tests, ours and users'.

A `Behaviour` says what a program would do; the box applies the limits to it as a real one would.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.lowlevel

from sandbox_gym.contract import Dialogue, DialogueOutcome, Isolation, Outcome, Run, Status
from sandbox_gym.errors import BoxLost, LossEvidence, ProviderDown
from sandbox_gym.sandbox.api import Box, Capability

CPU_GRACE = 1.2
"""As a guest has it: a program is killed at so much of its CPU time limit, and over it from the limit on."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a program does when nothing stops it."""

    stdout: bytes = b""
    stderr: bytes = b""
    channel: bytes = b""
    exit_code: int = 0
    signal: int | None = None
    cpu_time_s: float = 0.001
    wall_time_s: float = 0.001
    starved_s: float | None = 0.0
    """None: the box can't tell."""
    peak_memory_bytes: int = 8 << 20
    lose_box: bool = False
    """The box dies while the program runs."""
    oom_kills: int = 0
    """What the kernel is said to know of a box that died."""


def silent(run: Run) -> Behaviour:
    """Every program ends well and says nothing."""
    return Behaviour()


class FakeBox:
    """A box that asks `behave` what each run does. Time passes in the outcome only."""

    isolation: Isolation = "none"
    _numbers = itertools.count()

    def __init__(self, behave: Callable[[Run], Behaviour]) -> None:
        self.box_id = f"fake-{next(self._numbers)}"
        self._behave = behave
        self._closed = False
        self._evidence = LossEvidence()

    @asynccontextmanager
    async def run_all(self, runs: Sequence[Run]) -> AsyncIterator[AsyncIterator[Outcome]]:
        async def results() -> AsyncIterator[Outcome]:
            for run in runs:
                await anyio.lowlevel.checkpoint()
                yield self._outcome(run)

        iterator = results()
        try:
            yield iterator
        finally:
            await iterator.aclose()  # type: ignore[attr-defined]

    async def converse(self, dialogue: Dialogue, candidate_box: Box) -> DialogueOutcome:
        if not isinstance(candidate_box, FakeBox):
            raise BoxLost(f"{candidate_box.box_id} is no fake box")
        await anyio.lowlevel.checkpoint()
        return DialogueOutcome(self._outcome(dialogue.asker), candidate_box._outcome(dialogue.candidate))

    def _outcome(self, run: Run) -> Outcome:
        if self._closed:
            raise BoxLost(f"{self.box_id} is closed")
        behaviour = self._behave(run)
        if behaviour.lose_box:
            self._closed = True
            self._evidence = LossEvidence(oom_kills=behaviour.oom_kills)
            raise BoxLost(f"{self.box_id} was lost, as its behaviour says")
        status = self._status(run, behaviour)
        late = status is Status.CPU_TIME_LIMIT and behaviour.cpu_time_s <= CPU_GRACE * run.limits.cpu_time_s
        ended = late or status in (Status.OK, Status.RUNTIME_ERROR)
        limits = run.limits
        return Outcome(
            status=status,
            exit_code=behaviour.exit_code if ended and behaviour.signal is None else None,
            signal=behaviour.signal if ended else 9,
            stdout=behaviour.stdout[: limits.stdout_bytes],
            stderr=behaviour.stderr[: limits.stderr_bytes],
            channel=behaviour.channel,
            cpu_time_s=min(behaviour.cpu_time_s, CPU_GRACE * limits.cpu_time_s),
            wall_time_s=min(behaviour.wall_time_s, limits.wall_time_s),
            starved_s=behaviour.starved_s,
            peak_memory_bytes=min(behaviour.peak_memory_bytes, limits.memory_bytes),
        )

    @staticmethod
    def _status(run: Run, behaviour: Behaviour) -> Status:
        limits = run.limits
        if behaviour.peak_memory_bytes > limits.memory_bytes:
            return Status.MEMORY_LIMIT
        if len(behaviour.stdout) > limits.stdout_bytes or len(behaviour.stderr) > limits.stderr_bytes:
            return Status.OUTPUT_LIMIT
        if behaviour.cpu_time_s > limits.cpu_time_s:
            return Status.CPU_TIME_LIMIT
        if behaviour.wall_time_s > limits.wall_time_s:
            return Status.WALL_TIME_LIMIT
        return Status.OK if behaviour.exit_code == 0 and behaviour.signal is None else Status.RUNTIME_ERROR

    async def reset(self) -> bool:
        return not self._closed

    async def evidence(self) -> LossEvidence:
        return self._evidence

    async def aclose(self) -> None:
        self._closed = True


class FakeProvider:
    """Makes fake boxes. `down` refuses every start, as a provider whose daemon is gone."""

    name = "fake"

    def __init__(self, behave: Callable[[Run], Behaviour] = silent, *, down: bool = False) -> None:
        self._behave = behave
        self.down = down

    async def start(self, image: str) -> FakeBox:
        if self.down:
            raise ProviderDown("the fake provider is down, as it was told")
        return FakeBox(self._behave)

    async def doctor(self) -> list[Capability]:
        return [Capability("behaviours", not self.down, "programs are described, not run")]

    async def aclose(self) -> None:
        """Nothing is held."""
