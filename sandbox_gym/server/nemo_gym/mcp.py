"""The tools over MCP's streamable HTTP at /mcp, as NeMo Gym exposes them: each call in the session of its token.

`/seed_session` answers with the URL and the header to send; a client that keeps the session cookie needs no token.
Requests are independent: no MCP session is kept, so a restart or another process loses none.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.limits import MIB
from sandbox_gym.server.access.auth import key_tenant
from sandbox_gym.server.access.request_guard import cross_site
from sandbox_gym.server.access.session_secret import TOKEN_HEADER, SessionTokens
from sandbox_gym.server.nemo_gym.host import SESSION_ID_KEY, GymHost
from sandbox_gym.server.protocol.exchange import error_reply, reply
from sandbox_gym.server.protocol.resources import DescribesTools, ResourcesServer, Tool
from sandbox_gym.server.protocol.wire import Document, dumps
from sandbox_gym.server.swe.arguments import described, schema
from sandbox_gym.server.tools.files import FILE_TOOLS
from sandbox_gym.server.tools.shapes import shape_of

PATH: Final = "/mcp"
MAX_BODY_BYTES: Final = 32 * MIB
_ANY: Final[Document] = {"type": "object", "additionalProperties": True}
_Context = ServerRequestContext[dict[str, object], Request]


class ToolsOverMcp:
    """One server's tools. `route` goes into the application, `running` around its life."""

    def __init__(self, resources: ResourcesServer, host: GymHost, cookie: str, secret: str) -> None:
        self._name, self._host, self._cookie = resources.name, host, cookie
        self._tools = dict(resources.tools)
        self._listed = _listed(resources)
        self._tokens = SessionTokens(secret)
        self._manager: StreamableHTTPSessionManager | None = None
        host.grant_with(self._granted)

    def _granted(self, session_id: str, tenant: str) -> Document:
        headers = {TOKEN_HEADER: self._tokens.grant(session_id, tenant)}
        access = {"server_name": self._name, "url_path": PATH, "transport": "http", "headers": headers}
        return {"mcp": access}

    def route(self) -> Route:
        return Route(PATH, endpoint=self, name="mcp")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._manager is None:
            answer = error_reply(Unavailable("the server is starting or stopping"))
            return await answer(scope, receive, send)
        foreign = cross_site(Headers(scope=scope))  # MCP asks for it of every server, with a token or without
        if foreign:
            return await reply({"detail": foreign}, 403)(scope, receive, send)
        await self._manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer calls until left."""
        server = Server(self._name, on_list_tools=self._list, on_call_tool=self._call)
        manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            # who may ask is decided as for every other route (request_guard.py, auth.py)
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=MAX_BODY_BYTES,
        )
        async with manager.run():
            self._manager = manager
            try:
                yield
            finally:
                self._manager = None

    async def _list(self, context: object, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._listed)

    async def _call(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """An error reaches the model in the words of the plain route."""
        try:
            tool = self._tool(params.name)
            request = context.request
            assert request is not None
            answer = await self._host.answer_tool(tool, params.arguments or {}, self._session_id(request), request)
        except Exception as error:
            return _result(bytes(error_reply(error).body).decode(), is_error=True)
        return _result(answer if isinstance(answer, str) else dumps(answer).decode())

    def _tool(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None or all(one.name != name for one in self._listed):
            known = ", ".join(one.name for one in self._listed)
            raise RequestError("name", f"is {name[:80]!r}, and there is no such tool", f"call one of {known}")
        return tool

    def _session_id(self, request: Request) -> str:
        """Of the token, else of the cookie that came with the request. Raises RequestError."""
        token = request.headers.get(TOKEN_HEADER)
        if token is not None:
            found = self._tokens.session_of(token)
            if found is None or found[1] != key_tenant(request.scope):
                raise RequestError(TOKEN_HEADER, "is none of ours, or over a day old", "seed a session anew")
            return found[0]
        if self._cookie not in request.cookies:
            remedy = "POST /seed_session, and send its mcp.headers"
            raise RequestError(TOKEN_HEADER, "is missing, so no session is meant", remedy)
        return str(request.session[SESSION_ID_KEY])


def _listed(resources: ResourcesServer) -> list[types.Tool]:
    """What models are shown: the tools that the server describes, else all of them, with arguments of any kind."""
    if isinstance(resources, DescribesTools):
        models = resources.tool_arguments
        return [
            types.Tool(name=name, description=described(model), input_schema=schema(model))
            for name, model in models.items()
        ]
    return _undescribed(resources.tools)


def _undescribed(tools: Mapping[str, Tool]) -> list[types.Tool]:
    return [
        types.Tool(name=name, description=" ".join((inspect.getdoc(tool) or "").split()), input_schema=_schema_of(tool))
        for name, tool in tools.items()
        if name not in FILE_TOOLS  # they are for programs
    ]


def _schema_of(tool: Tool) -> Document:
    takes = shape_of(tool).takes
    return schema(takes) if isinstance(takes, type) and issubclass(takes, BaseModel) else dict(_ANY)


def _result(text: str, *, is_error: bool = False) -> types.CallToolResult:
    text = text.encode("utf-8", "replace").decode()
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)
