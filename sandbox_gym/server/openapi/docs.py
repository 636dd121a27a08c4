"""`/openapi.json` and `/docs`: a document and Swagger UI for it, from the package fastapi-offline, without a CDN.

The page loads only this server's own files, which its content security policy enforces.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Final

from starlette.responses import Response

from sandbox_gym.server.openapi.errors import BEFORE_ROUTING, WITHOUT_TOKEN, Problem
from sandbox_gym.server.openapi.operations import HTML, Content, Operation, Parameter, Reply
from sandbox_gym.server.protocol.wire import dumps

DOCUMENT: Final = "/openapi.json"
PAGE: Final = "/docs"
ASSETS: Final = "/docs/assets/"
_SCRIPT: Final = "text/javascript"
_FILES: Final[Mapping[str, str]] = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": _SCRIPT}
_START: Final = b"""SwaggerUIBundle({
  url: document.currentScript.dataset.document,
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
});
"""
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Documentation:
    """Responses for one document, its page and the page's files. The document is made at its first request."""

    def __init__(self, make: Callable[[], Mapping[str, object]], title: str) -> None:
        self._make, self._title = make, title
        self._raw: bytes | None = None

    def document(self) -> Response:
        """The OpenAPI document."""
        if self._raw is None:
            self._raw = dumps(self._make())
        return Response(self._raw, media_type="application/json")

    def page(self, document: str = DOCUMENT, others: Sequence[tuple[str, str]] = ()) -> Response:
        """Swagger UI for the document at that path; `others`: names and paths of further pages."""
        return _page(self._title, document, others)


def asset(name: str) -> Response:
    """A file of the page; 404 for an unknown name."""
    if name == "start.js":
        return Response(_START, headers=_HEADERS, media_type=_SCRIPT)
    if name not in _FILES:
        return Response(dumps({"detail": "Not Found"}), 404, media_type="application/json")
    return Response(_content(name), headers={**_HEADERS, "Cache-Control": "max-age=3600"}, media_type=_FILES[name])


@lru_cache(maxsize=len(_FILES))
def _content(name: str) -> bytes:
    return (files("fastapi_offline") / "static" / name).read_bytes()


def _page(title: str, document: str, others: Sequence[tuple[str, str]]) -> Response:
    links = " ".join(f'<a href="{html.escape(path)}">{html.escape(name)}</a>' for name, path in others)
    text = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="{ASSETS}swagger-ui.css"></head><body><nav>{links}</nav>'
        f'<main id="swagger-ui"></main><script src="{ASSETS}swagger-ui-bundle.js"></script>'
        f'<script src="{ASSETS}start.js" data-document="{html.escape(document)}"></script></body></html>'
    )
    return Response(text, headers=_HEADERS, media_type=HTML)


def docs_operations(security: tuple[str, ...]) -> tuple[Operation, Operation, Operation]:
    """The document, the page, the page's files."""
    refusals = {**BEFORE_ROUTING, **WITHOUT_TOKEN}
    name = Parameter("name", "path", "A file of the page.", {"type": "string", "enum": ["start.js", *_FILES]})
    kinds = tuple(Content(None, kind) for kind in ("text/css", _SCRIPT))
    return (
        Operation(
            method="GET", path=DOCUMENT, summary="This document.", tag="documents", security=security,
            replies={200: Reply("An OpenAPI document.", (Content(dict[str, object]),)), **refusals},
        ),
        Operation(
            method="GET", path=PAGE, summary="This document as a page.", tag="documents", security=security,
            replies={200: Reply("Swagger UI.", (Content(str, HTML),)), **refusals},
        ),
        Operation(
            method="GET", path=ASSETS + "{name}", summary="A file of the page.", tag="documents", security=security,
            parameters=(name,),
            replies={200: Reply("It.", kinds), 404: Reply("There is none.", (Content(Problem),)), **refusals},
        ),
    )  # fmt: skip
