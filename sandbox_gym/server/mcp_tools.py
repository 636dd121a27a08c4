"""The tools over MCP's streamable HTTP at /mcp, as NeMo Gym exposes them: each call in the session of its token.

`/seed_session` answers with the URL and the header to send; a client that keeps the session cookie needs no token.
Each request stands for itself: no MCP session is kept, so a restart or another process loses none.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import mcp_types as types
from itsdangerous import BadSignature, URLSafeTimedSerializer
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.limits import MIB
from sandbox_gym.server.exchange import error_reply
from sandbox_gym.server.gym import SESSION_ID_KEY, GymHost
from sandbox_gym.server.resources import DescribesTools, ResourcesServer, Tool
from sandbox_gym.server.session_files import FILE_TOOLS
from sandbox_gym.server.swe_arguments import described, schema
from sandbox_gym.server.tool_shapes import shape_of
from sandbox_gym.server.wire import Document, dumps

PATH: Final = "/mcp"
TOKEN_HEADER: Final = "X-NeMo-Gym-Session-Token"
TOKEN_SALT: Final = "nemo-gym-mcp-session-token"
TOKEN_LIFETIME_S: Final = 24 * 3600
MAX_BODY_BYTES: Final = 32 * MIB
_ANY: Final[Document] = {"type": "object", "additionalProperties": True}
_Context = ServerRequestContext[dict[str, object], Request]


class ToolsOverMcp:
    """One server's tools. `route` goes into the application, `running` around its life."""

    def __init__(self, resources: ResourcesServer, host: GymHost, key: str) -> None:
        self._name, self._host, self._cookie = resources.name, host, key
        self._tools = dict(resources.tools)
        self._listed = _listed(resources)
        # Its key is as public as the cookie's: a token says which session is meant, it guards nothing.
        self._tokens = URLSafeTimedSerializer(key, salt=TOKEN_SALT)
        self._manager: StreamableHTTPSessionManager | None = None
        host.grant_with(self._granted)

    def _granted(self, session_id: str) -> Document:
        headers = {TOKEN_HEADER: self._tokens.dumps(session_id)}
        access = {"server_name": self._name, "url_path": PATH, "transport": "http", "headers": headers}
        return {"mcp": access}

    def route(self) -> Route:
        return Route(PATH, endpoint=self, name="mcp")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._manager is None:
            answer = error_reply(Unavailable("the server is starting or stopping"))
            return await answer(scope, receive, send)
        await self._manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer calls until left."""
        server = Server(self._name, on_list_tools=self._list, on_call_tool=self._call)
        manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            # who may ask is decided by the bind and the bearer token, as for every other route
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
        """An error is told to the model as the plain route would tell it."""
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
            try:
                return str(self._tokens.loads(token, max_age=TOKEN_LIFETIME_S))
            except BadSignature:
                raise RequestError(TOKEN_HEADER, "is none of ours, or over a day old", "seed a session anew") from None
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
