"""The pool's OpenAPI documents and their pages: for the control plane, envd and the code interpreter.

There are three because paths such as `/health` are in each. Where tenants have keys, reading them needs one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.e2b_server.access import api_key
from sandbox_gym.e2b_server.control.routes import FAULTS, KEY, NO_KEY
from sandbox_gym.e2b_server.envd.routes import ENVD, INTERPRETER
from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.routing import Routes
from sandbox_gym.server.access.accounts import Accounts
from sandbox_gym.server.openapi import Operation, Reply, make_document
from sandbox_gym.server.openapi.docs import DOCUMENT, PAGE, Documentation, asset, docs_operations

_ABOUT: Final = "Sandboxes under E2B's API. envd's document is at /openapi/envd.json, the code interpreter's beside it."
_OF_SANDBOXES: Final = (
    ("envd", "envd", "Processes, files and watches of one sandbox, which the host or headers name.", ENVD),
    ("code interpreter", "The code interpreter", "Cells in contexts of one sandbox, which the host or headers name.",
     INTERPRETER),
)  # fmt: skip
"""Name, name in a sentence, what it is about, operations."""
_REFUSALS: Final = {**{status: FAULTS[status] for status in (400, 403, 405)}, 401: NO_KEY}


class PoolDocuments:
    """The documents of a pool. `control`: operations that are served beside them."""

    def __init__(self, accounts: Accounts, control: Sequence[Operation]) -> None:
        self._accounts = accounts
        self._documents: dict[str, Documentation] = {}
        document, page, file = (replace(one, replies={**one.replies, **_REFUSALS}) for one in docs_operations(KEY))
        documents, pages, names = [document], [page], [("control plane", PAGE)]
        for name, whose, *_ in _OF_SANDBOXES:
            leaf = name.replace(" ", "-")
            documents.append(_another(document, f"/openapi/{leaf}.json", f"{whose}'s document."))
            pages.append(_another(page, f"{PAGE}/{leaf}", f"{whose}'s document as a page."))
            names.append((name, pages[-1].path))
        listed = [("pool", _ABOUT, [*control, document, page, file, *documents[1:], *pages[1:]])]
        listed += [(name, about, list(operations)) for name, _, about, operations in _OF_SANDBOXES]
        handlers: list[tuple[Operation, Callable[..., Response]]] = [(file, asset)]
        for one, shown, (name, about, operations) in zip(documents, pages, listed, strict=True):
            title = f"sandbox_gym {name}"
            made = self._documents[one.path] = Documentation(partial(make_document, title, about, operations), title)
            handlers += [(one, made.document), (shown, partial(made.page, one.path, names))]
        self._routes = Routes(handlers)

    @staticmethod
    def owns(path: str) -> bool:
        """Whether a request's path is one of these."""
        return path in (DOCUMENT, PAGE) or path.startswith(("/openapi/", "/docs/"))

    async def answer(self, request: Request) -> Response:
        """Raises Fault."""
        if not self._accounts.open and self._accounts.tenant(api_key(request)) is None:
            raise Fault(401, "Invalid API key")
        handler, parts = self._routes.find(request)
        return handler(**parts)


def _another(operation: Operation, path: str, summary: str) -> Operation:
    replies = {**operation.replies, 200: Reply("It.", operation.replies[200].contents)}
    return replace(operation, path=path, summary=summary, replies=replies)
