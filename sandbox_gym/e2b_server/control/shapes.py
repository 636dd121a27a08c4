"""Requests and responses of the pool's routes: models that check requests, and types of responses.

Unknown fields are ignored, and null counts as absent, because SDKs of many versions call. `checked` turns a wrong field
into a Fault 400 that names it.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping
from typing import Annotated, Final, Literal, NotRequired, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from typing_extensions import TypedDict

from sandbox_gym.e2b_server.faults import Fault

MAX_PATH: Final = 8192
MAX_TEXTS: Final = 1000
MAX_TEXT: Final = 128 * 1024
MAX_PAGE: Final = 100
_WHOLE: Final = 1 << 31
_M = TypeVar("_M", bound=BaseModel)


def checked(model: type[_M], document: Mapping[str, object]) -> _M:
    """The document as `model`. Raises Fault 400 naming the first wrong field."""
    try:
        return model.model_validate(dict(document))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part)[:80] for part in first["loc"]) or "the body"
        raise Fault(400, f"{field}: {first['msg'].removeprefix('Value error, ')}") from None


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain NUL")
    return text


def _block(text: str) -> str:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{text[:80]!r} is no address and no CIDR block") from None
    return text


def _texts(texts: dict[str, str]) -> dict[str, str]:
    for key, text in texts.items():
        if "\0" in key + text or len(key) + len(text) > MAX_TEXT:
            raise ValueError(f"{key[:40]!r} contains NUL or has over {MAX_TEXT} characters")
    return texts


def _variables(texts: dict[str, str]) -> dict[str, str]:
    for name in texts:
        if not name or "=" in name:
            raise ValueError(f"{name[:40]!r} is no name of a variable: it is empty or has a '='")
    return texts


def _whole(value: object) -> object:
    """Some clients send integers as floats."""
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("must be an integer")
    return int(value) if isinstance(value, float) else value


Text = Annotated[str, AfterValidator(_no_nul)]
Path = Annotated[str, Field(max_length=MAX_PATH), AfterValidator(_no_nul)]
Entry = Annotated[str, Field(max_length=300)]
Block = Annotated[Entry, AfterValidator(_block)]
Texts = Annotated[dict[str, str], Field(max_length=MAX_TEXTS), AfterValidator(_texts)]
Variables = Annotated[Texts, AfterValidator(_variables)]
Number = Annotated[int, Field(ge=0, lt=10**15)]
Whole = Annotated[int, Field(gt=-_WHOLE, lt=_WHOLE), BeforeValidator(_whole)]


class Asked(BaseModel):
    """Base class of all requests."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


# -- the control plane


class NetworkRules(Asked):
    """What a sandbox may reach, and who may reach it."""

    allow_out: list[str] | None = Field(None, alias="allowOut", description="Addresses, CIDR blocks, names, *.names.")
    deny_out: list[Block] | None = Field(None, alias="denyOut", max_length=MAX_TEXTS)
    rules: object = Field(None, description="Not supported.")
    egress_proxy: object = Field(None, alias="egressProxy", description="Not supported.")
    allow_public_traffic: bool | None = Field(None, alias="allowPublicTraffic")
    https_ports: list[Annotated[int, Field(ge=1, le=65535)]] | None = Field(
        None, alias="httpsPorts", max_length=MAX_TEXTS, description="Ports where programs speak HTTPS."
    )
    mask_request_host: str | None = Field(
        None, alias="maskRequestHost", description="The Host header that programs see; ${PORT} stands for the port."
    )


class AutoResume(Asked):
    """Whether a request wakes a paused sandbox."""

    enabled: bool | None = None
    policy: str | None = None


class CreateSandbox(Asked):
    """Which sandbox to create."""

    template: Annotated[Text, Field(max_length=200)] | None = Field(None, alias="templateID")
    timeout: Whole | None = Field(None, description="Seconds that it lives; 300 unless given.")
    metadata: Texts | None = None
    env: Variables | None = Field(None, alias="envVars")
    auto_pause: bool | None = Field(None, alias="autoPause")
    auto_pause_memory: bool | None = Field(None, alias="autoPauseMemory", description="true unless given.")
    auto_resume: AutoResume | None = Field(None, alias="autoResume")
    network: NetworkRules | None = None
    allow_internet_access: bool | None = None
    secure: bool | None = Field(
        None, description="false: cells need no token. SDKs 1.x send none with them, and this; true unless given."
    )
    mcp: object = Field(None, description="Not supported.")
    volume_mounts: object = Field(None, alias="volumeMounts", description="Not supported.")
    iam: object = Field(None, description="Not supported.")


class Resume(Asked):
    """Seconds that the sandbox lives from now on; 300 unless given."""

    timeout: Whole | None = None
    memory: bool | None = Field(None, description="false: begin anew with the files. true unless given.")


