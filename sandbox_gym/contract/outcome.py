"""What a sandbox did with a plan: how each run ended. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from sandbox_gym.contract.plan import Build

Isolation = Literal["namespace", "container", "gvisor", "vm", "none"]


class Status(StrEnum):
    """How a run ended. Everything here is the program's doing; what is ours is raised."""

    OK = "ok"
    """Exited with 0."""
    RUNTIME_ERROR = "runtime_error"
    """Exited with another code, or by a signal of its own."""
    CPU_TIME_LIMIT = "cpu_time_limit"
    WALL_TIME_LIMIT = "wall_time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    START_ERROR = "start_error"
    """The program could not be started: no such command, a file that can't be written. The guest's own word, which no
    exit code and nothing that a program prints can stand for."""


class Doubt(StrEnum):
    """Why an end may not be the program's own doing."""

    KILLED = "killed"
    """A signal from outside ended it, or a part of a compiler, and there is no evidence of the sender."""

    STARVED = "starved"
    """It wanted CPU that others had."""
    UNMEASURED = "unmeasured"
    """It met its wall time limit on a busy machine, in a box that can't tell why."""
    NEAR = "near"
    """It was over its CPU time limit by little, on a busy machine, where everything costs more CPU time."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run did, as the supervisor saw it. Byte strings are at most as long as their limits."""

    status: Status
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    channel: bytes = b""
    """What the program wrote on fd 3, in `call` mode: a bounded, untrusted wire value."""
    cpu_time_s: float = 0.0
    wall_time_s: float = 0.0
    starved_s: float | None = None
    """Of `wall_time_s`: for so long at least it wanted CPU that others had. None where the box can't tell."""
    peak_memory_bytes: int = 0
    detail: str = ""
    tamper: tuple[str, ...] = ()
    shared: bool = False
    """Whether its process had run the program on another input before."""


@dataclass(frozen=True, slots=True)
class PassOutcome:
    """A pass after which another one followed. Outputs are kept up to a bound."""

    answer: Outcome
    checker: Outcome


@dataclass(frozen=True, slots=True)
class DialogueOutcome:
    """Both ends of a dialogue, and how many bytes crossed each way. With several passes: of the last one."""

    asker: Outcome
    candidate: Outcome
    first: Literal["", "asker", "candidate"] = ""
    """Which of the two left first: its output ended, or it did."""
    earlier: tuple[PassOutcome, ...] = ()
    self_test: Outcome | None = None
    """The asker's, where it was run."""


@dataclass(frozen=True, slots=True)
class CheckedOutcome:
    """The answer's run and the checker's; none where the answer's did not end well. With several passes: of the last
    one."""

    answer: Outcome
    checker: Outcome | None
    earlier: tuple[PassOutcome, ...] = ()
    self_test: Outcome | None = None
    """The checker's, where it was run."""


StepOutcome = Outcome | DialogueOutcome | CheckedOutcome


@dataclass(frozen=True, slots=True)
class Check:
    """Step number `index`, run once more in a process of its own, for its outcome came from a shared one."""

    index: int
    outcome: StepOutcome


@dataclass(frozen=True, slots=True)
class State:
    """What a plan did: `outcomes[i]` belongs to `plan.steps[i]`, None where early stop left it out; the tail is cut.

    `builds[i]` belongs to `plan.builds[i]`, up to the first that failed; an artifact is not kept here.
    """

    outcomes: tuple[StepOutcome | None, ...]
    isolation: Isolation
    provider: str
    builds: tuple[Outcome, ...] = ()
    checks: tuple[Check, ...] = ()


def ends_plan(build: Build, outcome: Outcome) -> bool:
    """Whether a build's failure leaves nothing to run."""
    return outcome.status is not Status.OK and not build.advisory


def answers_outcome(outcome: StepOutcome) -> Outcome:
    """What the answer's own program did in a step."""
    if isinstance(outcome, DialogueOutcome):
        return outcome.candidate
    return outcome.answer if isinstance(outcome, CheckedOutcome) else outcome


def earlier_passes(outcome: StepOutcome) -> tuple[PassOutcome, ...]:
    """The passes before a step's last one."""
    return () if isinstance(outcome, Outcome) else outcome.earlier
