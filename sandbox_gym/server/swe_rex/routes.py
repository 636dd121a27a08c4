"""SWE-ReX's runtime protocol at /swerex/{sandbox}/: a name is a sandbox of the caller's, made when it is first used.

Owns which session a name means, and what a request that comes again is answered.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Final

from fastapi import Request, Response
from starlette.datastructures import Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Message, Receive, Scope

from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.server.access.accounts import owned
from sandbox_gym.server.access.auth import SWE_REX, key_tenant
from sandbox_gym.server.nemo_gym.host import GymHost
from sandbox_gym.server.protocol.exchange import MAX_BODY_BYTES, BodyTooLarge, check_declared, read_document, reply
from sandbox_gym.server.protocol.resources import ResourcesServer, ToolAnswer, ToolCall
from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.server.swe_rex import runtime as sandbox
from sandbox_gym.server.swe_rex.runtime import Operation, Runtime
from sandbox_gym.server.swe_rex.wire import FAILED, failure
from sandbox_gym.server.tools.session_client import absolute_path, held_sessions

MAX_RUNTIMES: Final = 10_000
"""Of one tenant: another's are never forgotten for them."""
KEPT_REPLY_BYTES: Final = MIB
KEPT_BYTES: Final = 256 * MIB
"""Of a tenant's kept answers together, with what each costs beside its bytes; the oldest go first."""
_ENTRY_BYTES: Final = 1024
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")


def sandbox_id(tenant: str, name: str) -> str:
    """The session behind a name, which no cookie has."""
    return "swerex-" + hashlib.sha256(owned(tenant, name).encode()).hexdigest()


def sandbox_of(path: str) -> str | None:
    """The name in a path of this protocol's; None in another."""
    return path[len(SWE_REX) :].partition("/")[0] if path.startswith(SWE_REX) else None


def is_upload(scope: Scope) -> bool:
    """Whether a form is this protocol's: no page of another site can send that header."""
    return sandbox_of(scope["path"]) is not None and "x-api-key" in Headers(scope=scope)


class SweRex:
    """The routes, over a server's sessions."""

    def __init__(self, resources: ResourcesServer, host: GymHost) -> None:
        self._resources, self._host = resources, host
        self._runtimes: dict[str, OrderedDict[str, Runtime]] = {}
        self._replies: dict[str, _Replies] = {}
        self._operations: Mapping[str, Operation] = {
            "seed_session": self._seed,
            "create_session": sandbox.create_session,
            "run_in_session": sandbox.run_in_session,
            "close_session": sandbox.close_session,
            "execute": sandbox.execute,
            "read_file": sandbox.read_file,
            "write_file": sandbox.write_file,
            "close": self._close,
        }

    def route(self) -> Route:
        path = SWE_REX + "{sandbox}/{operation:path}"
        return Route(path, self._answer, methods=["GET", "POST"], name="swerex")

    async def _answer(self, request: Request) -> Response:
        name, asked = request.path_params["sandbox"], request.path_params["operation"]
        if not _NAME.fullmatch(name):
            return reply({"detail": "a sandbox's name is 1 to 128 of A-Z a-z 0-9 . _ -"}, 404)
        session_id = sandbox_id(key_tenant(request.scope), name)
        try:
            if request.method == "GET" and asked == "":
                return reply({"message": "hello world"})
            if request.method == "GET" and asked == "is_alive":
                return reply(await self._host.answer_tool(sandbox.is_alive, {}, session_id, request))
            if request.method != "POST" or asked not in (*self._operations, "upload"):
                return reply({"detail": f"SWE-ReX has no {request.method} {asked[:40]}"}, 404)
            if asked == "upload":
                return reply(await self._upload(request, session_id))
            body = await read_document(request, empty_is_object=True)
            return await self._once(self._operations[asked], body, session_id, request)
        except HTTPException as error:  # of a form that is none
            return reply({"detail": str(error.detail)[:200]}, error.status_code)
        except Exception as error:
            return failure(error)

    async def _once(self, operation: Operation, body: Document, session_id: str, request: Request) -> Response:
        """A request that comes again is answered as before. A client that leaves does not end it: it comes again."""
        runtime = self._runtime(key_tenant(request.scope), session_id)
        replies = self._replies.setdefault(key_tenant(request.scope), _Replies())
        request_id = request.headers.get("x-request-id", "")[:128]
        async with runtime.lock:
            if again := replies.get((session_id, request_id)):
                return Response(again.body, again.status_code, media_type="application/json")
            try:
                if operation not in (self._seed, self._close):
                    runtime.check_ready()
                tool = partial(operation, runtime)
                answer = reply(_document(await self._host.answer_tool(tool, body, session_id, request)))
            except Exception as error:
                answer = failure(error)
            final = answer.status_code in (200, FAILED) and len(answer.body) <= KEPT_REPLY_BYTES
            if final and request_id and (session_id, request_id) not in replies:  # a forgotten runtime's is there
                replies.keep((session_id, request_id), answer)
            return answer

    def _runtime(self, tenant: str, session_id: str) -> Runtime:
        own = self._runtimes.setdefault(tenant, OrderedDict())
        runtime = own.setdefault(session_id, Runtime())
        own.move_to_end(session_id)
        while len(own) > MAX_RUNTIMES:
            own.popitem(last=False)
        return runtime

    async def _seed(self, runtime: Runtime, engine: Engine, call: ToolCall) -> Document:
        """Ours: begin the sandbox anew, with a row as `/seed_session` takes it."""
        await self._close(runtime, engine, call)
        try:
            await self._resources.seed(engine, call.session_id, dict(call.arguments))
        except Unavailable as error:
            runtime.unready = error
            raise
        return {}

    async def _close(self, runtime: Runtime, engine: Engine, call: ToolCall) -> Document:
        """The sandbox goes; the name is free."""
        held_sessions(engine).discard(call.session_id)
        runtime.shells.clear()
        runtime.unready = None
        return {}

    async def _upload(self, request: Request, session_id: str) -> Document:
        check_declared(request)
        async with Request(request.scope, _bounded(request.receive)).form(max_files=1, max_fields=8) as form:
            file, target = form.get("file"), form.get("target_path")
            if not isinstance(file, UploadFile) or not isinstance(target, str):
                raise RequestError("file", "or target_path is missing", "send both, as multipart/form-data")
            put = partial(sandbox.put, file, absolute_path(WORK, target, "target_path"), form.get("unzip") == "true")
            runtime = self._runtime(key_tenant(request.scope), session_id)
            async with runtime.lock:
                runtime.check_ready()
                return _document(await self._host.answer_tool(put, {}, session_id, request))


class _Replies(OrderedDict[tuple[str, str], Response]):
    """A tenant's last answers by sandbox and request: a client sends one again when its connection breaks."""

    size = 0

    def keep(self, key: tuple[str, str], answer: Response) -> None:
        self[key], self.size = answer, self.size + _ENTRY_BYTES + len(answer.body)
        while self.size > KEPT_BYTES:
            self.size -= _ENTRY_BYTES + len(self.popitem(last=False)[1].body)


def _document(answer: ToolAnswer) -> Document:
    assert isinstance(answer, dict)
    return answer


def _bounded(receive: Receive) -> Receive:
    """Raises BodyTooLarge beyond the limit."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY_BYTES:
            raise BodyTooLarge(f"the body has over {MAX_BODY_BYTES} bytes")
        return message

    return counted
