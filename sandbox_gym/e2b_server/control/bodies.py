"""Reads request bodies and queries, bounded; a wrong field is refused by its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.e2b_server.control.shapes import MAX_PAGE, PageQuery, checked
from sandbox_gym.e2b_server.faults import Fault, as_json

MAX_BODY: Final = 1 << 20
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


async def read_object(request: Request, most: int = MAX_BODY) -> Mapping[str, object]:
    """The body as a JSON object, of at most so many bytes; an empty one is {}. Raises Fault 400 or 413."""
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > most:
            raise Fault(413, f"the body has over {most} bytes")
    return parsed_object(raw) if raw.strip() else {}


def parsed_object(raw: bytes | bytearray) -> Mapping[str, object]:
    """Raises Fault 400."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        raise Fault(400, "the body is not JSON") from None
    if not isinstance(document, dict):
        raise Fault(400, "the body is not a JSON object")
    return document


async def read_model(request: Request, model: type[M]) -> M:
    """The body as `model`. Raises Fault 400 or 413."""
    return checked(model, await read_object(request))


def read_query(request: Request, model: type[M]) -> M:
    """The query's parameters as `model`; an empty one counts as absent. Raises Fault 400."""
    return checked(model, {name: value for name, value in request.query_params.items() if value})


def page(
    found: Sequence[T], query: PageQuery, view: Callable[[T], object], key: Callable[[T], tuple[float, str]]
) -> Response:
    """One page of views, ordered by time and id. The next page's token is the last one's, so that a client may delete
    what it has seen and misses nothing."""
    newest_first = query.order != "asc"
    found = sorted(found, key=key, reverse=newest_first)
    if query.after:
        last = _position(query.after)
        found = [one for one in found if (key(one) < last if newest_first else key(one) > last)]
    shown = found[: query.limit or MAX_PAGE]
    headers = {"X-Next-Token": "{!r}_{}".format(*key(shown[-1]))} if len(shown) < len(found) else {}
    return as_json([view(one) for one in shown], 200, headers)


def _position(token: str) -> tuple[float, str]:
    at, _, name = token.partition("_")
    try:
        return float(at), name
    except ValueError:
        raise Fault(400, "nextToken is none of this list's") from None


def moment(text: str) -> float | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise Fault(400, f"{text[:40]!r} is not a time in ISO 8601") from None
