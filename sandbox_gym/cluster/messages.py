"""What crosses between the server and its nodes: plans, outcomes and errors as strict JSON of the contract's types.

No pickle, no class names: what is read is checked against the types that are expected at that place. Programs, caps and
services that steps share are written once. A reply is one byte, `+` or `-`, and its JSON; `-` carries an error of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from sandbox_gym.contract import (
    Build,
    Checked,
    Dialogue,
    Integrity,
    Isolation,
    Outcome,
    Passes,
    Plan,
    Program,
    Query,
    Run,
    SelfTest,
    Service,
    Source,
    Step,
    StepOutcome,
)
from sandbox_gym.errors import (
    BoxLost,
    DeadlineExceeded,
    InstanceFailed,
    PoolFull,
    ProviderDown,
    SandboxGymError,
    SessionClosed,
    Starved,
    ToolchainMissing,
    Unavailable,
)
from sandbox_gym.journal.codec import CodecError, decode, encode
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


# -- plans


@dataclass(frozen=True, slots=True)
class RunForm:
    """A run; its program and caps by their places in the plan's tables."""

    name: str
    program: int
    limits: int
    stdin: bytes


@dataclass(frozen=True, slots=True)
class SelfTestForm:
    run: RunForm
    exit_codes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DialogueForm:
    name: str
    asker: RunForm
    candidate: RunForm
    channel: Literal["calls", "stdio"]
    passes: Passes | None = None
    self_test: SelfTestForm | None = None


@dataclass(frozen=True, slots=True)
class CheckedForm:
    name: str
    answer: RunForm
    checker: RunForm
    output_file: str
    passes: Passes | None = None
    self_test: SelfTestForm | None = None


@dataclass(frozen=True, slots=True)
class QueryForm:
    name: str
    service: int
    request: bytes
    limits: int


@dataclass(frozen=True, slots=True)
class BuildForm:
    name: str
    run: RunForm
    artifact: str
    place: Literal["answer", "judge"]
    advisory: bool


@dataclass(frozen=True, slots=True)
class PlanForm:
    """A plan, with what its steps share in tables."""

    programs: tuple[Program, ...]
    limits: tuple[Limits, ...]
    services: tuple[Service, ...]
    steps: tuple[RunForm | DialogueForm | CheckedForm | QueryForm, ...]
    builds: tuple[BuildForm, ...]
    image: Source
    integrity: Integrity
    early_stop: bool
    groups: tuple[int, ...]


class _Table(Generic[T]):
    """Values by number; one that is there already, the very same, is not written twice."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._places: dict[int, int] = {}

    def put(self, value: T) -> int:
        if id(value) not in self._places:
            self._places[id(value)] = len(self.values)
            self.values.append(value)
        return self._places[id(value)]


class _Writer:
    def __init__(self) -> None:
        self.programs, self.limits, self.services = _Table[Program](), _Table[Limits](), _Table[Service]()

    def run(self, run: Run) -> RunForm:
        return RunForm(run.name, self.programs.put(run.program), self.limits.put(run.limits), run.stdin)

    def self_test(self, test: SelfTest | None) -> SelfTestForm | None:
        return None if test is None else SelfTestForm(self.run(test.run), test.exit_codes)

    def step(self, step: Step) -> RunForm | DialogueForm | CheckedForm | QueryForm:
        if isinstance(step, Dialogue):
            asker, candidate = self.run(step.asker), self.run(step.candidate)
            return DialogueForm(step.name, asker, candidate, step.channel, step.passes, self.self_test(step.self_test))
        if isinstance(step, Checked):
            answer, checker = self.run(step.answer), self.run(step.checker)
            return CheckedForm(
                step.name, answer, checker, step.output_file, step.passes, self.self_test(step.self_test)
            )
        if isinstance(step, Query):
            return QueryForm(step.name, self.services.put(step.service), step.request, self.limits.put(step.limits))
        return self.run(step)


def _build_form(writer: _Writer, build: Build) -> BuildForm:
    return BuildForm(build.name, writer.run(build.run), build.artifact, build.place, build.advisory)


def plan_form(plan: Plan) -> PlanForm:
    """The plan as it travels."""
    writer = _Writer()
    steps = tuple(writer.step(step) for step in plan.steps)
    builds = tuple(_build_form(writer, one) for one in plan.builds)
    return PlanForm(
        programs=tuple(writer.programs.values),
        limits=tuple(writer.limits.values),
        services=tuple(writer.services.values),
        steps=steps,
        builds=builds,
        image=plan.image,
        integrity=plan.integrity,
        early_stop=plan.early_stop,
        groups=plan.groups,
    )


def plan_of(form: PlanForm) -> Plan:
    """The plan that travelled. Raises CodecError for a place that no table has."""

    def run(one: RunForm) -> Run:
        return Run(one.name, _at(form.programs, one.program), one.stdin, _at(form.limits, one.limits))

    def self_test(one: SelfTestForm | None) -> SelfTest | None:
        return None if one is None else SelfTest(run(one.run), one.exit_codes)

    def step(one: RunForm | DialogueForm | CheckedForm | QueryForm) -> Step:
        if isinstance(one, DialogueForm):
            asker, candidate = run(one.asker), run(one.candidate)
            return Dialogue(one.name, asker, candidate, one.channel, one.passes, self_test(one.self_test))
        if isinstance(one, CheckedForm):
            answer, checker = run(one.answer), run(one.checker)
            return Checked(one.name, answer, checker, one.output_file, one.passes, self_test(one.self_test))
        if isinstance(one, QueryForm):
            return Query(one.name, _at(form.services, one.service), one.request, _at(form.limits, one.limits))
        return run(one)

    return Plan(
        steps=tuple(step(one) for one in form.steps),
        image=form.image,
        integrity=form.integrity,
        early_stop=form.early_stop,
        builds=tuple(Build(one.name, run(one.run), one.artifact, one.place, one.advisory) for one in form.builds),
        groups=form.groups,
    )


def _at(table: tuple[T, ...], place: int) -> T:
    if not 0 <= place < len(table):
        raise CodecError(f"a plan names place {place} of {len(table)}")
    return table[place]


# -- a plan's run


@dataclass(frozen=True, slots=True)
class Start:
    """Run a plan under a ticket. `deadline_s`: what is left of the request's time."""

    ticket: str
    plan: PlanForm
    tenant: str
    deadline_s: float
    request_id: str


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
class Seen:
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
    attempts: int
    timings_s: Mapping[str, float]
    took_s: float


@dataclass(frozen=True, slots=True)
class Progress:
    """Outcomes of try `attempt` that were not told yet; those of an earlier try are void. The last has `finished`."""

    attempt: int
    outcomes: tuple[Seen, ...]
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
        NodeLost,
        NodeRefused,
        NodeDraining,
        BoxLost,
        ProviderDown,
        ToolchainMissing,
        Starved,
        InstanceFailed,
        DeadlineExceeded,
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
