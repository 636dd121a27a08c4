"""One HTTP exchange: reads a bounded body, writes one JSON document, cancels the work when the client disconnects.

Owns the mapping from the error tree to HTTP; knows no route.
"""

from __future__ import annotations

import traceback
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

import anyio
import structlog
from fastapi import Request, Response
from starlette.requests import ClientDisconnect

from sandbox_gym.errors import InternalError, PoolFull, RequestError, SandboxGymError, SessionClosed, Unavailable
from sandbox_gym.faults import is_shortage, provider_down
from sandbox_gym.judging import asked, asked_bytes
from sandbox_gym.server.protocol.wire import Document, dumps, loads, request_error_document

MAX_BODY_BYTES = 256 * 1024 * 1024
CLIENT_CLOSED = 499

T = TypeVar("T")


class ToolFailed(SandboxGymError):
    """Marks that a tool's wire has its own response to a server failure."""

    def __init__(self, document: Mapping[str, object], status: int, retry_after_s: int) -> None:
        super().__init__(f"{status}")
        self.document, self.status, self.retry_after_s = document, status, retry_after_s


_log = structlog.get_logger("sandbox_gym.server")


class BodyTooLarge(SandboxGymError):
    """The request's body is over the limit."""


class ClientGone(SandboxGymError):
    """The client closed the connection, so no response is needed."""


_ANSWERED: Final = (RequestError, SessionClosed, ToolFailed, BodyTooLarge, ClientGone, ClientDisconnect)
"""No fault of the server's, or one with an answer of its own."""


def reply(
    document: Mapping[str, object] | Sequence[object], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON response that no content can turn into an encoding error."""
    return Response(dumps(document), status, dict(headers or {}), media_type="application/json")


def plain(text: str) -> Response:
    """Plain text for a model; lone surrogates are replaced."""
    return Response(text.encode("utf-8", "replace"), media_type="text/plain; charset=utf-8")


async def read_document(request: Request, *, empty_is_object: bool = False) -> Document:
    """The request's JSON object, read up to the limit. Raises BodyTooLarge, RequestError, ClientGone."""
    check_declared(request)
    raw = bytearray()
    try:
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > MAX_BODY_BYTES:
                raise BodyTooLarge(f"the body has over {MAX_BODY_BYTES} bytes")
    except ClientDisconnect:
        raise ClientGone from None
    if empty_is_object and not raw.strip():
        return {}
    asked_bytes.set(len(raw))
    return await asked(partial(loads, bytes(raw)))


def check_declared(request: Request) -> None:
    """Raises BodyTooLarge before a byte of a body that says how long it is was read."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
        raise BodyTooLarge(f"the body has {declared} bytes; at most {MAX_BODY_BYTES} are accepted")


async def while_connected(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """The work's result; the work is cancelled when the client disconnects. Call it after the body was read.

    Raises ClientGone, and what the work raises.
    """
    done: list[T] = []
    raised: list[Exception] = []

    async def watch(scope: anyio.CancelScope) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch, group.cancel_scope)
        try:
            done.append(await work())
        except Exception as error:  # passed to the caller unwrapped: a task group would wrap it in a group
            raised.append(error)
        group.cancel_scope.cancel()
    if raised:
        raise raised[0]
    if not done:
        raise ClientGone
    return done[0]


def error_reply(error: Exception) -> Response:
    """An error's status and body. An unexpected error is logged under an id, and the client gets only that id."""
    if isinstance(error, RequestError):
        return reply(request_error_document(error), 422)
    if isinstance(error, Unavailable):
        return unavailable(error, {"failure_kind": error.failure_kind, "detail": str(error) or error.failure_kind})
    if isinstance(error, ToolFailed):
        return reply(error.document, error.status, {"Retry-After": str(error.retry_after_s)})
    if isinstance(error, BodyTooLarge):
        return reply({"detail": str(error)}, 413)
    if isinstance(error, SessionClosed):
        return reply({"detail": str(error)}, 409)
    if isinstance(error, ClientGone | ClientDisconnect):
        return Response(status_code=CLIENT_CLOSED)
    fault = fault_of_ours(error)
    assert fault is not None, "those have their answers above"
    return error_reply(fault)


def fault_of_ours(error: Exception) -> Unavailable | None:
    """A handler's error as the cause of a missing verdict; None where the request or its client is the cause. An
    unexpected error is logged under an id."""
    if isinstance(error, Unavailable):
        return error
    if isinstance(error, _ANSWERED):
        return None
    if is_shortage(error):
        return _short(error)
    return InternalError(f"internal error, logged under id {_log_unexpected(error)}")


def _short(error: Exception) -> Unavailable:
    _log.warning("machine_short", why=f"{type(error).__name__}: {str(error)[:300]}")
    return provider_down("the server's machine has run out of a resource", error)


def _log_unexpected(error: Exception) -> str:
    error_id = uuid.uuid4().hex
    frames = "".join(traceback.format_tb(error.__traceback__))  # no message, no locals: they may hold answers
    _log.error("unexpected_error", error_id=error_id, type=type(error).__name__, frames=frames)
    return error_id


def unavailable(error: Unavailable, document: Mapping[str, object]) -> Response:
    """503 with Retry-After; 500 for an error of this program, 429 where other requests are waiting first, 422 where a
    retry would find the same."""
    if not error.worth_a_retry:
        return reply(document, 422)
    status = {InternalError: 500, PoolFull: 429}.get(type(error), 503)
    return reply(document, status, {"Retry-After": str(max(1, round(error.retry_after_s)))})
