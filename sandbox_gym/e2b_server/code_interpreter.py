"""The code interpreter's API: runs cells in contexts and streams their output as JSON lines."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.e2b_server.access import check_traffic
from sandbox_gym.e2b_server.control.bodies import read_model
from sandbox_gym.e2b_server.control.shapes import ContextView, Execute, MakeContext
from sandbox_gym.e2b_server.envd import routes as declared
from sandbox_gym.e2b_server.envd.connect_rpc import LiveReply
from sandbox_gym.e2b_server.envd.process import base_environment
from sandbox_gym.e2b_server.faults import Fault, as_json
from sandbox_gym.e2b_server.routing import Routes
from sandbox_gym.e2b_server.sandboxes.processes import Notebook, Work, text_of
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.channel.envd import HOME, Refused, Stream
from sandbox_gym.server.access.accounts import new_id
from sandbox_gym.server.openapi import Operation
from sandbox_gym.verifiers import bounded

Parts = Mapping[str, str]
Handler = Callable[[Request, Parts], Awaitable[Response]]
CELL_S: Final = 24 * 3600.0
INTERRUPT_S: Final = 5.0
_FIELDS: Final[Mapping[object, Sequence[str]]] = {
    "result": (),
    "stdout": ("text", "timestamp"),
    "stderr": ("text", "timestamp"),
    "error": ("name", "value", "traceback"),
    "number_of_executions": ("execution_count",),
}
"""What the SDK asks of each type of message."""
_BOUNDS: Final = bounded.Bounds(10 << 20)
_SHORT: Final = {"js": "javascript", "ts": "typescript"}
_KERNELS: Final = {
    "bash": "bash.sh", "javascript": "node.js", "typescript": "node.js", "r": "R.R", "java": "Kernel.java"
}  # fmt: skip
"""The programs of kernels, which the sandbox's driver starts."""
_DEFAULTS: Final = ("python", "javascript")
"""Languages whose default contexts are there from the start, where a sandbox has their kernels."""


class Interpreter:
    """The API of one running sandbox, for one request."""

    def __init__(self, sandbox: Sandbox, work: Work) -> None:
        self._sandbox, self._work = sandbox, work

    def routes(self) -> Sequence[tuple[Operation, Handler]]:
        """Every declared route with its handler."""
        return [
            (declared.INTERPRETER_HEALTH, self._health),
            (declared.EXECUTE, self._execute),
            (declared.MAKE_CONTEXT, self._make),
            (declared.CONTEXTS, self._list),
            (declared.DELETE_CONTEXT, self._delete),
            (declared.RESTART_CONTEXT, self._restart),
        ]

    async def answer(self, request: Request) -> Response:
        """Raises Fault and what it is made of."""
        handler, parts = Routes(self.routes()).find(request)
        record = self._sandbox.record
        if handler != self._health and (record.secure or not record.public_traffic or record.network):
            check_traffic(request, self._sandbox)
        return await handler(request, parts)

    async def _health(self, request: Request, parts: Parts) -> Response:
        return Response(b'"OK"', media_type="application/json")

    async def _make(self, request: Request, parts: Parts) -> Response:
        wanted = await read_model(request, MakeContext)
        return as_json(_view(await self._open(_language(wanted.language), wanted.cwd or "")))

    async def _list(self, request: Request, parts: Parts) -> Response:
        for language in _DEFAULTS:
            with suppress(Fault):
                await self._default(language)
        known = self._work.notebooks.values()
        return as_json([_view(one) for one in sorted(known, key=lambda one: not one.context_id.startswith("default-"))])

    async def _delete(self, request: Request, parts: Parts) -> Response:
        context_id = self._find(parts["context_id"]).context_id
        await self._work.envd.call({"op": "drop_context", "name": context_id})
        self._work.notebooks.pop(context_id, None)  # another request may have opened it meanwhile
        return Response(status_code=204)

    async def _restart(self, request: Request, parts: Parts) -> Response:
        await self._work.envd.call({"op": "restart", "name": self._find(parts["context_id"]).context_id})
        return Response(status_code=204)

    def _find(self, context_id: str) -> Notebook:
        found = self._work.notebooks.get(context_id)
        if found is None:
            raise Fault(404, f"Context {context_id[:80]} not found")
        return found

    async def _open(self, language: str, cwd: str, context_id: str = "") -> Notebook:
        name = context_id or new_id("c")
        request = {"op": "context", "name": name, "cwd": cwd or HOME, "language": language}
        folder = files("sandbox_gym.e2b_server").joinpath("kernels")
        source = folder.joinpath(_KERNELS[language]).read_bytes() if language in _KERNELS else b""
        try:
            reply, _ = await self._work.envd.call({**request, "base": base_environment(self._sandbox)}, source)
        except Refused as error:
            raise Fault(400, str(error)) from None
        notebook = self._work.notebooks[name] = Notebook(name, language, text_of(reply, "cwd", 4096))
        return notebook

    async def _context(self, wanted: Execute) -> Notebook:
        """The named context, or the language's default one, opened at its first use. Raises Fault 404."""
        if wanted.context_id:
            if wanted.language:
                raise Fault(400, "Only one of context_id or language can be provided")
            return self._find(wanted.context_id)
        return await self._default(_language(wanted.language))

    async def _default(self, language: str) -> Notebook:
        async with self._work.opening:
            default = f"default-{language}"
            return self._work.notebooks.get(default) or await self._open(language, "", default)

    async def _execute(self, request: Request, parts: Parts) -> Response:
        wanted = await read_model(request, Execute)
        cell = _Cell(self._work, await self._context(wanted), wanted.code or "", wanted.env_vars or {})
        return LiveReply(cell.lines, "application/x-ndjson")


