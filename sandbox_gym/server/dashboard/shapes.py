"""What the dashboard's JSON says, and what is asked of it."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from sandbox_gym.journal import Kind
from sandbox_gym.server.protocol.wire import Document

Outcome = Literal["", "tamper", "passed", "failed", "no_verdict"]


Moment = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False, description="Unix time.")]
Step = Annotated[int, Field(ge=0, le=2**53, description="A step of the run, as X-Sandbox-Gym-Step had it.")]
Text = Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")]
"""No database takes a NUL."""


class WhichQuery(BaseModel):
    """Verdicts that match every field that is given."""

    text: Text = Field(
        "",
        description="Words: each is in the task's name, the reason, the tenant, the run or a sign, or begins the"
        " verdict's id or the task's digest.",
    )
    outcome: Outcome = Field("", description="A kind, or those with signs of tampering; empty for all.")
    reason: Text = Field("", description="The reason, whole.")
    sign: Text = Field("", description="The name of a sign of tampering.")
    tenant: Text = Field("", description="The tenant, whole.")
    task: Text = Field("", description="The task's digest, whole.")
    run: Text = Field("", description="The run, whole, as X-Sandbox-Gym-Run had it.")


class WindowQuery(WhichQuery):
    """The same within a time, or within steps of a run."""

    since: Moment | None = None
    until: Moment | None = None
    step_from: Step | None = None
    step_to: Step | None = None


class FoundQuery(WindowQuery):
    """Which verdicts are listed."""

    before: str = Field("", pattern=r"^(\d{1,11}(\.\d{1,9})?_\d{1,18})?$", description="`next` of the page before.")


class HistoryQuery(WindowQuery):
    """What is drawn over time, or over steps."""

    axis: Literal["time", "step"] = "time"


class ComparedQuery(WhichQuery):
    """Two windows, of time or of steps."""

    a_since: Moment | None = None
    a_until: Moment | None = None
    b_since: Moment | None = None
    b_until: Moment | None = None
    a_step_from: Step | None = None
    a_step_to: Step | None = None
    b_step_from: Step | None = None
    b_step_to: Step | None = None
    b_run: Text = Field("", description="The second window's run, where it is another one's.")


class PageQuery(BaseModel):
    """From which test and run on; what is no number counts as 0."""

    start: str = Field("0", description="A whole number; anything else counts as 0.")


class ServerShown(TypedDict):
    """Which server this is."""

    name: str
    kind: str
    provider: str
    isolation: str
    version: str
    started_at: float


class LivePicture(TypedDict):
    """A resources server as it is now."""

    at: float
    journal: bool
    server: ServerShown
    pool: dict[str, int] | None
    queue: Document
    sessions: Document | None
    verdicts: Document
    phases: list[Document]
    feed: Document | None
    radar: Document | None


class LiveEvent(TypedDict):
    """One server-sent event; `data` is the live picture as JSON."""

    data: str
    event: NotRequired[str]
    retry: NotRequired[int]


class PoolShown(TypedDict):
    """The pool's server as it is now."""

    at: float
    server: ServerShown
    sandboxes: Document


class ListedVerdict(TypedDict):
    """One line of a list of verdicts."""

    id: str
    at: float
    label: str
    tenant: str
    kind: Kind
    reason: str
    reward: float | None
    passed: int
    tests: int
    seconds: float
    attempts: int
    tamper: int
    task: NotRequired[str]


class FoundVerdicts(TypedDict):
    """Those that match, the latest first: of the journal, or of memory where none is kept. `kept`: those in memory."""

    most: int
    kept: int
    where: str
    next: str
    verdicts: list[ListedVerdict]


class SumsShown(TypedDict):
    """What verdicts came to. Rewards and pass rates are of those that have a verdict."""

    verifies: int
    passed: int
    failed: int
    no_verdict: int
    signed: int
    in_process: int
    reward: float | None
    pass_rate: float | None
    seconds: float | None


class TaskShown(TypedDict):
    """One task's verdicts."""

    digest: str
    label: str
    sums: SumsShown


class Bin(TypedDict):
    """A part of the axis that begins at `at`."""

    at: float
    sums: SumsShown


class HistoryShown(TypedDict):
    """Verdicts over time, or over a run's steps; bins without verdicts are left out."""

    axis: str
    start: float
    width: float
    bins: list[Bin]
    sums: SumsShown
    tasks: list[TaskShown]
    reasons: list[Document]


class TaskPage(TypedDict):
    """One task: its tests and answers, of the latest verdicts."""

    digest: str
    label: str
    sums: SumsShown
    looked_at: int
    tests: list[Document]
    answers: list[Document]


class ComparedTask(TypedDict):
    """One task in both windows. `likely`: how many standard errors its pass rate moved, its sign the direction."""

    digest: str
    label: str
    a: SumsShown
    b: SumsShown
    likely: float


class ComparedShown(TypedDict):
    """Two windows. `cut`: there are more tasks than were compared."""

    a: SumsShown
    b: SumsShown
    likely: float
    tasks: list[ComparedTask]
    compared: int
    cut: bool


class ShownText(TypedDict):
    """A text made harmless to look at, and how much of it is here."""

    text: str
    total: int
    cut: int
    unit: str


class VerdictShown(TypedDict):
    """One verify: everything but outputs."""

    id: str
    where: str
    missing: list[str]
    facts: Document
    timings_s: dict[str, float]
    tamper: list[Document]
    groups: list[Document]
    task: ShownText | None
    settings: ShownText
    answer: ShownText | None
    code: ShownText | None
    reply: ShownText | None
    tests: Document
    runs: Document
    can_rejudge: bool
    has_task: NotRequired[bool]
    label: NotRequired[str]
    tenant: NotRequired[str]


class RunShown(TypedDict):
    """One run's outputs, what it was given, and what it should have printed where the row says so."""

    given: ShownText | None
    expected: ShownText | None
    parts: list[Document]


class Rejudged(TypedDict):
    """How a verdict fares when it is judged again."""

    agreement: str
    what: str
    planned_otherwise: bool | None
