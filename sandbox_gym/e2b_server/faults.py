"""Errors in the forms that E2B's SDK understands: status, code and message. Knows no route."""

from __future__ import annotations

import json
import traceback
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import structlog
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from sandbox_gym.errors import BoxLost, PoolFull, SandboxGymError, Unavailable
from sandbox_gym.faults import is_shortage
from sandbox_gym.sandbox.channel.envd import Refused
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot, SnapshotFailed

_log = structlog.get_logger(__name__)

STATUS: Final = {
    "invalid_argument": 400,
    "failed_precondition": 400,
    "unauthenticated": 401,
    "permission_denied": 403,
    "not_found": 404,
    "deadline_exceeded": 504,
    "already_exists": 409,
    "resource_exhausted": 429,
    "no_space": 507,
    "unavailable": 503,
    "unimplemented": 501,
    "internal": 500,
}
"""HTTP statuses by Connect's codes, and the two of our own: no_space, refused."""


class Fault(SandboxGymError):
    """An error response."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        retry_after_s: float = 0,
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after_s, self.code = status, message, retry_after_s, code
        self._headers = dict(headers or {})

    def response(self) -> Response:
        """`{"code", "message"}`: anything but JSON breaks the SDK."""
        return as_json({"code": self.status, "message": self.message}, self.status, self.headers())

    def headers(self) -> dict[str, str]:
        """Headers of the response besides its body's."""
        if self.status not in (429, 503):
            return dict(self._headers)
        return {**self._headers, "Retry-After": str(max(1, round(self.retry_after_s)))}


class SandboxStream(StreamingResponse):
    """What a sandbox sends. Where that is lost, or paused, the connection is closed before the body's end."""

    async def stream_response(self, send: Send) -> None:
        with suppress(BoxLost, TimeoutError):
            await super().stream_response(send)


def as_json(document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response that no content can turn into an encoding error."""
    return Response(json.dumps(document).encode("ascii"), status, dict(headers or {}), media_type="application/json")


def gone(sandbox_id: str) -> Response:
    """The proxy's response for a sandbox that does not run; the SDK matches its wording."""
    return as_json({"sandboxId": sandbox_id, "message": "The sandbox was not found", "code": 502}, 502)


def port_closed(sandbox_id: str, port: int) -> Response:
    message = "The sandbox is running but port is not open"
    return as_json({"sandboxId": sandbox_id, "message": message, "port": port, "code": 502}, 502)


def sandbox_not_found(sandbox_id: str) -> Fault:
    """The same for a sandbox that does not exist and for another tenant's."""
    return Fault(404, f"Sandbox {sandbox_id[:80]!r} not found")


def fault_of(error: Exception) -> Fault:
    """Any error as a response. An unexpected one is logged under an id, and the client gets only that id."""
    if isinstance(error, Fault):
        return error
    if isinstance(error, Refused):
        return Fault(STATUS.get(error.code, 500), str(error), code=error.code)
    if isinstance(error, PoolFull):
        return Fault(429, str(error), retry_after_s=error.retry_after_s)
    if isinstance(error, BoxLost):
        return Fault(502, "The sandbox was not found")
    if isinstance(error, NoSuchSnapshot):
        return Fault(404, str(error))
    if isinstance(error, SnapshotFailed):
        return Fault(507, str(error))
    if isinstance(error, Unavailable):
        return Fault(503, str(error), retry_after_s=error.retry_after_s)
    if isinstance(error, ClientDisconnect):
        return Fault(499, "the client has left")
    if is_shortage(error):
        _log.warning("machine_short", why=f"{type(error).__name__}: {str(error)[:300]}")
        return Fault(503, "the server's machine has run out of a resource", retry_after_s=5)
    if isinstance(error, TimeoutError):
        return Fault(504, "the operation timed out", code="deadline_exceeded")
    error_id = uuid.uuid4().hex
    frames = "".join(traceback.format_tb(error.__traceback__))  # no message, no locals: they may hold secrets
    _log.error("unexpected_error", error_id=error_id, type=type(error).__name__, frames=frames)
    return Fault(500, f"internal error {error_id}, logged by its id")