class _Cell:
    """A cell's messages as they arrive; a client that disconnects interrupts the cell."""

    def __init__(self, work: Work, notebook: Notebook, code: str, environment: Mapping[str, str]) -> None:
        self._work, self._notebook = work, notebook
        self._code, self._environment = code.encode("utf-8", "replace"), dict(environment)

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Raises BoxLost."""
        async with self._notebook.lock:  # cells of one context run one after another
            request = {"op": "cell", "name": self._notebook.context_id, "env": self._environment}
            try:
                _, stream = await self._work.envd.open(request, self._code)
            except Refused as error:
                yield _line({"type": "error", "name": error.code, "value": str(error), "traceback": ""})
                return
            ended = False
            parts: list[bytes] = []
            try:
                while not ended:
                    header, body = await stream.next(CELL_S)
                    ended = header.get("event") == "end"
                    if "more" in header:  # a piece of a long message, between which others may come
                        parts.append(body)
                        if sum(map(len, parts)) > _BOUNDS.size_bytes:
                            raise BoxLost("a message of a cell does not end")
                        if header["more"] is True:
                            continue
                        body = b"".join(parts)
                        parts.clear()
                    message = _checked(body)
                    if message is not None:
                        yield _line(message)
            except TimeoutError:
                raise BoxLost("the cell does not end") from None
            finally:
                if not ended:
                    with anyio.CancelScope(shield=True):
                        await self._interrupt(stream)

    async def _interrupt(self, stream: Stream) -> None:
        """End the cell. Where it ignores the interrupt what it started is killed, then its kernel is restarted."""
        name = self._notebook.context_id
        try:
            for children in (False, True):
                await self._work.envd.call({"op": "interrupt", "name": name, "children": children})
                with anyio.move_on_after(INTERRUPT_S / 2):
                    while (await stream.next(INTERRUPT_S))[0].get("event") != "end":
                        pass
                    return
            await self._work.envd.call({"op": "restart", "name": name})
        except (BoxLost, Refused, TimeoutError):
            return
        finally:
            self._work.envd.forget(stream.number)


def _checked(body: bytes) -> Mapping[str, object] | None:
    """One message of a kernel. The cell may have forged it, so only fields that the SDK knows pass."""
    try:
        message = bounded.loads(body, _BOUNDS)
    except ValueError:
        return None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        return None
    needed = _FIELDS.get(message["type"])
    return message if needed is not None and all(name in message for name in needed) else None


def _line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message).encode("ascii") + b"\n"


def _language(given: str | None) -> str:
    name = (given or "").strip().lower() or "python"
    return _SHORT.get(name, name)


def _view(notebook: Notebook) -> ContextView:
    return {"id": notebook.context_id, "language": notebook.language, "cwd": notebook.cwd}
