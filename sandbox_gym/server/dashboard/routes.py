"""The dashboard's routes as they are declared. Its pages' own files, below /dashboard/static, are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from pydantic import BaseModel

from sandbox_gym.server.dashboard.operator_auth import ACTION_HEADER, PREFIX
from sandbox_gym.server.dashboard.shapes import (
    ComparedQuery,
    ComparedShown,
    FoundQuery,
    FoundVerdicts,
    HistoryQuery,
    HistoryShown,
    LiveEvent,
    LivePicture,
    PageQuery,
    PoolShown,
    Rejudged,
    RunShown,
    TaskPage,
    VerdictShown,
)
from sandbox_gym.server.openapi import Content, Header, Operation, Parameter, Reply, parameters_of
from sandbox_gym.server.openapi.errors import BEFORE_ROUTING, BUSY, RETRY_AFTER, WITH_BODY, NotNow, Problem
from sandbox_gym.server.openapi.operations import HTML

_PROBLEM: Final = (Content(Problem),)
_PAGE: Final = (Content(str, HTML),)
_LOCATION: Final = Header("Location", "Where to.", {"type": "string"}, always=True)
_ELSEWHERE: Final = Reply("Elsewhere.", (), (_LOCATION,))
_OUTSIDE: Final[Mapping[int, Reply]] = {401: Reply("Without the token.", _PROBLEM)}
_ABSENT: Final[Mapping[int, Reply]] = {404: Reply("Nothing of that name is kept.", _PROBLEM)}
_ID: Final = Parameter("id", "path", "A verdict's.", {"type": "string", "minLength": 1})
_DIGEST: Final = Parameter("digest", "path", "A task's, of 64 hexadecimal digits.", {"type": "string", "minLength": 1})
_RUN: Final = (
    _ID,
    Parameter("judgement", "path", "Its number.", {"type": "integer", "minimum": 0}),
    Parameter("place", "path", "The run's number, or build:number.", {"type": "string", "minLength": 1}),
)
_ACTION: Final = Parameter(
    ACTION_HEADER, "header", "Anything: a page of another site can't send it.", {"type": "string"}, required=True
)
_FORM: Final = "application/x-www-form-urlencoded"


def _route(
    name: str,
    method: Literal["GET", "POST"],
    path: str,
    summary: str,
    replies: Mapping[int, Reply],
    parameters: tuple[Parameter, ...] = (),
    bodies: tuple[Content, ...] = (),
    *,
    security: tuple[str, ...] = ("token",),
) -> Operation:
    return Operation(
        method=method, path=PREFIX + path, name=f"dashboard_{name}", summary=summary, tag="dashboard",
        security=security, parameters=parameters, bodies=bodies, body_required=False,
        replies={**BEFORE_ROUTING, **replies},
    )  # fmt: skip


def _data(shape: object) -> dict[int, Reply]:
    return {200: Reply("It.", (Content(shape),)), **_OUTSIDE, **_ABSENT, **BUSY}


def _asked(name: str, path: str, summary: str, shape: object, query: type[BaseModel]) -> Operation:
    return _route(name, "GET", path, summary, {**_data(shape), 422: WITH_BODY[422]}, parameters_of(query, "query"))


_ENTRANCE: Final[Mapping[int, Reply]] = {200: Reply("A page.", _PAGE), 303: _ELSEWHERE}


def _page(name: str, path: str, summary: str, *parameters: Parameter) -> Operation:
    return _route(name, "GET", path, summary, _ENTRANCE, parameters, security=())


INDEX: Final = _route("index", "GET", "", "The page of the live picture.", _ENTRANCE, security=())
LOGIN: Final = _route("login", "GET", "/login", "The form for the token.", _ENTRANCE, security=())
LOG_IN: Final = _route(
    "log_in", "POST", "/login", "The token for a cookie.",
    {303: _ELSEWHERE, 401: Reply("The form again.", _PAGE), **{one: WITH_BODY[one] for one in (408, 413, 415)}},
    bodies=(Content(None, _FORM),), security=(),
)  # fmt: skip
LOG_OUT: Final = _route("log_out", "POST", "/logout", "The cookie away.", {303: _ELSEWHERE}, security=())
VERDICT_PAGE: Final = _page("verdict_page", "/verdicts/{id}", "The page of a verdict.", _ID)
HISTORY_PAGE: Final = _page("history_page", "/history", "The page of searches and charts.")
TASK_PAGE: Final = _page("task_page", "/tasks/{digest}", "The page of a task.", _DIGEST)
COMPARE_PAGE: Final = _page("compare_page", "/compare", "The page of two windows.")
FOUND: Final = _asked("found", "/api/verdicts", "Verdicts that match, the latest first.", FoundVerdicts, FoundQuery)
HISTORY: Final = _asked("history", "/api/history", "Verdicts over time or steps.", HistoryShown, HistoryQuery)
COMPARED: Final = _asked("compared", "/api/compare", "Two windows of time or steps.", ComparedShown, ComparedQuery)
TASK: Final = _route("task", "GET", "/api/tasks/{digest}", "One task's verdicts.", _data(TaskPage), (_DIGEST,))
VERDICT: Final = _route(
    "verdict", "GET", "/api/verdicts/{id}", "One verdict.", _data(VerdictShown),
    (_ID, *parameters_of(PageQuery, "query")),
)  # fmt: skip
RUN: Final = _route(
    "run", "GET", "/api/verdicts/{id}/runs/{judgement:int}/{place}", "One run's outputs.", _data(RunShown), _RUN
)
REJUDGE: Final = _route(
    "rejudge", "POST", "/api/verdicts/{id}/rejudge", "Judge a verdict again.", _data(Rejudged), (_ID, _ACTION)
)


def _live(shape: object) -> tuple[Operation, Operation]:
    full = Reply("Too many look on.", (Content(Problem | NotNow),), (RETRY_AFTER,))
    stream = Reply("The picture once a second, while the client listens.", (Content(LiveEvent, "text/event-stream"),))
    picture = {200: Reply("It.", (Content(shape),)), **_OUTSIDE}
    return (
        _route("live", "GET", "/api/live", "The live picture.", picture),
        _route("events", "GET", "/api/events", "The same as a stream.", {200: stream, **_OUTSIDE, 503: full}),
    )


LIVE, EVENTS = _live(LivePicture)
_ENTERED: Final = (INDEX, LOGIN, LOG_IN, LOG_OUT, VERDICT_PAGE, HISTORY_PAGE, TASK_PAGE, COMPARE_PAGE)
_VERDICTS: Final = (FOUND, VERDICT, RUN, REJUDGE, HISTORY, TASK, COMPARED)


def server_operations() -> Sequence[Operation]:
    """A resources server's."""
    return (*_ENTERED, LIVE, EVENTS, *_VERDICTS)


def pool_operations() -> Sequence[Operation]:
    """The pool's, which has no verdicts: those routes answer 404."""
    return (*_ENTERED, *_live(PoolShown), *_VERDICTS)
