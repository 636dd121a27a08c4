"""Whether a run is tried once more: wall time that others used up, a CPU time limit met by little, an unexplained kill.

Pure but for the two functions that it is given. A program that slept has met its limit; one that others kept from its
CPU is tried once more on a quiet slot, and if it is starved again there is no verdict.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Final

from sandbox_gym.contract import DialogueOutcome, Doubt, Outcome, Status
from sandbox_gym.errors import BoxLost, LossEvidence, Starved
from sandbox_gym.limits import PATIENCE, STARVED_SHARE, Limits
from sandbox_gym.sandbox.blame import unexplained

_KILLED: Final = (b"Killed", b"killed", b"SIGKILL", b"signal 9", b"Terminated")
_KILLED_CODES: Final = (128 + signal.SIGKILL, 128 + signal.SIGTERM)
"""What a shell ends with whose program was killed."""
COMPILED_AGAIN: Final = 2
"""A compiler that was killed is run so many times more: it is none of the answer's doing but for the few that run parts
of what they compile, and takes long enough to be met twice by what kills processes of a machine."""
_SHORT: Final = tuple(
    os.strerror(number).encode()
    for number in (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EIO)
)
ASIDE_S: Final = 60.0
"""Who may use more time is not given a quiet slot, which keeps all others waiting: it is tried again among them."""


def waited_s(outcome: Outcome, partner: Outcome | None = None) -> float:
    """Seconds for which others had CPU that a program wanted.

    `partner`: the program that it talks with from another box, for which it waits. What that one waited counts, but
    for the CPU that the program itself used: that may be what kept its partner waiting.
    """
    own_s = outcome.starved_s or 0.0
    return own_s if partner is None else own_s + max(0.0, (partner.starved_s or 0.0) - outcome.cpu_time_s)


def is_starved(outcome: Outcome, limit_s: float, partner: Outcome | None = None) -> bool:
    """Whether others had so much of the CPU that a program wanted that `limit_s` of wall time says nothing of it."""
    return waited_s(outcome, partner) >= STARVED_SHARE * limit_s


def spun(outcome: Outcome, limits: Limits, partner: Outcome | None = None) -> bool:
    """Whether it, or the partner that it waits for, used as much CPU time as it has wall time: it would have met that
    limit on any machine, however busy its CPU was."""
    return max(outcome.cpu_time_s, partner.cpu_time_s if partner is not None else 0.0) >= limits.wall_time_s


def outlasted(outcome: Outcome, limits: Limits, partner: Outcome | None = None) -> bool:
    """Whether a program had its wall time limit of time even without what others took of it."""
    return outcome.wall_time_s - waited_s(outcome, partner) >= limits.wall_time_s


@dataclass(frozen=True, slots=True)
class QuietSlot:
    """When a time limit is doubted, and where the run is tried once more."""

    busy: Callable[[], bool]
    """Whether the machine is busy: where nothing better is known."""
    slot: Callable[[], AbstractAsyncContextManager[None]]
    noted: Callable[[Doubt], None] = lambda doubt: None
    """Hears of each run that is tried again."""

    def doubt(self, outcome: Outcome, limits: Limits, partner: Outcome | None = None) -> Doubt | None:
        """Why a program's end is in doubt; None where it is not. `partner`: as `is_starved`."""
        if unexplained(outcome.status, outcome.signal) or _refused(outcome):
            return Doubt.KILLED
        if outcome.status is Status.CPU_TIME_LIMIT:
            near = outcome.exit_code is not None  # it ended by itself, within the guest's grace of 20 %
            return Doubt.NEAR if near and self.busy() else None
        if outcome.status is not Status.WALL_TIME_LIMIT:
            return None
        if outcome.starved_s is None:
            return Doubt.UNMEASURED if self.busy() else None
        return Doubt.STARVED if is_starved(outcome, limits.wall_time_s, partner) else None

    def doubt_of_dialogue(self, outcome: DialogueOutcome, asker: Limits, candidate: Limits) -> Doubt | None:
        """The same of two programs that wait for each other, each under its own limits."""
        asked, answered = outcome.asker, outcome.candidate
        found = self.doubt(answered, candidate, asked) or self.doubt(asked, asker, answered)
        left_over = asked.status is Status.OK and asked.exit_code is None and answered.status is Status.OK
        if found is None and left_over and is_starved(asked, min(asked.wall_time_s, asker.wall_time_s), answered):
            return Doubt.STARVED  # it was ended since its partner had left, and had no CPU to say what it had found
        return found


def _refused(outcome: Outcome) -> bool:
    """Whether a program of the run's own did not start for what it may have asked too much of, or the machine has no
    more of now."""
    said = outcome.detail.encode()
    return outcome.status is Status.START_ERROR and any(word in said for word in _SHORT)


def doubt_of_compiler(outcome: Outcome) -> Doubt | None:
    """The same of a compiler that failed: its driver tells by words, or a script by its exit code, that a part was
    killed, or that the machine refused it something. Words may be the answer's, and cost no more than another try."""
    said = outcome.stderr + outcome.stdout
    killed = outcome.exit_code in _KILLED_CODES or any(word in said for word in (*_KILLED, *_SHORT))
    return Doubt.KILLED if killed and outcome.status is Status.RUNTIME_ERROR else None


def may_go_aside(limits: Limits) -> bool:
    """Whether a run is short enough for a quiet slot."""
    return min(limits.cpu_time_s, limits.wall_time_s) <= ASIDE_S


def patient(limits: Limits) -> Limits:
    """For a starved run's second try; `judged_by` says what that is worth."""
    return replace(limits, wall_time_s=PATIENCE * limits.wall_time_s)


def judged_by(outcome: Outcome, limits: Limits, partner: Outcome | None = None) -> Outcome:
    """A patient try by the limits that the run has: what it took beyond them, unless others had the CPU, is its own."""
    ended = outcome.status in (Status.OK, Status.RUNTIME_ERROR)
    if not ended or not outlasted(outcome, limits, partner):
        return outcome
    return replace(outcome, status=Status.WALL_TIME_LIMIT, exit_code=None)


class Doubted(BoxLost):
    """A run's end is in doubt, and it changed the place that it began from: only another box can try it again."""

    def __init__(self, name: str, doubt: Doubt) -> None:
        super().__init__(f"how {name} ended is in doubt ({doubt.value})")
        self.evidence = LossEvidence(detail=str(self))


def no_verdict(name: str, outcome: Outcome, partner: Outcome | None = None) -> Starved:
    """What to raise of a run that was starved twice."""
    both_s = (outcome.starved_s or 0.0) + ((partner.starved_s or 0.0) if partner is not None else 0.0)
    return Starved(
        f"{name} wanted CPU that others had for {both_s:.1f} s of its {outcome.wall_time_s:.1f} s, twice;"
        " run less beside the sandboxes, or give them more CPU"
    )
