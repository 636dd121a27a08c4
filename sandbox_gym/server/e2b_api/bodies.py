"""Reading what a request says: bounded, and refused by name where it is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

from starlette.requests import Request

from sandbox_gym.server.e2b_api.faults import Fault

MAX_BODY: Final = 1 << 20
MAX_PAGE: Final = 100
T = TypeVar("T")


async def read_object(request: Request) -> Mapping[str, object]:
    """The body as a JSON object, of at most MAX_BODY bytes; an empty one is {}. Raises Fault 400 or 413."""
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > MAX_BODY:
            raise Fault(413, f"the body has over {MAX_BODY} bytes")
    if not raw.strip():
        return {}
    try:
        document = json.loads(bytes(raw))
    except (ValueError, RecursionError):
        raise Fault(400, "the body is no JSON") from None
    if not isinstance(document, dict):
        raise Fault(400, "the body is no JSON object")
    return document


def whole(document: Mapping[str, object], name: str, default: int) -> int:
    value = document.get(name, default)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not -(1 << 31) < value < 1 << 31:
        raise Fault(400, f"{name} is a whole number")
    return int(value)


def text(document: Mapping[str, object], name: str, limit: int) -> str:
    value = document.get(name) or ""
    if not isinstance(value, str) or len(value) > limit or "\0" in value:
        raise Fault(400, f"{name} is a text of at most {limit} characters")
    return value


def texts(document: Mapping[str, object], name: str) -> dict[str, str]:
    value = document.get(name) or {}
    if not isinstance(value, dict) or len(value) > 1000:
        raise Fault(400, f"{name} is an object of at most 1000 texts")
    for key, text in value.items():
        if not isinstance(text, str) or "\0" in key + text or len(key) + len(text) > 128 * 1024:
            raise Fault(400, f"{name}: {key[:40]!r} is no text, or too long")
    return {str(key): str(text) for key, text in value.items()}


def page(found: Sequence[T], query: Mapping[str, str]) -> tuple[Sequence[T], str]:
    """One page, and the token of the next; empty after the last."""
    limit = number(query.get("limit", "")) or MAX_PAGE
    start = number(query.get("nextToken", "")) or 0
    if not 1 <= limit <= MAX_PAGE:
        raise Fault(400, f"limit is between 1 and {MAX_PAGE}")
    end = start + limit
    return found[start:end], str(end) if end < len(found) else ""


def number(text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise Fault(400, f"{text[:20]!r} is no whole number")
    return int(text)


def moment(text: str) -> float | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise Fault(400, f"{text[:40]!r} is no time") from None
