"""The refusals that every route of a resources server shares, with their bodies and headers: declared in one place.

Who answers them is elsewhere: the server before any handler (400, 401, 403, 405, 408, 413, 415, 421, 431), and
`exchange.error_reply` for what a handler raises (409, 413, 422, 429, 503).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from typing_extensions import TypedDict

from sandbox_gym.server.openapi.operations import TEXT, Content, Header, Reply
from sandbox_gym.server.protocol.wire import Unprocessable


class Problem(TypedDict):
    """What is wrong, in a sentence."""

    detail: str


class NotNow(TypedDict):
    """The server's fault, and passing: send the request again after `Retry-After` seconds."""

    failure_kind: str
    detail: str


_PROBLEM: Final = (Content(Problem),)
REQUEST_ID: Final = Header("X-Request-Id", "The caller's, or a new one; log lines have it.", {"type": "string"})
RETRY_AFTER: Final = Header("Retry-After", "Seconds.", {"type": "integer", "minimum": 1}, always=True)
_ALLOW: Final = Header("Allow", "The methods that there are.", {"type": "string"}, always=True)
_SCHEME: Final = Header("WWW-Authenticate", "Bearer", {"type": "string"})
_EITHER: Final = (Content(Problem), Content(str, TEXT))

AT_THE_DOOR: Final[Mapping[int, Reply]] = {
    400: Reply("No HTTP/1.1 request that can be read.", _EITHER),
    403: Reply("From a page of another site.", _PROBLEM),
    405: Reply("The path has other methods.", _PROBLEM, (_ALLOW,)),
    421: Reply("The Host header names another server.", _PROBLEM),
    431: Reply("The headers are too long.", _EITHER),
}
"""Before any route is asked, of all of them."""
WITHOUT_TOKEN: Final[Mapping[int, Reply]] = {
    401: Reply("Without a token, where one is asked for.", _PROBLEM, (_SCHEME,))
}
WITH_BODY: Final[Mapping[int, Reply]] = {
    408: Reply("The body did not come in time.", _PROBLEM),
    413: Reply("The body is too long.", _PROBLEM),
    415: Reply("The body says that it is no JSON.", _PROBLEM),
    422: Reply("The request's own fault: which field, and what to do.", (Content(Unprocessable),)),
}
SESSION_CLOSED: Final[Mapping[int, Reply]] = {409: Reply("The session was closed.", _PROBLEM)}
BUSY: Final[Mapping[int, Reply]] = {
    429: Reply("Too many requests wait.", (Content(NotNow),), (RETRY_AFTER,)),
    503: Reply("The server's fault, and passing.", (Content(NotNow),), (RETRY_AFTER,)),
}


def json_reply(shape: object, description: str, *headers: Header) -> Reply:
    """A reply of JSON that has the request's id."""
    return Reply(description, (Content(shape),), (REQUEST_ID, *headers))
