"""The pool's OpenAPI documents and their pages: for the control plane, envd and the code interpreter.

There are three because paths such as `/health` are in each. Where tenants have keys, reading them needs one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.e2b_server.access import api_key
from sandbox_gym.e2b_server.control import routes as control_routes
from sandbox_gym.e2b_server.control.routes import FAULTS, KEY
from sandbox_gym.e2b_server.envd import routes as sandbox_routes
from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.routing import Routes
from sandbox_gym.server.access.accounts import Accounts
from sandbox_gym.server.openapi import Operation, Reply, make_document
from sandbox_gym.server.openapi.docs import DOCUMENT, PAGE, Documentation, asset, docs_operations

Handler = Callable[[Request], Awaitable[Response]]
_ENVD: Final = "/openapi/envd.json"
_INTERPRETER: Final = "/openapi/code-interpreter.json"
_PAGES: Final = (
    ("control plane", PAGE),
    ("envd", f"{PAGE}/envd"),
    ("code interpreter", f"{PAGE}/code-interpreter"),
)
_ABOUT: Final = "Sandboxes under E2B's API. envd's document is at /openapi/envd.json, the code interpreter's beside it."
_ABOUT_ENVD: Final = "Processes, files and watches of one sandbox, which the host or headers name."
_ABOUT_INTERPRETER: Final = "Cells in contexts of one sandbox, which the host or headers name."


def interpreter_operations() -> Sequence[Operation]:
    """Operations of the code interpreter."""
    return (
        sandbox_routes.INTERPRETER_HEALTH,
        sandbox_routes.EXECUTE,
        sandbox_routes.MAKE_CONTEXT,
        sandbox_routes.CONTEXTS,
        sandbox_routes.DELETE_CONTEXT,
        sandbox_routes.RESTART_CONTEXT,
    )


class PoolDocuments:
    """The documents of a pool. `control`: operations that are served beside them."""

    def __init__(self, accounts: Accounts, control: Sequence[Operation]) -> None:
        self._accounts = accounts
        own = [replace(one, replies={**one.replies, **_refusals()}) for one in docs_operations(KEY)]
        shown = [_declared(path) for path in (_ENVD, _INTERPRETER)]
        pages = [_declared(path, page=True) for _, path in _PAGES[1:]]
        operations = [*control, *own, *shown, *pages]
        self._documents = {
            DOCUMENT: _documentation("sandbox_gym pool", _ABOUT, operations),
            _ENVD: _documentation("sandbox_gym envd", _ABOUT_ENVD, sandbox_routes.ENVD),
            _INTERPRETER: _documentation("sandbox_gym code interpreter", _ABOUT_INTERPRETER, interpreter_operations()),
        }
        handlers: list[tuple[Operation, Handler]] = [
            (one, partial(self._document, path=one.path)) for one in (own[0], *shown)
        ]
        for one, path in zip((own[1], *pages), self._documents, strict=True):
            handlers.append((one, partial(self._page, path=path)))
        handlers.append((own[2], self._asset))
        self._routes = Routes(handlers)

    @staticmethod
    def owns(path: str) -> bool:
        """Whether a request's path is one of these."""
        return path in (DOCUMENT, PAGE) or path.startswith(("/openapi/", "/docs/"))

    async def answer(self, request: Request) -> Response:
        """Raises Fault."""
        if not self._accounts.open and self._accounts.tenant(api_key(request)) is None:
            raise Fault(401, "Invalid API key")
        handler, _ = self._routes.find(request)
        return await handler(request)

    async def _document(self, request: Request, *, path: str) -> Response:
        return self._documents[path].document()

    async def _page(self, request: Request, *, path: str) -> Response:
        return self._documents[path].page(path, _PAGES)

    async def _asset(self, request: Request) -> Response:
        return asset(request.url.path.rpartition("/")[2])


def _documentation(title: str, about: str, operations: Sequence[Operation]) -> Documentation:
    return Documentation(lambda: make_document(title, about, operations), title)


def _refusals() -> dict[int, Reply]:
    """Operations of the documents themselves."""
    return {**{status: FAULTS[status] for status in (400, 403, 405)}, 401: control_routes.NO_KEY}


def _declared(path: str, *, page: bool = False) -> Operation:
    listed = docs_operations(KEY)[1 if page else 0]
    whose = "envd" if "envd" in path else "The code interpreter"
    contents = listed.replies[200].contents
    summary = f"{whose}'s document{' as a page' if page else ''}."
    replies = {**listed.replies, **_refusals(), 200: Reply("It.", contents)}
    return replace(listed, path=path, summary=summary, replies=replies)
