"""The dashboard's routes: static files, a form for the token, the live picture, verdicts. An ASGI application of its
own, asked before anything else of the server is, so that no cookie and no session of the server's clients meets it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_gym.server.dashboard import history
from sandbox_gym.server.dashboard import routes as declared
from sandbox_gym.server.dashboard.events import MAX_CLIENTS, Pictures, Stream
from sandbox_gym.server.dashboard.operator_auth import PREFIX, OperatorAuth
from sandbox_gym.server.dashboard.shapes import ComparedQuery, FoundQuery, HistoryQuery
from sandbox_gym.server.dashboard.verdicts import Verdicts
from sandbox_gym.server.openapi import Operation
from sandbox_gym.server.protocol.exchange import error_reply, reply
from sandbox_gym.server.protocol.wire import check_shape

_FILES: Final = files("sandbox_gym.server.dashboard") / "static"
_MAX_FORM: Final = 8192
_MAX_START: Final = 10_000_000
_ID: Final = re.compile(r"[0-9a-f]{32}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_WRONG: Final = '<p class="error" role="alert" id="wrong">That is not the token.</p>'
_LEAVE: Final = f'<form class="logout" method="post" action="{PREFIX}/logout"><button>Log out</button></form>'
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; manifest-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

Handler = Callable[[Request], Awaitable[Response | ASGIApp]]
Picture = Callable[[], Mapping[str, object]]
"""A server as it is now."""


def is_dashboards(path: str) -> bool:
    """Whether a request's path is one of ours."""
    return path == PREFIX or path.startswith(PREFIX + "/")


def is_page(scope: Scope) -> bool:
    """Whether a request is for a page, which links of other sites may open: it shows nothing to them."""
    path = scope["path"]
    return is_dashboards(path) and not path.startswith((f"{PREFIX}/api/", f"{PREFIX}/static/"))


def is_form(scope: Scope) -> bool:
    """Whether a request comes of a form of ours: the log-in's, the log-out's."""
    return scope["path"] in (f"{PREFIX}/login", f"{PREFIX}/logout")


