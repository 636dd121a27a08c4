"""Whose an event is, the program's or ours: the one place that says so, for every tier, provider and server.

Owns the table of docs/design/blame.md; knows neither boxes nor how counters are read. The rule: the program is to
blame where a counter that it can't move says so; without such evidence the event is ours, and is tried again elsewhere.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Final

from sandbox_gym.contract import Status
from sandbox_gym.errors import BoxLost, LossEvidence
from sandbox_gym.limits import Limits

OWN_SIGNALS: Final = frozenset(
    {
        signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGSYS, signal.SIGTRAP,
        signal.SIGPIPE, signal.SIGXFSZ, signal.SIGXCPU, signal.SIGPROF, signal.SIGALRM, signal.SIGVTALRM,
    }
)  # fmt: skip
"""What a process brings on itself by what it does; others are sent, by itself or from outside."""
NEAR_MEMORY_CAP: Final = 0.9
"""A program that failed with so much of its memory used is held to have failed for the lack of more."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What was seen of a run's end. Counters are of this run alone."""

    stopped: str = ""
    """Which of the run's caps the supervisor ended it for: a Status by name; empty if it ended otherwise."""
    reported: bool = True
    """Whether the run's init reported its end: if not, the init is gone."""
    exit_code: int | None = None
    signal: int | None = None
    unstarted: str | None = None
    """What the program asks for and the box has not, so that there was never a program; None if there was one."""
    unprepared: str | None = None
    """What else failed before there was a program; None if nothing did."""
    cpu_s: float = 0.0
    peak_bytes: int = 0
    data_over: bool = False
    """Where data are capped and not memory: whether a process used more than the memory cap."""
    oom_kills: int = 0
    """Processes of the sandbox that the kernel killed for memory, whichever group was short of it."""
    memory_full: bool = False
    """Whether the sandbox's own group was at its memory limit."""
    forks_denied: int = 0
    """Processes that the kernel's process caps did not let the sandbox have, the sandbox's own or one above it."""
    processes_full: bool = True
    """Whether the sandbox's own group was at its process cap, or nothing tells."""


class NotTheProgram(BoxLost):
    """A run ended by what happened around its sandbox."""


def of_run(ending: Ending, limits: Limits) -> tuple[Status, str]:
    """(how the program ended, what to say of it). Raises NotTheProgram where the end was not its doing."""
    if ending.oom_kills and ending.memory_full:
        return Status.MEMORY_LIMIT, "the kernel's OOM killer ended a process"
    if ending.oom_kills:
        raise _ours("the machine or a group above the sandbox was short of memory, and the kernel killed a process")
    if ending.data_over:
        return Status.MEMORY_LIMIT, "a process used more than its memory cap"
    if ending.forks_denied and not ending.processes_full:
        raise _ours("a process cap above the sandbox's own refused it a process")
    if ending.stopped:
        return Status(ending.stopped), ""
    if not ending.reported:
        raise _ours("the run's init was killed from outside")
    if ending.unprepared is not None and ending.peak_bytes < NEAR_MEMORY_CAP * limits.memory_bytes:
        raise _ours(f"the sandbox could not start the program: {ending.unprepared}")
    return _by_itself(ending, limits)


def _by_itself(ending: Ending, limits: Limits) -> tuple[Status, str]:
    if ending.signal == signal.SIGXCPU or ending.cpu_s > limits.cpu_time_s:
        return Status.CPU_TIME_LIMIT, ""
    if ending.signal is not None:
        return Status.RUNTIME_ERROR, f"signal {ending.signal}"
    if ending.exit_code == 0:
        return Status.OK, ""
    if ending.peak_bytes >= NEAR_MEMORY_CAP * limits.memory_bytes:
        return Status.MEMORY_LIMIT, f"exit code {ending.exit_code} at the memory cap"
    if ending.unstarted is not None:
        return Status.START_ERROR, ending.unstarted
    return Status.RUNTIME_ERROR, f"exit code {ending.exit_code}"


def unexplained(status: Status, number: int | None) -> bool:
    """Whether a program ended by a signal from outside of it, without a trace of the sender: worth another try, and
    its own doing if that ends alike."""
    return status is Status.RUNTIME_ERROR and number is not None and number not in OWN_SIGNALS


def of_worker(number: int, evidence: LossEvidence) -> tuple[Status, str]:
    """A service's worker that ended by a signal while it had a request. `evidence`: of its sandbox since the request.
    Raises NotTheProgram: workers have a memory cap of their own, and the kernel kills for the group's only where that
    was reached."""
    if number in OWN_SIGNALS:
        return Status.RUNTIME_ERROR, f"signal {number}"
    if evidence.points_at_program:
        return Status.MEMORY_LIMIT, "the kernel's OOM killer ended its worker"
    raise _ours(f"a worker was ended by signal {number} from outside")


def _ours(why: str) -> NotTheProgram:
    error = NotTheProgram(why)
    error.evidence = LossEvidence(detail=why)
    return error
