"""The host's routes as OpenAPI operations, made of the shapes that its handlers and tools are made with."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Final, Union, cast, get_args, get_origin

from sandbox_gym.server.coding.sandbox_fusion import FusionFailed, FusionRan
from sandbox_gym.server.nemo_evaluator import EvaluatorSeed, EvaluatorTask, EvaluatorVerdict, EvaluatorVerify
from sandbox_gym.server.nemo_gym.batch import NDJSON, BatchLine
from sandbox_gym.server.openapi import Content, Header, Operation, Parameter, Reply, examples, parameters_of
from sandbox_gym.server.openapi.errors import (
    BEFORE_ROUTING,
    BUSY,
    REFUSED,
    REQUEST_ID,
    RETRY_AFTER,
    SESSION_CLOSED,
    WITH_BODY,
    WITHOUT_TOKEN,
    NotNow,
    json_reply,
)
from sandbox_gym.server.openapi.operations import TEXT
from sandbox_gym.server.protocol.resources import DescribesVerify, ResourcesServer, Tool
from sandbox_gym.server.protocol.shapes import (
    NO_VERDICT_HEADER,
    REPLAYED_HEADER,
    VERDICT_ID_HEADER,
    Aggregate,
    Aggregated,
    CallerHeaders,
    Close,
    Closed,
    DatasetSize,
    HealthDocument,
    KeyHeaders,
    Liveness,
    NoVerdictHeaders,
    NoVerdictQuery,
    RequestHeaders,
    ReverifyMode,
    Seed,
    Seeded,
)
from sandbox_gym.server.protocol.wire import Document, ShortRow, Unprocessable, VerifyBody, VerifyFields
from sandbox_gym.server.tools.shapes import shape_of

TOKEN: Final = ("token",)
_VERDICT_ID: Final = Header(VERDICT_ID_HEADER, "Of the verdict, as the journal has it.", {"type": "string"})
_REPLAYED: Final = Header(REPLAYED_HEADER, "It was not run for this request.", {"type": "string", "enum": ["true"]})
_NO_VERDICT: Final = Header(
    NO_VERDICT_HEADER, "Why the session is not ready, and its verify has no verdict.", {"type": "string"}
)
_ALWAYS: Final = parameters_of(RequestHeaders, "header")
_CALLER: Final = (*_ALWAYS, *parameters_of(CallerHeaders, "header"))
_FUSION: Final = (FusionRan, FusionFailed)


def host_operations(resources: ResourcesServer) -> Mapping[str, Operation]:
    """The protocol's own routes, by the name of the host's handler."""
    listed = [
        _get("liveness", "/", "The process answers.", {200: json_reply(Liveness, "It does.")}, security=()),
        _health(),
        _get("reverify_mode", "/reverify_mode", "Whether a verify needs anything but its body.",
             {200: json_reply(ReverifyMode, "It does not.")}),
        _metrics(),
        _get("dataset_size", "/dataset_size", "How many rows an evaluator may ask for.",
             {200: json_reply(DatasetSize, "So many."), 422: WITH_BODY[422]}),
        _seed(resources),
        _verify(resources),
        _verify_batch(resources),
        _post("aggregate_metrics", "/aggregate_metrics", "What many verify responses come to.",
              Content(Aggregate, examples={"two rollouts": examples.AGGREGATED}),
              {200: json_reply(Aggregated, "NeMo Gym's AggregateMetrics.")}),
        _post("close_session", "/close_session", "Close a session for good; again is fine.",
              Content(Close), {200: json_reply(Closed, "It is closed."), **BUSY}),
    ]  # fmt: skip
    return {one.name: one for one in listed}


def tool_operation(name: str, tool: Tool, given: Mapping[str, Document] | None = None) -> Operation:
    """An agent's tool: POST of its arguments, in the session of the cookie."""
    shape = shape_of(tool)
    members = get_args(shape.gives) if get_origin(shape.gives) in (Union, UnionType) else (shape.gives,)
    documents = [one for one in members if one is not str]
    contents = (Content(str, TEXT),) if str in members else ()
    if documents:
        contents = (Content(_any_of(documents)), *contents)
    replies = {200: Reply("What the tool gives.", contents, (REQUEST_ID,)), **SESSION_CLOSED, **REFUSED, **BUSY}
    if not {FusionRan, *_results(documents)}.isdisjoint(documents):
        replies |= _fusion_failures()
    return Operation(
        method="GET" if shape.reads else "POST",
        path=f"/{name}",
        summary=(inspect.getdoc(tool) or name).partition("\n")[0],
        tag="tools",
        security=TOKEN,
        bodies=() if shape.reads else (Content(shape.takes, examples=given or {}),),
        parameters=_CALLER,
        replies={**BEFORE_ROUTING, **WITHOUT_TOKEN, **({} if shape.reads else WITH_BODY), **replies},
    )


def _results(documents: Sequence[object]) -> set[object]:
    return {one for one in documents if getattr(one, "__name__", "") == "FusionResult"}


def _fusion_failures() -> dict[int, Reply]:
    """No run: 504, which clients of SandboxFusion try again; 503 where another try would find the same."""
    failed = (Content(_any_of([*_FUSION, NotNow])),)
    return {
        503: Reply("The server's fault; a compiler is not installed, or a checker is broken.", failed, (RETRY_AFTER,)),
        504: Reply("No run now: send the request again.", failed, (RETRY_AFTER,)),
    }


