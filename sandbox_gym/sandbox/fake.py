"""The fake provider: sandboxes in this process whose programs are described, not run. For tests, ours and users'.

A `Behaviour` says what a program would do; the sandbox applies the limits to it as a real one would.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio
import anyio.lowlevel

from sandbox_gym.config import Settings
from sandbox_gym.contract import Dialogue, DialogueOutcome, Isolation, Outcome, Run, SnapshotRef, Status
from sandbox_gym.errors import BoxLost, LossEvidence, ProviderDown
from sandbox_gym.guest.runs.streams import STDERR_TIMES
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import Capabilities, Capability, Doctor, SandboxSpec, SessionFolder, SnapshotStore
from sandbox_gym.sandbox.caps import CapRow
from sandbox_gym.sandbox.channel.contract import AttachedRun, Channel
from sandbox_gym.sandbox.cleanup.reaper import OrphanSource
from sandbox_gym.sandbox.sandbox import Sandbox

CAPABILITIES: Final = Capabilities(runs_programs=False, computers=False)
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
    crowded: bool = False
    """Whether it is said to have died of its own processes."""


def silent(run: Run) -> Behaviour:
    """Every program ends well and says nothing."""
    return Behaviour()


def capabilities(settings: Settings) -> Capabilities:
    return CAPABILITIES


def from_settings(settings: Settings, sessions: SessionFolder | None = None) -> FakeProvider:
    return FakeProvider()


class FakeMachine:
    """A machine, and the channel to its programs, that asks `behave` what each run does. Time passes in the outcome
    only."""

    isolation: Isolation = "none"
    _numbers = itertools.count()

    def __init__(self, behave: Callable[[Run], Behaviour]) -> None:
        self.box_id = f"fake-{next(self._numbers)}"
        self.expired = False
        self._behave = behave
        self._destroyed = False
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

    async def converse(self, dialogue: Dialogue, candidate: Channel) -> DialogueOutcome:
        if not isinstance(candidate, FakeMachine):
            raise BoxLost(f"{self.box_id} can't be joined with a sandbox that is not fake")
        await anyio.lowlevel.checkpoint()
        return DialogueOutcome(self._outcome(dialogue.asker), candidate._outcome(dialogue.candidate))

    async def attach(self, run: Run) -> AttachedRun:
        raise ProviderDown("provider fake holds no services; use local, docker or e2b")

    def _outcome(self, run: Run) -> Outcome:
        if self._destroyed:
            raise BoxLost(f"{self.box_id} is closed")
        behaviour = self._behave(run)
        if behaviour.lose_box:
            self._destroyed = True
            self._evidence = LossEvidence(oom_kills=behaviour.oom_kills, crowded=behaviour.crowded)
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
        if len(behaviour.stdout) > limits.stdout_bytes or len(behaviour.stderr) > STDERR_TIMES * limits.stderr_bytes:
            return Status.OUTPUT_LIMIT
        if behaviour.cpu_time_s > limits.cpu_time_s:
            return Status.CPU_TIME_LIMIT
        if behaviour.wall_time_s > limits.wall_time_s:
            return Status.WALL_TIME_LIMIT
        return Status.OK if behaviour.exit_code == 0 and behaviour.signal is None else Status.RUNTIME_ERROR

    async def reset(self) -> bool:
        return not self._destroyed

    async def set_limits(self, limits: Limits) -> None:
        """Each outcome is held against its own run's limits."""

    def begin_task(self) -> bool:
        return True

    async def evidence(self) -> LossEvidence:
        return self._evidence

    async def destroy(self) -> None:
        self._destroyed = True


class FakeDoctor:
    """See `api.Doctor`."""

    def __init__(self, provider: FakeProvider) -> None:
        self._provider = provider

    async def check(self) -> None:
        """Nothing can be wrong for good."""

    async def probe(self) -> Sequence[Capability]:
        return [Capability("behaviours", not self._provider.down, "programs are described, not run")]

    async def caps(self) -> Sequence[CapRow]:
        """None: there is nothing to cap."""
        return ()

    def costs(self) -> Mapping[str, int]:
        return {}


class FakeProvider:
    """See `api.Provider`. `down` refuses every sandbox, as a provider whose daemon is gone."""

    name = "fake"
    capabilities = CAPABILITIES

    def __init__(self, behave: Callable[[Run], Behaviour] = silent, *, down: bool = False) -> None:
        self._behave = behave
        self.down = down
        self.doctor: Doctor = FakeDoctor(self)
        self.orphan_sources: Mapping[str, OrphanSource] = {}

    @property
    def snapshots(self) -> SnapshotStore | None:
        return None

    async def create(self, spec: SandboxSpec) -> Sandbox:
        if self.down:
            raise ProviderDown("the fake provider is down, as its `down` says")
        if spec.role != "run" or isinstance(spec.source, SnapshotRef):
            raise ProviderDown("provider fake holds no sessions; use local, docker or e2b")
        machine = self.make_machine()
        return Sandbox(machine, machine)

    def make_machine(self) -> FakeMachine:
        """A new one; for providers of other machines."""
        return FakeMachine(self._behave)

    async def prepare(self) -> None:
        """Nothing has to be ready."""

    async def has_image(self, name: str, python: str = "") -> bool:
        return True

    async def aclose(self) -> None:
        """Nothing is held."""
