"""The code interpreter's API: cells in contexts, what they gave out as lines of JSON while they run."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.envd import HOME, Refused, Stream
from sandbox_gym.server.accounts import new_id
from sandbox_gym.server.e2b_api.access import check_traffic
from sandbox_gym.server.e2b_api.bodies import read_object, text, texts
from sandbox_gym.server.e2b_api.connect_rpc import WRITE_S
from sandbox_gym.server.e2b_api.faults import Fault, as_json, fault_of
from sandbox_gym.server.e2b_api.jobs import Notebook, Work, words
from sandbox_gym.server.e2b_api.process import base_environment
from sandbox_gym.server.e2b_api.sandbox import Sandbox

MAX_CODE: Final = 512 << 10
CELL_S: Final = 24 * 3600.0
INTERRUPT_S: Final = 5.0
_TYPES: Final = frozenset({"result", "stdout", "stderr", "error", "number_of_executions"})


class Interpreter:
    """The API of one running sandbox, for one request."""

    def __init__(self, sandbox: Sandbox, work: Work) -> None:
        self._sandbox, self._work = sandbox, work

    async def answer(self, request: Request) -> Response:
        try:
            parts = request.url.path.strip("/").split("/")
            if parts == ["health"]:
                return Response(b'"OK"', media_type="application/json")
            check_traffic(request, self._sandbox)
            match (request.method, parts):
                case ("POST", ["execute"]):
                    return await self._execute(request)
                case ("POST", ["contexts"]):
                    document = await read_object(request)
                    notebook = await self._open(_language(document), text(document, "cwd", 4096))
                    return as_json(_view(notebook))
                case ("GET", ["contexts"]):
                    return as_json([_view(one) for one in self._work.notebooks.values()])
                case ("DELETE", ["contexts", context_id]):
                    await self._work.envd.call({"op": "drop_context", "name": self._find(context_id).context_id})
                    del self._work.notebooks[context_id]
                    return Response(status_code=204)
                case ("POST", ["contexts", context_id, "restart"]):
                    await self._work.envd.call({"op": "restart", "name": self._find(context_id).context_id})
                    return Response(status_code=204)
            raise Fault(404, f"no route {request.method} {request.url.path[:200]}")
        except Exception as error:
            return fault_of(error).response()

    def _find(self, context_id: str) -> Notebook:
        found = self._work.notebooks.get(context_id)
        if found is None:
            raise Fault(404, f"Context {context_id[:80]} not found")
        return found

    async def _open(self, language: str, cwd: str, context_id: str = "") -> Notebook:
        name = context_id or new_id("c")
        request = {"op": "context", "name": name, "cwd": cwd or HOME, "language": language}
        try:
            reply, _ = await self._work.envd.call({**request, "base": base_environment(self._sandbox)})
        except Refused as error:
            raise Fault(400, str(error)) from None
        notebook = self._work.notebooks[name] = Notebook(name, language, words(reply, "cwd", 4096))
        return notebook

    async def _context(self, document: Mapping[str, object]) -> Notebook:
        """The one that is named, or the language's own, opened when it is first used. Raises Fault 404."""
        context_id = text(document, "context_id", 100)
        if context_id:
            if document.get("language"):
                raise Fault(400, "Only one of context_id or language can be provided")
            return self._find(context_id)
        language = _language(document)
        async with self._work.opening:
            default = f"default-{language}"
            return self._work.notebooks.get(default) or await self._open(language, "", default)

    async def _execute(self, request: Request) -> Response:
        document = await read_object(request)
        code = text(document, "code", MAX_CODE)
        environment = texts(document, "env_vars")
        return _Cell(self._work, await self._context(document), code, environment)


class _Cell(Response):
    """A cell's words as they come; a client that leaves interrupts the cell."""

    def __init__(self, work: Work, notebook: Notebook, code: str, environment: Mapping[str, str]) -> None:
        super().__init__()
        self._work, self._notebook = work, notebook
        self._code, self._environment = code.encode("utf-8", "replace"), dict(environment)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def leave(inner: anyio.CancelScope) -> None:
            message: Message = {"type": ""}
            while message["type"] != "http.disconnect":
                message = await receive()
            inner.cancel()

        headers = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave, tasks.cancel_scope)
            whole = True
            try:
                async with aclosing(self._lines()) as lines:
                    async for line in lines:
                        with anyio.fail_after(WRITE_S):
                            await send({"type": "http.response.body", "body": line, "more_body": True})
            except (BoxLost, TimeoutError):
                whole = False  # the connection is cut: the SDK asks for the sandbox's health then
            except Refused as error:
                line = _line({"type": "error", "name": error.code, "value": str(error), "traceback": ""})
                await send({"type": "http.response.body", "body": line, "more_body": True})
            if whole:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            tasks.cancel_scope.cancel()

    async def _lines(self) -> AsyncGenerator[bytes, None]:
        name = self._notebook.context_id
        async with self._notebook.lock:  # cells of a context run one after the other
            request = {"op": "cell", "name": name, "env": self._environment}
            _, stream = await self._work.envd.open(request, self._code)
            ended = False
            try:
                while not ended:
                    header, body = await stream.next(CELL_S)
                    ended = header.get("event") == "end"
                    word = _checked(body) if body else None
                    if word is not None:
                        yield _line(word)
            finally:
                if not ended:
                    with anyio.CancelScope(shield=True):
                        await self._interrupt(stream)

    async def _interrupt(self, stream: Stream) -> None:
        """End the cell; a kernel that does not heed an interrupt is restarted."""
        name = self._notebook.context_id
        try:
            await self._work.envd.call({"op": "interrupt", "name": name})
            with anyio.move_on_after(INTERRUPT_S):
                while (await stream.next(INTERRUPT_S))[0].get("event") != "end":
                    pass
                return
            await self._work.envd.call({"op": "restart", "name": name})
        except (BoxLost, Refused, TimeoutError):
            return
        finally:
            self._work.envd.forget(stream.number)


def _checked(body: bytes) -> Mapping[str, object] | None:
    """A word of a kernel, which the cell may have written itself: only what the SDK knows passes."""
    try:
        word = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(word, dict) or word.get("type") not in _TYPES:
        return None
    needed = {
        "stdout": ("text", "timestamp"),
        "stderr": ("text", "timestamp"),
        "error": ("name", "value", "traceback"),
        "number_of_executions": ("execution_count",),
    }
    return word if all(name in word for name in needed.get(str(word["type"]), ())) else None


def _line(word: Mapping[str, object]) -> bytes:
    return json.dumps(word).encode("ascii") + b"\n"


def _language(document: Mapping[str, object]) -> str:
    return text(document, "language", 40).lower() or "python"


def _view(notebook: Notebook) -> dict[str, object]:
    return {"id": notebook.context_id, "language": notebook.language, "cwd": notebook.cwd}