class Timeout(Asked):
    """Seconds that the sandbox lives from now on; 300 unless given."""

    timeout: Whole | None = None


class Refresh(Asked):
    """Seconds that the sandbox lives at least; 60 unless given."""

    duration: Whole | None = None


class Pause(Asked):
    """Whether what runs is kept beside the files."""

    memory: bool | None = Field(None, description="true unless given.")


class MakeSnapshot(Asked):
    """The snapshot's name."""

    name: Annotated[Text, Field(max_length=128)] | None = None


class Fork(Asked):
    """How many sandboxes, and for how many seconds each."""

    count: Whole | None = None
    timeout: Whole | None = None


class ChangeNetwork(NetworkRules):
    """The rules from now on."""

    allow_internet_access: bool | None = None


class PageQuery(Asked):
    """Which page of a list."""

    limit: int | None = Field(None, ge=1, le=MAX_PAGE)
    order: Literal["asc", "desc"] | None = Field(None, description="By time; `desc` unless given.")
    after: Entry | None = Field(None, alias="nextToken", description="The `X-Next-Token` of the previous page.")


class SandboxQuery(PageQuery):
    """Which sandboxes. `startedAfter` is a time in ISO 8601."""

    state: str | None = Field(None, description="`running`, `paused`, or both with a comma between.")
    metadata: str | None = Field(None, description="`key=value&key=value`, URL-encoded.")
    started_after: str | None = Field(None, alias="startedAfter")
    template: str | None = None


class SnapshotQuery(PageQuery):
    """Which snapshots."""

    sandbox_id: str | None = Field(None, alias="sandboxID")
    name: str | None = None


class MetricsQuery(Asked):
    """The time range, in seconds since the epoch."""

    start: Number | None = None
    end: Number | None = None


class FaultBody(TypedDict):
    """An error."""

    code: int
    message: str


class Gone(TypedDict):
    """The sandbox does not run, or nothing listens at its port."""

    sandboxId: str
    message: str
    code: int
    port: NotRequired[int]


class PoolHealth(TypedDict):
    """The pool's health."""

    status: Literal["ok"]
    running: int


class SandboxView(TypedDict):
    """A created sandbox with its tokens."""

    templateID: str
    sandboxID: str
    clientID: str
    envdVersion: str
    alias: str
    envdAccessToken: str
    trafficAccessToken: str
    domain: NotRequired[str]


class NetworkView(TypedDict):
    """The rules of a sandbox."""

    allowPublicTraffic: bool
    allowOut: NotRequired[list[str]]
    denyOut: NotRequired[list[str]]
    maskRequestHost: NotRequired[str]
    httpsPorts: NotRequired[list[int]]


class Lifecycle(TypedDict):
    """What happens to a sandbox when its time is up."""

    onTimeout: Literal["pause", "kill"]
    autoResume: bool


class SandboxDetails(TypedDict):
    """A sandbox as it is now."""

    templateID: str
    sandboxID: str
    clientID: str
    startedAt: str
    endAt: str
    envdVersion: str
    alias: str
    cpuCount: int
    memoryMB: int
    diskSizeMB: int
    state: Literal["running", "paused"]
    metadata: dict[str, str]
    envdAccessToken: NotRequired[str]
    allowInternetAccess: NotRequired[bool]
    network: NotRequired[NetworkView]
    lifecycle: NotRequired[Lifecycle]
    domain: NotRequired[str]
    pauseMode: NotRequired[str]


class SandboxMetric(TypedDict):
    """What a sandbox used at one time; in bytes and in percent of one CPU."""

    timestamp: str
    timestampUnix: int
    cpuCount: int
    cpuUsedPct: float
    memTotal: int
    memUsed: int
    memCache: int
    diskTotal: int
    diskUsed: int


class SnapshotView(TypedDict):
    """A snapshot that sandboxes can be made from."""

    snapshotID: str
    names: list[str]


class Alias(TypedDict):
    """The template is there."""

    templateID: str
    public: bool


class ForkAnswer(TypedDict):
    """One fork, or why there is none."""

    sandbox: NotRequired[SandboxView]
    error: NotRequired[FaultBody]


# -- the code interpreter


class MakeContext(Asked):
    """A notebook's language (python unless given) and folder."""

    language: Annotated[Text, Field(max_length=40)] | None = None
    cwd: Annotated[Text, Field(max_length=4096)] | None = None


class Execute(Asked):
    """A cell to run in a context, or in its language's default context."""

    code: Annotated[Text, Field(max_length=512 << 10)] | None = None
    context_id: Annotated[Text, Field(max_length=100)] | None = None
    language: Annotated[Text, Field(max_length=40)] | None = None
    env_vars: Variables | None = None


class ContextView(TypedDict):
    """A notebook's context."""

    id: str
    language: str
    cwd: str
