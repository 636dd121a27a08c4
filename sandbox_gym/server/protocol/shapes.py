"""What the host's routes take and answer: the models that check requests, the types that replies are made as."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from sandbox_gym.server.protocol.single_flight import KEY_HEADER
from sandbox_gym.server.protocol.wire import Document

NO_VERDICT_HEADER = "X-Sandbox-Gym-No-Verdict"
TENANT_HEADER = "X-Sandbox-Gym-Tenant"
DEADLINE_HEADER = "X-Sandbox-Gym-Deadline-S"
REQUEST_ID_HEADER = "X-Request-Id"
_Id = Annotated[str, Field(min_length=1, max_length=512)]


# -- requests


class CallerHeaders(BaseModel):
    """Whose share of the sandboxes a request takes, and how long its answer is wanted."""

    model_config = ConfigDict(extra="ignore")

    tenant: str = Field("", alias=TENANT_HEADER, max_length=200, description="Whose share of the sandboxes it takes.")
    deadline_s: float | None = Field(
        None,
        alias=DEADLINE_HEADER,
        gt=0,
        allow_inf_nan=False,
        description="Seconds that the answer is wanted for; the server's own setting is the most.",
    )


class RequestHeaders(BaseModel):
    """What every route takes."""

    request_id: str = Field("", alias=REQUEST_ID_HEADER, description="At most 128 characters; comes back as it is.")


class KeyHeaders(BaseModel):
    """What makes a verify the same as another."""

    key: str | None = Field(
        None,
        alias=KEY_HEADER,
        min_length=1,
        max_length=255,
        description="The same key gets the same verdict, run once; printable ASCII.",
    )
    no_verdict: str | None = Field(
        None, alias=NO_VERDICT_HEADER, description="`body`: where there is no verdict, a masked row with status 200."
    )


class NoVerdictQuery(BaseModel):
    """The header of that name, for clients that send none."""

    no_verdict: str | None = Field(None, description="`body`: as the header of that name.")


class Seed(BaseModel):
    """A later NeMo Gym's ResourcesSeedSessionRequest."""

    model_config = ConfigDict(extra="ignore")

    resources_session_id: _Id
    task_data: dict[str, object] | None = None


class Close(BaseModel):
    """A later NeMo Gym's ResourcesCloseSessionRequest."""

    model_config = ConfigDict(extra="ignore")

    resources_session_id: _Id


class AggregatedRow(BaseModel):
    """A verify response as it came; every numeric field of it is described."""

    model_config = ConfigDict(extra="allow")

    reward: float
    task_index: int = Field(0, alias="_ng_task_index")
    rollout_index: int | None = Field(None, alias="_ng_rollout_index", description="The next free one, unless given.")


class Aggregate(BaseModel):
    """Verify responses of many tasks and rollouts."""

    verify_responses: list[AggregatedRow]


# -- replies


class Liveness(TypedDict):
    """The process answers."""

    status: Literal["ok"]


class ReverifyMode(TypedDict):
    """A verify needs nothing but its body."""

    reverify_mode: Literal["stateless"]


class DatasetSize(TypedDict):
    """How many rows there are."""

    size: int


class WorkerHealth(TypedDict):
    """One of several processes behind the port."""

    number: int
    up: bool
    reason: object


class HealthDocument(TypedDict):
    """Whether verdicts can be had, and why not; counters of the pool, the sessions and the journal."""

    status: Literal["ok", "down"]
    provider: str
    isolation: str
    reason: str
    sessions: dict[str, int]
    stats: dict[str, int]
    journal: dict[str, int]
    nodes: NotRequired[dict[str, dict[str, str | int]]]
    benchmark: NotRequired[str]
    dataset_size: NotRequired[int]
    protocol: NotRequired[str]
    workers: NotRequired[list[WorkerHealth]]


class McpAccess(TypedDict):
    """How this session's tools are reached over MCP."""

    server_name: str
    url_path: str
    transport: str
    headers: dict[str, str]


class Seeded(TypedDict):
    """The session is ready; the cookie that came with this reply names it."""

    resources_session_id: NotRequired[str]
    mcp: NotRequired[McpAccess]


class Closed(TypedDict):
    """The session is closed for good."""

    resources_session_id: str


class Aggregated(TypedDict):
    """NeMo Gym's AggregateMetrics."""

    group_level_metrics: list[Document]
    agent_metrics: Document
    key_metrics: Document