def _any_of(shapes: Sequence[object]) -> object:
    return functools.reduce(operator.or_, cast("Sequence[type]", shapes))


def _get(
    name: str, path: str, summary: str, replies: Mapping[int, Reply], security: tuple[str, ...] = TOKEN
) -> Operation:
    refusals = {**BEFORE_ROUTING, **(WITHOUT_TOKEN if security else {})}
    return Operation(
        method="GET", path=path, name=name, summary=summary, tag="protocol", security=security, parameters=_ALWAYS,
        replies={**refusals, **replies},
    )  # fmt: skip


def _post(
    name: str,
    path: str,
    summary: str,
    body: Content,
    replies: Mapping[int, Reply],
    *,
    required: bool = True,
    parameters: tuple[Parameter, ...] = _ALWAYS,
) -> Operation:
    return Operation(
        method="POST", path=path, name=name, summary=summary, tag="protocol", security=TOKEN, bodies=(body,),
        body_required=required, parameters=parameters,
        replies={**BEFORE_ROUTING, **WITHOUT_TOKEN, **WITH_BODY, **replies},
    )  # fmt: skip


def _health() -> Operation:
    down = Reply("None can, and why.", (Content(_any_of([HealthDocument, NotNow])),), (REQUEST_ID, RETRY_AFTER))
    up = json_reply(HealthDocument, "Verdicts can be had.")
    return _get("health", "/health", "Whether verdicts can be had.", {200: up, 503: down}, security=())


def _metrics() -> Operation:
    shown = Reply("Prometheus' text format.", (Content(str, TEXT),), (REQUEST_ID,))
    return _get("metrics", "/metrics", "Everything counted, for Prometheus.", {200: shown, 503: BUSY[503]})


def _seed(resources: ResourcesServer) -> Operation:
    rows = {name: {key: value for key, value in body.items() if key not in ("response", "model_patch")}
            for name, body in _examples(resources).items()}  # fmt: skip
    return _post(
        "seed_session", "/seed_session",
        "Begin a session: with a row, with an id and a row, or with nothing; an evaluator's asks for a row.",
        Content(_any_of([Seed, EvaluatorSeed, Document]), examples={"nothing": {}, **rows}),
        {
            200: json_reply(_any_of([Seeded, EvaluatorTask]), "It is ready, or the row.", _NO_VERDICT),
            **SESSION_CLOSED, **REFUSED, **BUSY,
        },
        required=False, parameters=(*_ALWAYS, *parameters_of(NoVerdictHeaders, "header"),
                                    *parameters_of(NoVerdictQuery, "query")),
    )  # fmt: skip


def _verify(resources: ResourcesServer) -> Operation:
    fields = list(resources.verify_fields) if isinstance(resources, DescribesVerify) else []
    given = {**_examples(resources), "an evaluator's": examples.EVALUATOR} if resources.kind == "math" else (
        _examples(resources)
    )  # fmt: skip
    masked = Content(_any_of([VerifyFields, NotNow]))
    return _post(
        "verify", "/verify", "What an answer is worth.",
        Content(_any_of([VerifyBody, ShortRow, EvaluatorVerify]), examples=given),
        {
            200: json_reply(
                _any_of([*fields, VerifyFields, EvaluatorVerdict]),
                "A verdict: the request as it came, and these fields over it; of a short row these fields alone.",
                _VERDICT_ID, _REPLAYED,
            ),
            422: Reply(
                "The request is wrong; or its row names what is not to be had, masked.",
                (Content(_any_of([Unprocessable, VerifyFields, NotNow])),), (REQUEST_ID,),
            ),
            429: Reply("Too many requests wait; masked.", (masked,), (REQUEST_ID, RETRY_AFTER)),
            503: Reply("No verdict, for a reason of the server's own; masked.", (masked,), (REQUEST_ID, RETRY_AFTER)),
        },
        parameters=(*_CALLER, *parameters_of(KeyHeaders, "header"), *parameters_of(NoVerdictQuery, "query")),
    )  # fmt: skip


def _verify_batch(resources: ResourcesServer) -> Operation:
    one = next(iter(_examples(resources).values()), {})
    row = _any_of([VerifyBody, ShortRow, EvaluatorVerify])
    lines = Reply("A line for each line that is not blank, as they come.", (Content(BatchLine, NDJSON),), (REQUEST_ID,))
    return Operation(
        method="POST", path="/verify/batch", name="verify_batch", tag="protocol", security=TOKEN,
        summary="What many answers are worth: a body of `/verify` a line, and an answer a line.",
        bodies=(Content(row, NDJSON), Content(row, examples={"a batch of one": one} if one else {})),
        parameters=(*_CALLER, *parameters_of(KeyHeaders, "header"), *parameters_of(NoVerdictQuery, "query")),
        replies={**BEFORE_ROUTING, **WITHOUT_TOKEN, **WITH_BODY, 200: lines, 503: BUSY[503]},
    )  # fmt: skip


def _examples(resources: ResourcesServer) -> Mapping[str, Document]:
    return resources.verify_examples if isinstance(resources, DescribesVerify) else {}
