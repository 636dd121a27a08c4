"""The application: an engine for its lifetime, NeMo Gym's cookie, who may ask, the host's routes."""

from __future__ import annotations

import json
import secrets
import uuid
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

import anyio
import structlog
from fastapi import FastAPI
from itsdangerous import BadSignature
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.observe.traces import RootTracer
from sandbox_gym.server.access.accounts import Accounts, load_accounts
from sandbox_gym.server.access.auth import OPEN, BearerAuth, key_tenant
from sandbox_gym.server.access.request_guard import AllowedHosts, RequestGuard
from sandbox_gym.server.dashboard.app import BeforeAll, is_form, is_page
from sandbox_gym.server.dashboard.routes import server_operations
from sandbox_gym.server.dashboard.wiring import ServerDashboard, is_loopback, server_dashboard
from sandbox_gym.server.nemo_gym.host import SESSION_ID_KEY, GymHost
from sandbox_gym.server.nemo_gym.verify_recorder import Answered, VerifyRecorder
from sandbox_gym.server.protocol.dataset import Dataset
from sandbox_gym.server.protocol.exchange import reply
from sandbox_gym.server.protocol.resources import ResourcesServer
from sandbox_gym.server.protocol.single_flight import Once
from sandbox_gym.server.swe_rex.routes import SweRex, is_upload
from sandbox_gym.server.traced import TracedExchanges

if TYPE_CHECKING:
    from sandbox_gym.journal.journal import Journal
    from sandbox_gym.server.nemo_gym.mcp import ToolsOverMcp

EngineFactory = Callable[[], AbstractAsyncContextManager[Engine]]
REQUEST_ID_HEADER = "X-Request-Id"
COOKIE_LIFETIME_S = 14 * 24 * 3600
_TENANT_KEY = "tenant"
MAX_SESSION_ID = 512


def build_app(
    resources: ResourcesServer,
    engine_factory: EngineFactory,
    settings: Settings,
    *,
    journal_url: str | None = None,
    dataset: Dataset | None = None,
    new_session_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    tracing: RootTracer | None = None,
    session_secret: str = "",
) -> FastAPI:
    """One resources server's ASGI application, its verdicts on record in the journal under the URL, if one is given.

    `dataset`: rows that an evaluator may ask for by number; agents' tools are not served beside them.
    `new_session_id`: of a client without a cookie; one of several workers gives its own.
    `tracing`: each exchange that is let in becomes a trace; closed with the application.
    `session_secret`: signs session cookies; random unless given. Raises ConfigurationError for open binds, bad keys.
    """
    check_bind(settings)
    host = GymHost(resources, dataset, rows_without_verdict=settings.no_verdict == "row")
    cookie, secret = session_cookie(resources), session_secret or secrets.token_hex(32)
    shown = server_dashboard(resources.name, resources.kind, settings)
    tools_over_mcp = _tools_over_mcp(resources, host, cookie, secret) if settings.expose_tools_over_mcp else None

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        recording = nullcontext() if journal_url is None else _recording(journal_url, settings)
        serving_mcp = nullcontext() if tools_over_mcp is None else tools_over_mcp.running()
        async with recording as journal, engine_factory() as engine, anyio.create_task_group() as group, serving_mcp:
            recorder = VerifyRecorder(resources, journal, settings, None if shown is None else shown.observer)
            showing = nullcontext() if shown is None else shown.attached(engine, journal)
            with host.attached(engine, recorder, Once[Answered](group)), showing:
                if shown is not None and journal is not None:
                    group.start_soon(shown.restore, engine, journal)
                yield
            group.cancel_scope.cancel()

    app = _without_routes(lifespan)
    host.add_routes(app, () if shown is None else server_operations())
    if dataset is None:
        app.router.routes.append(SweRex(resources, host).route())
    if tools_over_mcp is not None:
        app.router.routes.append(tools_over_mcp.route())
    if tracing is not None:
        app.add_middleware(TracedExchanges, tracing=tracing)
    app.add_middleware(_Ids, new_session_id=new_session_id)
    app.add_middleware(_Sessions, secret_key=secret, session_cookie=cookie, max_age=COOKIE_LIFETIME_S)
    _let_in(app, settings, load_accounts(settings.keys, settings.token), shown)
    return app


def _without_routes(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]]) -> FastAPI:
    # a redirect's Location would be made of whatever Host a client sends
    app = FastAPI(lifespan=lifespan, openapi_url=None, redirect_slashes=False)
    for status in (404, 405):
        app.add_exception_handler(status, _unrouted)
    return app


