"""What crosses between the server and its nodes: plans, outcomes and errors as strict JSON of the contract's types.

No pickle, no class names: what is read is checked against the types that are expected at that place. Programs, caps and
services that steps share are written once. A reply is one byte, `+` or `-`, and its JSON; `-` carries an error of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from sandbox_gym.codec import CodecError, decode, encode
from sandbox_gym.contract import Check, Isolation, Outcome, Plan, Program, Service, StepOutcome
from sandbox_gym.errors import (
    BoxLost,
    DeadlineExceeded,
    ImageNotPulled,
    ImageRefused,
    InstanceFailed,
    PoolFull,
    ProviderDown,
    SandboxGymError,
    SessionClosed,
    SnapshotGone,
    Starved,
    ToolchainMissing,
    Unavailable,
)
from sandbox_gym.limits import Limits

T = TypeVar("T")


class NodeLost(Unavailable):
    """A node died, hangs, or said what makes no sense: its leases go to others."""

    failure_kind = "node_lost"


class NodeRefused(Unavailable):
    """A node knows nothing of what it is asked to go on with, or can't read it: another may."""

    failure_kind = "node_refused"


class NodeDraining(NodeRefused):
    """A node takes nothing new: it did nothing, another may."""

    failure_kind = "node_draining"


# -- a plan's run


@dataclass(frozen=True, slots=True)
class Start:
    """Run a plan under a ticket. `deadline_s`: what is left of the request's time."""

    ticket: str
    plan: Plan
    tenant: str
    deadline_s: float
    request_id: str


SHARED: Final = (Program, Limits, Service)
"""What the steps of a plan share."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """What came next of a ticket? `failed`: steps of try `attempt` that early stop ends their groups at."""

    ticket: str
    attempt: int
    failed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ticket:
    """The one that is given up."""

    ticket: str


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step's outcome."""

    index: int
    outcome: StepOutcome


@dataclass(frozen=True, slots=True)
class Finished:
    """The run is over: which of `length` steps ran, and all of the state that is no step's outcome. `took_s`: all of it
    at the node, from the queue there to the proof that its box is clean."""

    length: int
    ran: tuple[int, ...]
    isolation: Isolation
    provider: str
    builds: tuple[Outcome, ...]
    checks: tuple[Check, ...]
    attempts: int
    timings_s: Mapping[str, float]
    took_s: float


@dataclass(frozen=True, slots=True)
class Progress:
    """Outcomes of try `attempt` that were not sent yet; those of an earlier try are void. The last has `finished`."""

    attempt: int
    outcomes: tuple[StepReport, ...]
    finished: Finished | None = None


# -- a node's word of itself


@dataclass(frozen=True, slots=True)
class Nothing:
    """Where there is nothing to say."""


@dataclass(frozen=True, slots=True)
class Pong:
    """How a node is. `slots`: leases that it bears now; `snapshots`: instances that plans can begin from here."""

    version: str
    slots: int
    leased: int
    draining: bool
    sessions_folder: str
    """Where its sessions and their snapshots are, for others that share the file system; empty without any."""
    stats: Mapping[str, int]
    sessions: Mapping[str, int]


# -- errors


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of ours by its kind."""

    kind: str
    message: str
    retry_after_s: int = 0
    field: str = ""


_UNAVAILABLE: Final[Mapping[str, type[Unavailable]]] = {
    kind.failure_kind: kind
    for kind in (
        *(NodeLost, NodeRefused, NodeDraining, BoxLost, ProviderDown, ToolchainMissing, Starved, InstanceFailed),
        *(ImageRefused, ImageNotPulled, SnapshotGone, DeadlineExceeded),
    )
}
_MESSAGE_CHARS: Final = 8000


def failure_reply(error: SandboxGymError) -> bytes:
    """An error as a reply."""
    kind, after = "other", 0
    if isinstance(error, Unavailable):
        kind, after = error.failure_kind, error.retry_after_s
    elif isinstance(error, SessionClosed):
        kind = "session_closed"
    return b"-" + encode(Failure(kind, str(error)[:_MESSAGE_CHARS], after))


def reply(value: object, *, long: bool = False) -> bytes:
    """A value as a reply. `long`: it may hold long outputs."""
    return b"+" + encode(value, long=long)


def read_reply(kind: type[T], raw: bytes) -> T:
    """The value of a reply. Raises the error that it carries, and NodeLost for one that is no reply."""
    try:
        if raw[:1] == b"+":
            return decode(kind, raw[1:])
        if raw[:1] == b"-":
            raise _error(decode(Failure, raw[1:]))
    except CodecError as error:
        raise NodeLost(f"a node's reply makes no sense: {error}") from error
    raise NodeLost(f"a node's reply of {len(raw)} bytes makes no sense")


def _error(failure: Failure) -> SandboxGymError:
    if failure.kind == PoolFull.failure_kind:
        return PoolFull(failure.message, retry_after_s=failure.retry_after_s)
    if failure.kind == "session_closed":
        return SessionClosed(failure.message)
    return _UNAVAILABLE.get(failure.kind, Unavailable)(failure.message)
