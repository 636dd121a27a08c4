"""The one error tree. The caller's fault is a RequestError, ours is an Unavailable; a program's fault is never raised.

SandboxGymError
├── RequestError            the caller's input: names the field, the value and the remedy   (HTTP 422)
├── ConfigurationError      settings or machine can't do what was asked for                 (at start)
├── SessionClosed           a call or seed for a session that was closed                    (HTTP 409)
└── Unavailable             ours, worth a retry; becomes *no verdict*, never reward 0       (HTTP 503)
    ├── BoxLost             a sandbox died, froze or broke the protocol
    ├── ProviderDown        no sandbox can be made
    ├── PoolFull            the queue is full                                        (HTTP 429)
    ├── ToolchainMissing    no compiler or interpreter for the answer's language in the sandboxes
    ├── Starved             a program wanted CPU that others had, on a quiet slot too
    ├── ModelDown           the model that was to judge gave no answer
    ├── InstanceFailed      a task's repository can't be built or begun from
    │   └── ImageRefused    no registry gives the image that a row names                   (HTTP 422)
    ├── ImageNotPulled      an image can't be pulled now
    ├── SessionFailed       a session whose seed or start failed: what it holds is no answer
    ├── SandboxShort        a session's sandbox lacks processes, memory or descriptors for a call
    ├── SnapshotGone        what a plan begins from went with the machine that had it
    ├── JournalDown         a verdict can't be kept as it must be
    ├── InternalError       an error of this program, logged by its id                   (HTTP 500)
    └── DeadlineExceeded    the request's time is up before a verdict
"""

from __future__ import annotations

from dataclasses import dataclass
from reprlib import Repr
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sandbox_gym.contract import Judgement


_SHORT: Final = Repr()
_SHORT.maxlist = _SHORT.maxdict = 20
_SHORT.maxlong = _SHORT.maxother = _SHORT.maxstring = 81


class SandboxGymError(Exception):
    """The root of everything this package raises on purpose."""


class RequestError(SandboxGymError):
    """The caller's input is wrong. `field` is a dotted path into the request."""

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field}: {problem}; {remedy}")
        self.field = field
        self.problem = problem
        self.remedy = remedy


def wrong(field: str, value: object, remedy: str) -> RequestError:
    """The error for a field's value, which it shows shortened."""
    try:
        shown = repr(value[:81]) if isinstance(value, str) else _SHORT.repr(value)
    except (ValueError, RecursionError):  # integers of over 4,300 digits have no decimal text
        shown = f"a {type(value).__name__} too large to show"
    return RequestError(field, f"is {shown[:80]}{'…' if len(shown) > 80 else ''}", remedy)


class ConfigurationError(SandboxGymError):
    """Settings or this machine can't give what was asked for; the message says what to change."""


class SessionClosed(SandboxGymError):
    """The session was closed; a late call or seed does not bring it back."""


class Unavailable(SandboxGymError):
    """Our fault, and passing: retried elsewhere within the deadline, then answered as *no verdict*."""

    failure_kind = "sandbox_unavailable"
    retry_after_s = 5
    worth_a_retry = True
    """False where the same request would end the same way until somebody changes the row or the server's set-up."""
    judgements: tuple[Judgement, ...] = ()
    """What was judged of this verify before it was raised: the runs before the one that has no verdict."""
    log: str = ""
    """A file of this machine with all that was printed before it, where there is one."""
    counted = False
    """Whether the metric of requests without a verdict has it."""


@dataclass(frozen=True, slots=True)
class LossEvidence:
    """What the kernel or the provider says of a lost sandbox, beyond that it is lost."""

    oom_kills: int = 0
    """Processes that the kernel killed because the sandbox was at its memory cap."""
    detail: str = ""
    crowded: bool = False
    """Whether its own processes, as many as it may have, kept its supervisor from the CPU until a run was overdue."""

    @property
    def points_at_program(self) -> bool:
        """Whether the program, and not the machine, can be held to have ended the sandbox."""
        return self.oom_kills > 0 or self.crowded

    @property
    def cause(self) -> str:
        """For logs and metrics."""
        return "program_memory" if self.oom_kills else "program_processes" if self.crowded else "unexplained"


class BoxLost(Unavailable):
    """The sandbox died, froze, or its guest broke the protocol."""

    failure_kind = "sandbox_lost"
    evidence = LossEvidence()


class ProviderDown(Unavailable):
    """The provider can't make a sandbox now."""

    failure_kind = "provider_down"


class ToolchainMissing(Unavailable):
    """The sandboxes have no compiler or interpreter for a language; the message says what to install."""

    failure_kind = "toolchain_missing"
    retry_after_s = 60


class Starved(Unavailable):
    """A program's wall time ran out while it wanted CPU that others had: the machine's doing, and no verdict."""

    failure_kind = "starved"


class ModelDown(Unavailable):
    """A model server that was to judge gave no answer, or nonsense."""

    failure_kind = "model_down"


class InstanceFailed(Unavailable):
    """A task's repository can't be installed, from its recipe or its image."""

    failure_kind = "instance_failed"
    retry_after_s = 60


class ImageRefused(InstanceFailed):
    """No registry gives the image that a row names: there is none of that name, or not for these credentials."""

    failure_kind = "image_refused"
    worth_a_retry = False


class ImageNotPulled(Unavailable):
    """An image is missing and can't be pulled now: the network, the registry or the disk."""

    failure_kind = "image_not_pulled"
    retry_after_s = 30


class SessionFailed(Unavailable):
    """What a session was to begin with was not to be had, so nothing in it is the model's answer. `failure_kind`: of
    the failure of its seed or start."""

    failure_kind = "session_failed"

    def __init__(self, message: str, *, failure_kind: str = "session_failed", worth_a_retry: bool = True) -> None:
        super().__init__(message)
        self.failure_kind, self.worth_a_retry = failure_kind, worth_a_retry


class SandboxShort(Unavailable):
    """A session's sandbox can't start what a call wants: it, or the machine, is short of processes or memory."""

    failure_kind = "sandbox_short"


class SnapshotGone(Unavailable):
    """No machine that is left has the snapshot that a plan begins from."""

    failure_kind = "snapshot_gone"


class PoolFull(Unavailable):
    """No place in the queue, or for another session."""

    failure_kind = "pool_full"

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class DeadlineExceeded(Unavailable):
    """The request's deadline passed before there was a verdict."""

    failure_kind = "deadline_exceeded"


class JournalDown(Unavailable):
    """The journal can't be read or written now, so an answer would not be on record."""

    failure_kind = "journal_down"


class InternalError(Unavailable):
    """An unexpected error in this program; the message names the id under which it is logged."""

    failure_kind = "internal"
