"""The pool server's OpenAPI documents, from the operations that its modules declare; no sandbox is made for it."""

from __future__ import annotations

from sandbox_gym.e2b_server.control import routes as control
from sandbox_gym.e2b_server.envd import routes as envd
from sandbox_gym.e2b_server.envd.routes import INTERPRETER
from sandbox_gym.server.dashboard.routes import pool_operations
from sandbox_gym.server.openapi import Operation, make_document

API = "control plane", "envd", "code interpreter"


def pool_document(api: str) -> dict[str, object]:
    """The document of one of its three interfaces (`API`). Raises KeyError for another name."""
    declared = [one for one in vars(control).values() if isinstance(one, Operation)]
    operations = {
        "control plane": [*declared, *pool_operations()],
        "envd": list(envd.ENVD),
        "code interpreter": list(INTERPRETER),
    }[api]
    return make_document(api, "", operations)
