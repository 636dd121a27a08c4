"""Declarations of the errors that every route of a resources server shares, with their bodies and headers.

They are answered elsewhere: by the server before any handler (400, 401, 403, 405, 408, 413, 415, 421, 431), and by
`exchange.error_reply` for what a handler raises (409, 413, 422, 429, 503).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from typing_extensions import TypedDict

from sandbox_gym.server.openapi.operations import TEXT, Content, Header, Reply
from sandbox_gym.server.protocol.wire import Unprocessable


class Problem(TypedDict):
    """A message that says what is wrong."""

    detail: str


class NotNow(TypedDict):
    """The server can't answer now: send the request again after `Retry-After` seconds."""

    failure_kind: str
    detail: str


_PROBLEM: Final = (Content(Problem),)
REQUEST_ID: Final = Header(
    "X-Request-Id", "The caller's request id, or a new one; log lines contain it.", {"type": "string"}
)
RETRY_AFTER: Final = Header("Retry-After", "Seconds.", {"type": "integer", "minimum": 1}, always=True)
_ALLOW: Final = Header("Allow", "The methods of this path.", {"type": "string"}, always=True)
_SCHEME: Final = Header("WWW-Authenticate", "Bearer", {"type": "string"})
_EITHER: Final = (Content(Problem), Content(str, TEXT))

BEFORE_ROUTING: Final[Mapping[int, Reply]] = {
    400: Reply("Not a valid HTTP/1.1 request.", _EITHER),
    403: Reply("Sent from a page of another site.", _PROBLEM),
    405: Reply("The path has other methods than this one.", _PROBLEM, (_ALLOW,)),
    421: Reply("The Host header names another server.", _PROBLEM),
    431: Reply("The headers are too long.", _EITHER),
}
"""Errors that are answered before any handler, for all routes."""
WITHOUT_TOKEN: Final[Mapping[int, Reply]] = {401: Reply("The token is missing or wrong.", _PROBLEM, (_SCHEME,))}
WITH_BODY: Final[Mapping[int, Reply]] = {
    408: Reply("The body did not arrive in time.", _PROBLEM),
    413: Reply("The body is too long.", _PROBLEM),
    415: Reply("The body's content type is not JSON.", _PROBLEM),
    422: Reply("The request is wrong: which field, and what to change.", (Content(Unprocessable),)),
}
REFUSED: Final[Mapping[int, Reply]] = {
    422: Reply(
        "The request is wrong: which field, and what to change; or what its row names is not to be had, masked.",
        (Content(Unprocessable | NotNow),),
    )
}
"""For routes that need what a row names, such as its image."""
SESSION_CLOSED: Final[Mapping[int, Reply]] = {409: Reply("The session was closed.", _PROBLEM)}
BUSY: Final[Mapping[int, Reply]] = {
    429: Reply("Too many requests are waiting.", (Content(NotNow),), (RETRY_AFTER,)),
    503: Reply("The server can't answer now; try again later.", (Content(NotNow),), (RETRY_AFTER,)),
}


def json_reply(shape: object, description: str, *headers: Header) -> Reply:
    """A JSON response with the request's id."""
    return Reply(description, (Content(shape),), (REQUEST_ID, *headers))