def _unrouted(request: Request, error: Exception) -> Response:
    """What a path that there is none of, or not for this method, answers."""
    assert isinstance(error, HTTPException)
    allowed = (error.headers or {}).get("Allow")
    there_is = f"it takes {allowed}" if allowed else "GET /openapi.json lists what there is"
    problem = f"there is no {request.method} {request.url.path[:200]}: {there_is}"
    return reply({"detail": problem}, error.status_code, error.headers)


def _recording(journal_url: str, settings: Settings) -> AbstractAsyncContextManager[Journal]:
    from sandbox_gym.journal.journal import open_journal  # and a database library, which a server without one saves

    return open_journal(journal_url, settings.journal)


def _let_in(app: FastAPI, settings: Settings, accounts: Accounts, shown: ServerDashboard | None) -> None:
    """Who may ask for what, before anything else sees a request; what is added last is asked first."""
    if not accounts.open:
        app.add_middleware(BearerAuth, accounts=accounts)
    if shown is not None:
        app.add_middleware(BeforeAll, dashboard=shown.dashboard)
    if accounts.open:
        app.add_middleware(guarded, settings=settings)


def guarded(app: ASGIApp, settings: Settings) -> ASGIApp:
    """An application of a resources server without a token, shut to pages of other sites."""
    hosts = AllowedHosts(settings.host, settings.allowed_hosts)
    return RequestGuard(app, hosts.admit, pages=is_page, forms=lambda scope: is_form(scope) or is_upload(scope))


def session_cookie(resources: ResourcesServer) -> str:
    """The session cookie's name, as NeMo Gym derives it."""
    return f"{type(resources).__name__}___{resources.name}"


def _tools_over_mcp(resources: ResourcesServer, host: GymHost, cookie: str, secret: str) -> ToolsOverMcp:
    try:
        from sandbox_gym.server.nemo_gym.mcp import ToolsOverMcp  # its SDK is an extra, and takes a second to import
    except ImportError as error:
        remedy = "pip install 'sandbox-gym[mcp]', or unset expose_tools_over_mcp"
        raise ConfigurationError(f"tools over MCP need the MCP SDK ({error}): {remedy}") from error
    return ToolsOverMcp(resources, host, cookie, secret)


def check_bind(settings: Settings, *, may_be_open: bool = True) -> None:
    """Raises ConfigurationError: a bind beyond loopback with neither token, keys nor the flag that permits it."""
    allowed = settings.allow_unauthenticated and may_be_open
    if settings.token or settings.keys or allowed or is_loopback(settings.host):
        return
    flag = "allow it by name with SANDBOX_GYM_ALLOW_UNAUTHENTICATED=true (--allow-unauthenticated)"
    raise ConfigurationError(
        f"host {settings.host!r} is reachable from other machines and no token is set: set SANDBOX_GYM_TOKEN"
        f" (or --token) or SANDBOX_GYM_KEYS (--keys), or bind to 127.0.0.1{f', or {flag}' if may_be_open else ''}"
    )


class _Sessions(SessionMiddleware):
    """NeMo Gym's cookie, whose key is no secret: one that holds no JSON object is none."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_readable(scope):
            scope = {**scope, "headers": [field for field in scope["headers"] if field[0] != b"cookie"]}
        await super().__call__(scope, receive, send)

    def _is_readable(self, scope: Scope) -> bool:
        cookie = HTTPConnection(scope).cookies.get(self.session_cookie)
        if cookie is None:
            return True
        try:
            value = json.loads(b64decode(self.signer.unsign(cookie.encode("utf-8"), max_age=self.max_age)))
        except BadSignature:
            return True  # dropped for that
        except (ValueError, RecursionError):
            return False
        return isinstance(value, dict)


class _Ids:
    """Every exchange has an id, the caller's or a new one, in its log lines, in the guest's frames, and sent back; and
    a session id, whose cookie is sent again. A cookie counts for the tenant it was given to."""

    def __init__(self, app: ASGIApp, new_session_id: Callable[[], str]) -> None:
        self._app, self._new = app, new_session_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        session, tenant = scope["session"], key_tenant(scope)
        if session.get(_TENANT_KEY, "") != tenant and scope["path"] not in OPEN:  # there no key comes
            session.clear()
        if tenant:
            session[_TENANT_KEY] = tenant
        found = session.get(SESSION_ID_KEY)
        known = isinstance(found, str) and 0 < len(found) <= MAX_SESSION_ID and found.isascii()
        session[SESSION_ID_KEY] = found if known else self._new()
        given = Headers(scope=scope).get(REQUEST_ID_HEADER, "")
        request_id = given if 0 < len(given) <= 128 and given.isascii() and given.isprintable() else uuid.uuid4().hex

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = request_id
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            await self._app(scope, receive, answer)