class Dashboard:
    """`verdicts` is None where a server gives none."""

    def __init__(self, auth: OperatorAuth, picture: Picture, verdicts: Verdicts | None = None) -> None:
        self._auth, self.verdicts = auth, verdicts
        self.pictures = Pictures(picture)
        self._router = Router(
            [*self._routes(), Mount(PREFIX + "/static", StaticFiles(directory=str(_FILES)))],
            redirect_slashes=False,
            default=_absent,
        )

    def _routes(self) -> list[BaseRoute]:
        handlers: list[tuple[Operation, Handler]] = [
            (declared.INDEX, self._page("index.html")),
            (declared.LOGIN, self._login),
            (declared.LOG_IN, self._log_in),
            (declared.LOG_OUT, self._log_out),
            (declared.VERDICT_PAGE, self._page("verdict.html")),
            (declared.LIVE, self._inside(self._live)),
            (declared.EVENTS, self._inside(self._events)),
            (declared.HISTORY_PAGE, self._page("history.html")),
            (declared.TASK_PAGE, self._page("task.html")),
            (declared.COMPARE_PAGE, self._page("compare.html")),
            (declared.FOUND, self._inside(self._found)),
            (declared.HISTORY, self._inside(self._history)),
            (declared.TASK, self._inside(self._task)),
            (declared.COMPARED, self._inside(self._compared)),
            (declared.VERDICT, self._inside(self._verdict)),
            (declared.RUN, self._inside(self._run)),
            (declared.REJUDGE, self._inside(self._rejudge)),
        ]
        paths: dict[str, dict[str, Handler]] = {}
        for one, handler in handlers:
            paths.setdefault(one.path, {})[one.method] = handler
        # one route for all methods of a path: its 405 names them all
        return [Route(path, _Endpoint(by_method), methods=list(by_method)) for path, by_method in paths.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                if "/static/" not in scope["path"]:
                    headers["Cache-Control"] = "no-store"
            await send(message)

        # with an application in its scope a router raises what it does not know, instead of answering 404
        own = {name: value for name, value in scope.items() if name not in ("app", "router")}
        try:
            await self._router(own, receive, answer)
        except HTTPException as error:  # a static file that there is none of, or a way that it is not asked for
            await reply({"detail": error.detail}, error.status_code, error.headers)(own, receive, answer)

    # -- pages

    def _page(self, name: str) -> Handler:
        async def page(request: Request) -> Response:
            if self._auth.closed:
                return reply({"detail": self._auth.closed}, 403)
            if not self._auth.admits(request):
                return RedirectResponse(f"{PREFIX}/login", 303)
            return _html(name, leave=_LEAVE if self._auth.asks else "")

        return page

    async def _login(self, request: Request) -> Response:
        if self._auth.closed:
            return reply({"detail": self._auth.closed}, 403)
        return RedirectResponse(PREFIX, 303) if self._auth.admits(request) else _html("login.html")

    async def _log_in(self, request: Request) -> Response:
        """The form's token for a cookie."""
        if self._auth.closed or not self._auth.may_log_in(request):
            return reply({"detail": "log in from the dashboard's own page"}, 403)
        raw = bytearray()
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > _MAX_FORM:
                return reply({"detail": f"the form has over {_MAX_FORM} bytes"}, 413)
        if not self._auth.is_token(_token_of(raw)):
            return _html("login.html", _WRONG, 401)
        answer = RedirectResponse(PREFIX, 303)
        self._auth.let_in(request, answer)
        return answer

    async def _log_out(self, request: Request) -> Response:
        if not self._auth.may_log_in(request):
            return reply({"detail": "log out from the dashboard's own page"}, 403)
        answer = RedirectResponse(f"{PREFIX}/login", 303)
        self._auth.let_out(request, answer)
        return answer

    # -- data

    def _inside(self, handler: Handler) -> Handler:
        """The handler, for those who may see what it gives."""

        async def guarded(request: Request) -> Response | ASGIApp:
            if self._auth.closed:
                return reply({"detail": self._auth.closed}, 403)
            if not self._auth.admits(request):
                return reply({"detail": "log in, or send Authorization: Bearer <token>"}, 401)
            if request.method == "POST" and not self._auth.may_change(request):
                return reply({"detail": "a change is asked for from the dashboard's own page"}, 403)
            return await handler(request)

        return guarded

    async def _live(self, request: Request) -> Response:
        return Response(self.pictures.now(), media_type="application/json")

    async def _events(self, request: Request) -> Response | ASGIApp:
        if self.pictures.clients >= MAX_CLIENTS:
            return reply({"detail": f"{MAX_CLIENTS} look on already"}, 503, {"Retry-After": "30"})
        return Stream(self.pictures)

    async def _found(self, request: Request) -> Response:
        query = check_shape(FoundQuery, dict(request.query_params))
        return _known(None if self.verdicts is None else await self.verdicts.found(query))

    async def _history(self, request: Request) -> Response:
        query = check_shape(HistoryQuery, dict(request.query_params))
        return _recorded(None if self.verdicts is None else await self.verdicts.ask(history.history, query))

    async def _task(self, request: Request) -> Response:
        digest = str(request.path_params["digest"])
        verdicts = self.verdicts if _DIGEST.fullmatch(digest) else None
        return _recorded(None if verdicts is None else await verdicts.ask(history.task_page, digest))

    async def _compared(self, request: Request) -> Response:
        query = check_shape(ComparedQuery, dict(request.query_params))
        return _recorded(None if self.verdicts is None else await self.verdicts.ask(history.compared, query))

    async def _verdict(self, request: Request) -> Response:
        given = request.query_params.get("start", "0")
        start = min(int(given), _MAX_START) if given.isascii() and given.isdigit() and len(given) < 9 else 0
        verdicts, request_id = self._asked_for(request)
        return _known(None if verdicts is None else await verdicts.page(request_id, start))

    async def _run(self, request: Request) -> Response:
        verdicts, request_id = self._asked_for(request)
        judgement, place = request.path_params["judgement"], request.path_params["place"]
        return _known(None if verdicts is None else await verdicts.run(request_id, judgement, place))

    async def _rejudge(self, request: Request) -> Response:
        verdicts, request_id = self._asked_for(request)
        return _known(None if verdicts is None else await verdicts.rejudge(request_id))

    def _asked_for(self, request: Request) -> tuple[Verdicts | None, str]:
        """Where to look, and for what; nowhere for what is no id."""
        request_id = str(request.path_params["id"])
        return (self.verdicts if _ID.fullmatch(request_id) else None), request_id


def _token_of(form: bytearray) -> str:
    """The form's one field; empty where there is none, or where there are many."""
    try:
        fields = parse_qs(form.decode("utf-8", "replace"), max_num_fields=10)
    except ValueError:
        return ""
    return fields.get("token", [""])[0]


def _recorded(document: Mapping[str, object] | None) -> Response:
    """A document of the journal's."""
    none = "no journal has verdicts of that name: this page needs one, by the setting journal_url"
    return reply({"detail": none}, 404) if document is None else reply(document)


def _known(document: Mapping[str, object] | None) -> Response:
    return reply({"detail": "nothing of that name is kept"}, 404) if document is None else reply(document)


def _html(name: str, notice: str = "", status: int = 200, *, leave: str = "") -> Response:
    """One of our own pages. What is put into it is ours too: no template ever holds what a client said."""
    text = (_FILES / name).read_text("utf-8").replace("<!-- notice -->", notice).replace("<!-- logout -->", leave)
    return Response(text, status, media_type="text/html")


async def _absent(scope: Scope, receive: Receive, send: Send) -> None:
    await reply({"detail": "Not Found"}, 404)(scope, receive, send)


class _Endpoint:
    """A path's handlers by method, with every error as an answer. An ASGI application, since a stream is more than a
    response; a Route takes an instance for one, and a function for a handler of requests."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        response: Response | ASGIApp
        try:
            response = await self._handlers[method](Request(scope, receive))
        except Exception as error:
            response = error_reply(error)
        await response(scope, receive, send)


class BeforeAll:
    """The dashboard's requests to the dashboard, all others on."""

    def __init__(self, app: ASGIApp, dashboard: Dashboard) -> None:
        self._app, self._dashboard = app, dashboard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ours = scope["type"] == "http" and is_dashboards(scope["path"])
        await (self._dashboard if ours else self._app)(scope, receive, send)
