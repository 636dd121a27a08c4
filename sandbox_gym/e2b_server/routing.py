"""Which handler a request is for, by the declared paths: 404 for none, 405 with Allow where the method is wrong."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Final, Generic, TypeVar

from starlette.requests import Request

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.server.openapi import Operation

H = TypeVar("H")
_NOT_HERE: Final = ("volumes", "secrets")
"""Of E2B's API."""


class Routes(Generic[H]):
    """Declared operations, each with its handler."""

    def __init__(self, handlers: Iterable[tuple[Operation, H]]) -> None:
        self._routes = [(one.method, tuple(one.template.split("/")[1:]), handler) for one, handler in handlers]

    def find(self, request: Request) -> tuple[H, Mapping[str, str]]:
        """The handler and the path's parameters; a literal segment matches first. Raises Fault 404 and 405."""
        raw = request.scope.get("raw_path") or request.url.path.encode()
        parts = [urllib.parse.unquote(part) for part in raw.decode("latin-1").split("/")[1:]]
        found = [(method, shape, handler) for method, shape, handler in self._routes if _fits(shape, parts)]
        found.sort(key=lambda one: sum(part.startswith("{") for part in one[1]))
        if not found and parts[0] in _NOT_HERE:
            raise Fault(501, f"{parts[0]} are not supported by this pool")
        if not found:
            raise Fault(404, f"no route {request.method} {request.url.path[:200]}")
        best = found[0][1]
        for method, shape, handler in found:
            if method == request.method and len(shape) == len(best):
                return handler, {
                    segment[1:-1]: part for segment, part in zip(shape, parts, strict=True) if segment[:1] == "{"
                }
        methods = ", ".join(sorted({method for method, _, _ in found}))
        raise Fault(405, f"{request.url.path[:200]} takes {methods}", headers={"Allow": methods})


def _fits(shape: tuple[str, ...], parts: list[str]) -> bool:
    return len(shape) == len(parts) and all(
        part == wanted or (wanted.startswith("{") and part) for wanted, part in zip(shape, parts, strict=True)
    )
