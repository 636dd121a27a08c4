"""Declarations of the control plane's routes, for dispatch and for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal

from pydantic import BaseModel

from sandbox_gym.e2b_server.control import shapes
from sandbox_gym.server.openapi import Content, Header, Operation, Parameter, Reply, parameters_of
from sandbox_gym.server.openapi.errors import BEFORE_ROUTING, RETRY_AFTER, Problem
from sandbox_gym.server.openapi.operations import TEXT

KEY: Final = ("api_key", "token")
_FAULT: Final = (Content(shapes.FaultBody),)
ALLOW: Final = Header("Allow", "The methods of this path.", {"type": "string"}, always=True)
_NEXT: Final = Header("X-Next-Token", "Token of the next page; absent on the last page.", {"type": "string"})
_IDEMPOTENT: Final = Parameter(
    "Idempotency-Key", "header", "A repeated key returns the same sandbox for ten minutes.", {"type": "string"}
)
_SOMETHING: Final = (Content(shapes.FaultBody | Problem), Content(str, TEXT))

FAULTS: Final[Mapping[int, Reply]] = {
    **BEFORE_ROUTING,
    400: Reply("The request is wrong.", _SOMETHING),
    403: Reply(
        "Not permitted for this tenant, or sent from a page of another site.", (Content(shapes.FaultBody | Problem),)
    ),
    405: Reply("The path has other methods than this one.", _FAULT, (ALLOW,)),
    429: Reply("Over a quota, or the pool is full.", _FAULT, (RETRY_AFTER,)),
    502: Reply("The sandbox was lost during the request.", (Content(shapes.FaultBody | shapes.Gone),)),
    503: Reply("The server can't do it now; try again later.", _FAULT, (RETRY_AFTER,)),
    504: Reply("The operation timed out.", _FAULT),
    507: Reply("No disk space is left for files.", _FAULT),
}
"""Errors that any route of the pool may answer with, as `faults.fault_of` makes them."""
NO_KEY: Final = Reply("The API key is missing or unknown.", _FAULT)
BODY: Final[Mapping[int, Reply]] = {
    408: Reply("The body did not arrive in time.", (Content(shapes.FaultBody | Problem),)),
    413: Reply("The body is too long.", _FAULT),
    415: Reply("The body's content type is not JSON.", (Content(shapes.FaultBody | Problem),)),
}
ABSENT: Final[Mapping[int, Reply]] = {404: Reply("This tenant has none with that id.", _FAULT)}
CONFLICT: Final[Mapping[int, Reply]] = {409: Reply("Not possible in the sandbox's current state.", _FAULT)}
DONE: Final = {204: Reply("Done.")}


def declare(
    name: str,
    method: Literal["GET", "POST", "PUT", "DELETE"],
    path: str,
    summary: str,
    replies: Mapping[int, Reply],
    body: type[BaseModel] | None = None,
    query: type[BaseModel] | None = None,
    more: tuple[Parameter, ...] = (),
) -> Operation:
    """An operation with the errors that any has. Ids of its path are parameters."""
    ids = tuple(
        Parameter(name, "path", "Its id or its name.", {"type": "string", "minLength": 1})
        for name in ("sandboxID", "templateID", "alias", "buildID", "hash")
        if "{" + name + "}" in path
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
        parameters=(*ids, *(() if query is None else parameters_of(query, "query")), *more),
        replies={**FAULTS, 401: NO_KEY, **(BODY if body is not None else {}), **(ABSENT if ids else {}), **replies},
    )


_ONE: Final = "/sandboxes/{sandboxID}"
_LISTED: Final = Reply("One page of the list.", (Content(list[shapes.SandboxDetails]),), (_NEXT,))
_MADE: Final = Reply("It runs.", (Content(shapes.SandboxView),))
HEALTH: Final = Operation(
    method="GET",
    path="/health",
    name="pool_health",
    summary="Check the pool's health.",
    tag="control",
    replies={**FAULTS, 200: Reply("The pool is healthy.", (Content(shapes.PoolHealth),))},
)
CREATE: Final = declare(
    "create_sandbox", "POST", "/sandboxes", "Create a sandbox.",
    {201: _MADE, **ABSENT, **CONFLICT}, shapes.CreateSandbox, more=(_IDEMPOTENT,),
)  # fmt: skip
LIST_RUNNING: Final = declare(
    "list_running", "GET", "/sandboxes", "List running sandboxes.", {200: _LISTED}, query=shapes.SandboxQuery
)
LIST: Final = declare(
    "list_sandboxes",
    "GET",
    "/v2/sandboxes",
    "List sandboxes, paused ones too.",
    {200: _LISTED},
    query=shapes.SandboxQuery,
)
INFO: Final = declare(
    "get_sandbox", "GET", _ONE, "Get one sandbox.", {200: Reply("The sandbox.", (Content(shapes.SandboxDetails),))}
)
KILL: Final = declare("kill_sandbox", "DELETE", _ONE, "Kill a sandbox for good.", DONE)
CONNECT: Final = declare(
    "connect_sandbox", "POST", _ONE + "/connect", "Connect to a sandbox; resume it if it is paused.",
    {200: Reply("It was running.", (Content(shapes.SandboxView),)), 201: _MADE, **CONFLICT}, shapes.Resume,
)  # fmt: skip
RESUME: Final = declare(
    "resume_sandbox", "POST", _ONE + "/resume", "Resume a paused sandbox; a running one is a conflict.",
    {201: _MADE, **CONFLICT}, shapes.Resume,
)  # fmt: skip
TIMEOUT: Final = declare(
    "set_timeout", "POST", _ONE + "/timeout", "Set how long a sandbox lives from now on.", DONE, shapes.Timeout
)
REFRESH: Final = declare(
    "refresh_sandbox", "POST", _ONE + "/refreshes", "Extend a sandbox's life.", DONE, shapes.Refresh
)
METRICS: Final = declare(
    "sandbox_metrics", "GET", _ONE + "/metrics", "Get a sandbox's use of CPU, memory and disk.",
    {200: Reply("One entry for each measurement.", (Content(list[shapes.SandboxMetric]),))}, query=shapes.MetricsQuery,
)  # fmt: skip
PAUSE: Final = declare(
    "pause_sandbox", "POST", _ONE + "/pause", "Pause a sandbox: keep its files, and what runs.",
    {**DONE, **CONFLICT}, shapes.Pause,
)  # fmt: skip
SNAPSHOT: Final = declare(
    "make_snapshot", "POST", _ONE + "/snapshots", "Snapshot a sandbox's files as a template; the sandbox goes on.",
    {201: Reply("The snapshot.", (Content(shapes.SnapshotView),)), **CONFLICT}, shapes.MakeSnapshot,
)  # fmt: skip
FORK: Final = declare(
    "fork_sandbox", "POST", _ONE + "/fork", "Fork a sandbox: create others from its current state.",
    {201: Reply("One sandbox or one error for each fork.", (Content(list[shapes.ForkAnswer]),)), **CONFLICT},
    shapes.Fork,
)  # fmt: skip
NETWORK: Final = declare(
    "change_network", "PUT", _ONE + "/network", "Replace a sandbox's network rules.",
    {**DONE, **CONFLICT}, shapes.ChangeNetwork,
)  # fmt: skip
SNAPSHOTS: Final = declare(
    "list_snapshots", "GET", "/snapshots", "List snapshots that sandboxes can be created from.",
    {200: Reply("One page of the list.", (Content(list[shapes.SnapshotView]),), (_NEXT,))}, query=shapes.SnapshotQuery,
)  # fmt: skip
ALIAS: Final = declare(
    "get_alias", "GET", "/templates/aliases/{alias}", "Check whether a template exists.",
    {200: Reply("It exists.", (Content(shapes.Alias),))},
)  # fmt: skip
DELETE_TEMPLATE: Final = declare(
    "delete_template", "DELETE", "/templates/{templateID}", "Delete a snapshot, or a template.", DONE
)


def second(operation: Operation) -> Operation:
    """The same route below /v2, which newer SDKs use."""
    name, summary = f"{operation.name}_v2", f"{operation.summary[:-1]}, for newer SDKs."
    return replace(operation, path=f"/v2{operation.path}", name=name, summary=summary)
