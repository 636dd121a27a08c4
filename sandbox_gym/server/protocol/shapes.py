"""Requests and responses of the host's routes: models that check requests, and types of responses."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from sandbox_gym.server.protocol.single_flight import KEY_HEADER
from sandbox_gym.server.protocol.wire import Document

NO_VERDICT_HEADER = "X-Sandbox-Gym-No-Verdict"
TENANT_HEADER = "X-Sandbox-Gym-Tenant"
DEADLINE_HEADER = "X-Sandbox-Gym-Deadline-S"
RUN_HEADER = "X-Sandbox-Gym-Run"
STEP_HEADER = "X-Sandbox-Gym-Step"
CALLER_HEADERS = (TENANT_HEADER, DEADLINE_HEADER, RUN_HEADER, STEP_HEADER)
REQUEST_ID_HEADER = "X-Request-Id"
VERDICT_ID_HEADER = "X-Sandbox-Gym-Verdict-Id"
REPLAYED_HEADER = "X-Sandbox-Gym-Replayed"
MAX_STEP = 2**53
_Id = Annotated[str, Field(min_length=1, max_length=512)]


# -- requests


class CallerHeaders(BaseModel):
    """Which tenant's share a request uses, its deadline, and the step of a training run that it is of."""

    tenant: str = Field(
        "", alias=TENANT_HEADER, max_length=200, description="The tenant whose share of the sandboxes it uses."
    )
    deadline_s: float | None = Field(
        None,
        alias=DEADLINE_HEADER,
        gt=0,
        allow_inf_nan=False,
        description="The request's deadline in seconds, at most the server's setting.",
    )
    run: str = Field(
        "", alias=RUN_HEADER, max_length=100, description="The run that it is of, by which the dashboard finds it."
    )
    step: int | None = Field(
        None, alias=STEP_HEADER, ge=0, le=MAX_STEP, description="The run's step, over which rewards are drawn."
    )


class RequestHeaders(BaseModel):
    """Headers that every route accepts."""

    request_id: str = Field("", alias=REQUEST_ID_HEADER, description="At most 128 characters; returned unchanged.")


class NoVerdictHeaders(BaseModel):
    """The form of a response where there is no verdict, or no session to have one."""

    no_verdict: str | None = Field(
        None, alias=NO_VERDICT_HEADER, description="`body`: where there is no verdict, a masked row with status 200."
    )


class KeyHeaders(NoVerdictHeaders):
    """Headers of a verify: its key, and the form of a response without a verdict."""

    key: str | None = Field(
        None,
        alias=KEY_HEADER,
        min_length=1,
        max_length=255,
        description="A repeated key returns the same verdict without a second run; printable ASCII.",
    )


class NoVerdictQuery(BaseModel):
    """The header of that name, for clients that send none."""

    no_verdict: str | None = Field(None, description="`body`: as the header of that name.")


class Seed(BaseModel):
    """A later NeMo Gym's ResourcesSeedSessionRequest."""

    resources_session_id: _Id
    task_data: dict[str, object] | None = None
    root: bool = Field(False, description="Whether commands of `/exec` may name a `user`, root included.")


class Close(BaseModel):
    """A later NeMo Gym's ResourcesCloseSessionRequest."""

    resources_session_id: _Id


class AggregatedRow(BaseModel):
    """A verify response unchanged; every numeric field of it is aggregated."""

    model_config = ConfigDict(extra="allow")

    reward: float
    task_index: int = Field(0, alias="_ng_task_index")
    rollout_index: int | None = Field(None, alias="_ng_rollout_index", description="The next free index unless given.")


class Aggregate(BaseModel):
    """Verify responses of many tasks and rollouts."""

    verify_responses: list[AggregatedRow]


# -- responses


class Liveness(TypedDict):
    """The process is alive."""

    status: Literal["ok"]


class ReverifyMode(TypedDict):
    """A verify needs only its body."""

    reverify_mode: Literal["stateless"]


class DatasetSize(TypedDict):
    """How many rows there are."""

    size: int


class WorkerHealth(TypedDict):
    """One of several server processes behind the port."""

    number: int
    up: bool
    reason: object


class HealthDocument(TypedDict):
    """Whether the server can give verdicts, and why not; counters of the pool, the sessions and the journal."""

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
    """How to reach this session's tools over MCP."""

    server_name: str
    url_path: str
    transport: str
    headers: dict[str, str]


class Seeded(TypedDict):
    """The session is ready; this response's cookie names it. With `mask_sample` it is not, and has no verdict."""

    resources_session_id: NotRequired[str]
    mcp: NotRequired[McpAccess]
    mask_sample: NotRequired[Literal[True]]
    failure_kind: NotRequired[str]
    failure_reason: NotRequired[str]


class Closed(TypedDict):
    """The session is closed for good."""

    resources_session_id: str


class Aggregated(TypedDict):
    """NeMo Gym's AggregateMetrics."""

    group_level_metrics: list[Document]
    agent_metrics: Document
    key_metrics: Document
