"""The control plane's routes as they are declared, and its document's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal

from pydantic import BaseModel

from sandbox_gym.e2b_server.control.shapes import (
    Alias,
    ChangeNetwork,
    CreateSandbox,
    FaultBody,
    Fork,
    ForkAnswer,
    Gone,
    MakeSnapshot,
    MetricsQuery,
    Pause,
    PoolHealth,
    Refresh,
    SandboxDetails,
    SandboxMetric,
    SandboxQuery,
    SandboxView,
    SnapshotQuery,
    SnapshotView,
    Timeout,
)
from sandbox_gym.server.openapi import Content, Header, Operation, Parameter, Reply, parameters_of
from sandbox_gym.server.openapi.errors import AT_THE_DOOR, RETRY_AFTER, Problem
from sandbox_gym.server.openapi.operations import TEXT

KEY: Final = ("api_key", "token")
_FAULT: Final = (Content(FaultBody),)
ALLOW: Final = Header("Allow", "The methods that there are.", {"type": "string"}, always=True)
_NEXT: Final = Header("X-Next-Token", "Of the next page, where there is one.", {"type": "string"})
_IDEMPOTENT: Final = Parameter(
    "Idempotency-Key", "header", "The same key gets the same sandbox, for ten minutes.", {"type": "string"}
)
_SOMETHING: Final = (Content(FaultBody | Problem), Content(str, TEXT))

FAULTS: Final[Mapping[int, Reply]] = {
    **AT_THE_DOOR,
    400: Reply("The request's own fault.", _SOMETHING),
    403: Reply("Not for this tenant, or from a page of another site.", (Content(FaultBody | Problem),)),
    405: Reply("The path has other methods.", _FAULT, (ALLOW,)),
    429: Reply("Over a quota, or no room.", _FAULT, (RETRY_AFTER,)),
    502: Reply("The sandbox went meanwhile.", (Content(FaultBody | Gone),)),
    503: Reply("The server's fault, and passing.", _FAULT, (RETRY_AFTER,)),
    504: Reply("It took too long.", _FAULT),
    507: Reply("No room to keep files.", _FAULT),
}
"""What any route of the pool may answer, as `faults.fault_of` has it."""
NO_KEY: Final = Reply("No key, or none that is known.", _FAULT)
BODY: Final[Mapping[int, Reply]] = {
    408: Reply("The body did not come in time.", (Content(FaultBody | Problem),)),
    413: Reply("The body is too long.", _FAULT),
    415: Reply("The body says that it is no JSON.", (Content(FaultBody | Problem),)),
}
_ABSENT: Final[Mapping[int, Reply]] = {404: Reply("There is none of yours.", _FAULT)}
_CONFLICT: Final[Mapping[int, Reply]] = {409: Reply("Not in the state that it is in.", _FAULT)}
_DONE: Final = {204: Reply("Done.")}


def _operation(
    name: str,
    method: Literal["GET", "POST", "PUT", "DELETE"],
    path: str,
    summary: str,
    replies: Mapping[int, Reply],
    body: type[BaseModel] | None = None,
    query: type[BaseModel] | None = None,
    more: tuple[Parameter, ...] = (),
) -> Operation:
    places = tuple(
        Parameter(place, "path", "Its id, or its name.", {"type": "string", "minLength": 1})
        for place in ("sandboxID", "templateID", "alias")
        if "{" + place + "}" in path
    )
    return Operation(
        method=method,
        path=path,
        name=name,
        summary=summary,
        tag="control",
        security=KEY,
        bodies=() if body is None else (Content(body),),
        body_required=False,
        parameters=(*places, *(() if query is None else parameters_of(query, "query")), *more),
        replies={**FAULTS, 401: NO_KEY, **(BODY if body is not None else {}), **(_ABSENT if places else {}), **replies},
    )


_ONE: Final = "/sandboxes/{sandboxID}"
_LISTED: Final = Reply("A page of them.", (Content(list[SandboxDetails]),), (_NEXT,))
_MADE: Final = Reply("It runs.", (Content(SandboxView),))
HEALTH: Final = Operation(
    method="GET",
    path="/health",
    name="pool_health",
    summary="The pool answers.",
    tag="control",
    replies={**FAULTS, 200: Reply("It does.", (Content(PoolHealth),))},
)
CREATE: Final = _operation(
    "create_sandbox", "POST", "/sandboxes", "Make a sandbox.",
    {201: _MADE, **_ABSENT, **_CONFLICT}, CreateSandbox, more=(_IDEMPOTENT,),
)  # fmt: skip
LIST_RUNNING: Final = _operation(
    "list_running", "GET", "/sandboxes", "Sandboxes that run.", {200: _LISTED}, query=SandboxQuery
)
LIST: Final = _operation(
    "list_sandboxes", "GET", "/v2/sandboxes", "Sandboxes, paused ones too.", {200: _LISTED}, query=SandboxQuery
)
INFO: Final = _operation("get_sandbox", "GET", _ONE, "One sandbox.", {200: Reply("It.", (Content(SandboxDetails),))})
KILL: Final = _operation("kill_sandbox", "DELETE", _ONE, "End a sandbox for good.", _DONE)
CONNECT: Final = _operation(
    "connect_sandbox", "POST", _ONE + "/connect", "Have a sandbox run, resumed where it is paused.",
    {200: Reply("It ran.", (Content(SandboxView),)), 201: _MADE, **_CONFLICT}, Timeout,
)  # fmt: skip
RESUME: Final = _operation(
    "resume_sandbox", "POST", _ONE + "/resume", "Resume a paused sandbox; one that runs is a conflict.",
    {201: _MADE, **_CONFLICT}, Timeout,
)  # fmt: skip
TIMEOUT: Final = _operation(
    "set_timeout", "POST", _ONE + "/timeout", "How long a sandbox lives from now on.", _DONE, Timeout
)
REFRESH: Final = _operation(
    "refresh_sandbox", "POST", _ONE + "/refreshes", "Have a sandbox live longer.", _DONE, Refresh
)
METRICS: Final = _operation(
    "sandbox_metrics", "GET", _ONE + "/metrics", "What a sandbox used.",
    {200: Reply("Each time that it was looked.", (Content(list[SandboxMetric]),))}, query=MetricsQuery,
)  # fmt: skip
PAUSE: Final = _operation(
    "pause_sandbox", "POST", _ONE + "/pause", "Keep a sandbox's files, end its processes.",
    {**_DONE, **_CONFLICT}, Pause,
)  # fmt: skip
SNAPSHOT: Final = _operation(
    "make_snapshot", "POST", _ONE + "/snapshots", "Keep a sandbox's files as a template; it goes on.",
    {201: Reply("It is kept.", (Content(SnapshotView),)), **_CONFLICT}, MakeSnapshot,
)  # fmt: skip
FORK: Final = _operation(
    "fork_sandbox", "POST", _ONE + "/fork", "Sandboxes that go on from where this one is.",
    {201: Reply("Each, or why not.", (Content(list[ForkAnswer]),)), **_CONFLICT}, Fork,
)  # fmt: skip
NETWORK: Final = _operation(
    "change_network", "PUT", _ONE + "/network", "What a sandbox may reach from now on.",
    {**_DONE, **_CONFLICT}, ChangeNetwork,
)  # fmt: skip
SNAPSHOTS: Final = _operation(
    "list_snapshots", "GET", "/snapshots", "Snapshots that sandboxes can be made from.",
    {200: Reply("A page of them.", (Content(list[SnapshotView]),), (_NEXT,))}, query=SnapshotQuery,
)  # fmt: skip
ALIAS: Final = _operation(
    "get_alias", "GET", "/templates/aliases/{alias}", "Whether a template is there.",
    {200: Reply("It is.", (Content(Alias),))},
)  # fmt: skip
DELETE_TEMPLATE: Final = _operation("delete_template", "DELETE", "/templates/{templateID}", "Delete a snapshot.", _DONE)


def second(operation: Operation) -> Operation:
    """The same route below /v2, where newer SDKs ask."""
    name, summary = f"{operation.name}_v2", f"{operation.summary[:-1]}, as newer SDKs ask."
    return replace(operation, path=f"/v2{operation.path}", name=name, summary=summary)
