"""What the dashboard's JSON says, and what is asked of it."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from sandbox_gym.server.dashboard.tally import Kind
from sandbox_gym.server.protocol.wire import Document

Outcome = Literal["", "tamper", "passed", "failed", "no_verdict"]


class FoundQuery(BaseModel):
    """Which verdicts are listed."""

    model_config = ConfigDict(extra="ignore")

    outcome: Outcome = Field("", description="A kind, or those with signs of tampering; empty for all.")
    reason: Annotated[str, Field(description="The reason, whole.")] = ""
    sign: Annotated[str, Field(description="The name of a sign of tampering.")] = ""


class PageQuery(BaseModel):
    """From which test and run on; what is no number counts as 0."""

    model_config = ConfigDict(extra="ignore")

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


class FoundVerdicts(TypedDict):
    """Those in memory that match, the latest first."""

    most: int
    kept: int
    verdicts: list[ListedVerdict]


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
