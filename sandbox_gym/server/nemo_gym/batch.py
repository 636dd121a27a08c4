"""POST /verify/batch: a line of the body is a verify, a line of the response its answer, sent as soon as it is there.

Each line goes through the whole application as a `/verify` of its own, so that keys, tenants, workers and statuses are
those of single verifies. Owns how many lines are in flight and how much of a body is held; knows no row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import anyio
import structlog
from anyio.streams.memory import MemoryObjectSendStream
from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import TypedDict

from sandbox_gym.errors import wrong
from sandbox_gym.server.nemo_gym.verify_recorder import key_text
from sandbox_gym.server.protocol.exchange import MAX_BODY_BYTES as MAX_BYTES
from sandbox_gym.server.protocol.exchange import BodyTooLarge, check_declared, error_reply
from sandbox_gym.server.protocol.shapes import REPLAYED_HEADER, REQUEST_ID_HEADER, VERDICT_ID_HEADER
from sandbox_gym.server.protocol.single_flight import KEY_HEADER
from sandbox_gym.server.protocol.wire import Document, dumps, loads

NDJSON: Final = "application/x-ndjson"
MAX_LINES: Final = 10_000
KEY_FIELD: Final = "idempotency_key"
ENTRY: Final = "sandbox_gym.entry"
"""In a request's scope: where one of its lines enters the server, and how many workers share the work."""
LINE: Final = "sandbox_gym.line"
"""In the scope of a line's verify: its index."""
_CONNECTION: Final = (
    *("type", "asgi", "http_version", "method", "scheme", "root_path", "query_string", "client", "server"),
)
_OWN: Final = ("Cookie", "Content-Length", "Content-Type", "Expect", "Transfer-Encoding", REQUEST_ID_HEADER, KEY_HEADER)
"""Headers of the batch that are none of its lines."""
_NOT_PASSED_ON: Final = frozenset(name.lower().encode() for name in _OWN)


class BatchLine(TypedDict):
    """The answer to one line: what its own `/verify` would have answered."""

    index: int
    """Of the line in the request, from 0; blank lines count."""
    status: int
    """As of `/verify`: 200 is a verdict, 429 and 503 are worth another request, 422 names what is wrong."""
    verdict_id: str | None
    replayed: bool
    """It was not run for this request."""
    retry_after_s: int | None
    body: Document
    """A verify response, or the error."""


class BatchReply(StreamingResponse):
    """Runs the batch while it is sent. Raises RequestError and BodyTooLarge of the batch as a whole."""

    def __init__(self, request: Request, slots: int) -> None:
        """`slots`: sandboxes of this process. So many lines are in flight: others' verifies have their turns."""
        check_declared(request)
        super().__init__((), media_type=NDJSON, headers={"X-Accel-Buffering": "no"})
        entry: tuple[ASGIApp, int] = request.scope.get(ENTRY, (request.app, 1))
        self._entry, workers = entry
        self._at_once = max(1, slots * workers)
        keys = request.headers.getlist(KEY_HEADER)
        self._key = key_text(keys) if keys else ""
        headers = [field for field in request.scope["headers"] if field[0].lower() not in _NOT_PASSED_ON]
        self._of_each = [*headers, (b"content-type", b"application/json")]
        self._id = str(structlog.contextvars.get_contextvars().get("request_id", ""))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = {name: scope[name] for name in _CONNECTION if name in scope}
        turn = anyio.Lock()

        # of any number, since the body is bounded: a client may send all of it before it reads
        found, lines = anyio.create_memory_object_stream[tuple[int, bytes | None]](math.inf)

        async def work() -> None:
            async for index, line in lines:
                answer = await self._answer(connection, index, line)
                async with turn:
                    await send({"type": "http.response.body", "body": answer, "more_body": True})

        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        with found, lines:
            async with anyio.create_task_group() as group:
                group.start_soon(_read, receive, found, group.cancel_scope)
                async with anyio.create_task_group() as workers:
                    for _ in range(self._at_once):
                        workers.start_soon(work)
                group.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _answer(self, connection: Scope, index: int, line: bytes | None) -> bytes:
        try:
            if line is None:
                raise BodyTooLarge(f"a batch has at most {MAX_LINES} lines, {MAX_BYTES} bytes: send the rest anew")
            status, headers, body = await self._verify(connection, index, line)
        except Exception as error:  # this line's, not the batch's
            refusal = error_reply(error)
            status, headers, body = refusal.status_code, refusal.headers, bytes(refusal.body)
        if not headers.get("content-type", "").startswith("application/json"):
            body = dumps({"detail": body.decode("utf-8", "replace")})
        return _told(index, status, headers) + body + b"}\n"

    async def _verify(self, connection: Scope, index: int, line: bytes) -> tuple[int, Headers, bytes]:
        key, content = self._keyed(index, line)
        headers = [*self._of_each, (b"content-length", b"%d" % len(content))]
        headers += [(KEY_HEADER.lower().encode(), key.encode())] if key else []
        headers += [(REQUEST_ID_HEADER.lower().encode(), f"{self._id[:100]}-{index}".encode())]
        where = {"path": "/verify", "raw_path": b"/verify", "headers": headers, LINE: index}
        waiting: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]
        told: list[Message] = []

        async def receive() -> Message:
            if not waiting:  # a client that leaves ends the batch, and this with it
                await anyio.sleep_forever()
            return waiting.pop()

        async def send(message: Message) -> None:
            told.append(message)

        await self._entry({**connection, **where}, receive, send)
        body = b"".join(message.get("body", b"") for message in told[1:])
        return told[0]["status"], Headers(raw=list(told[0]["headers"])), body

    def _keyed(self, index: int, line: bytes) -> tuple[str, bytes]:
        """The line's key, and the row without it. Raises RequestError."""
        row = loads(line) if b'"idempotency_key"' in line else {}
        if KEY_FIELD not in row:
            return (f"{self._key}/{index}" if self._key else ""), line
        given = row.pop(KEY_FIELD)
        if not isinstance(given, str):
            raise wrong(KEY_FIELD, given, "send a string")
        return key_text([given], KEY_FIELD), dumps(row)


def _told(index: int, status: int, headers: Mapping[str, str]) -> bytes:
    """A BatchLine up to its body, which is JSON already."""
    wait = headers.get("retry-after", "")
    line: Document = {
        "index": index,
        "status": status,
        "verdict_id": headers.get(VERDICT_ID_HEADER),
        "replayed": REPLAYED_HEADER in headers,
        "retry_after_s": int(wait) if wait.isdigit() else None,
    }
    return dumps(line)[:-1] + b',"body":'


async def _read(
    receive: Receive, found: MemoryObjectSendStream[tuple[int, bytes | None]], gone: anyio.CancelScope
) -> None:
    """The body's lines, None for what is beyond the bounds; then waits for the client to leave."""
    pending: list[bytes] = []
    size = index = 0
    more = True
    with found:
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return gone.cancel()
            chunk, more = message.get("body", b""), message.get("more_body", False)
            *whole, rest = chunk.split(b"\n")
            if whole:
                whole[0] = b"".join((*pending, whole[0]))
                pending.clear()
            pending.append(rest)
            if not more:
                whole.append(b"".join(pending))
                pending.clear()
            over = False
            for line in whole:
                size += len(line) + 1
                if over := bool(line.strip()) and (size > MAX_BYTES + 1 or index >= MAX_LINES):
                    break
                if line.strip():
                    found.send_nowait((index, line))
                index += 1
            over = over or size + sum(map(len, pending)) > MAX_BYTES
            if over:
                found.send_nowait((index, None))
                break
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.cancel()
