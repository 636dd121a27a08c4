"""Authentication of a resources server: the operator by `token`, a tenant by a key of the file of keys.

A tenant's key gives access to that tenant's share, records and sessions only, whatever a header says. Knows no route
except those that are open to all and those for the operator alone.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox_gym.server.access.accounts import Accounts
from sandbox_gym.server.protocol.exchange import reply
from sandbox_gym.server.protocol.shapes import TENANT_HEADER

OPEN: Final = frozenset({"/", "/health"})
OPERATORS: Final = frozenset({"/metrics"})
"""Routes that show one tenant data of others."""
SWE_REX: Final = "/swerex/"
"""What begins the routes whose clients have X-API-Key for their key."""
_TENANT: Final = "sandbox_gym.tenant"
"""The key's tenant in an exchange's scope."""


def key_tenant(scope: Scope) -> str:
    """The tenant whose key came with an exchange; empty for the operator, who may name tenants by header."""
    return str(scope.get(_TENANT, ""))


class BearerAuth:
    """401 without a key, 403 for what a tenant may not do; liveness and health stay open."""

    def __init__(self, app: ASGIApp, accounts: Accounts) -> None:
        self._app, self._accounts = app, accounts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or scope["path"] in OPEN:  # no session there
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        tenant = self._accounts.tenant(_key(scope, headers))
        if tenant is None:
            refusal = reply({"detail": "send Authorization: Bearer <token>"}, 401, {"WWW-Authenticate": "Bearer"})
            return await refusal(scope, receive, send)
        if not tenant.operator:
            named = headers.get(TENANT_HEADER, tenant.name)
            if named != tenant.name:
                why = f"{TENANT_HEADER} is {named[:80]!r}, and the key is of tenant {tenant.name!r}: leave it out"
                return await reply({"detail": why}, 403)(scope, receive, send)
            if scope["path"] in OPERATORS:
                why = f"{scope['path']} is for the operator: send the server's token (SANDBOX_GYM_TOKEN)"
                return await reply({"detail": why}, 403)(scope, receive, send)
            scope[_TENANT] = tenant.name
        await self._app(scope, receive, send)


def _key(scope: Scope, headers: Headers) -> str:
    """The key of the request as UTF-8; empty, which matches no tenant, without one."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        given = headers.get("x-api-key", "") if scope["path"].startswith(SWE_REX) else ""
    return given.strip().encode("latin-1").decode("utf-8", "surrogateescape")
