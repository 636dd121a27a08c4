"""The Connect protocol with its JSON codec: unary calls, and streams of frames that end in success or an error.

A frame is one flag byte, a big-endian u32 length and JSON; flag 2 ends a stream. Knows no method.
"""

from __future__ import annotations

import json
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import anyio
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from sandbox_gym.e2b_server.control.bodies import parsed_object, read_object
from sandbox_gym.e2b_server.control.shapes import checked
from sandbox_gym.e2b_server.faults import Fault, as_json, fault_of
from sandbox_gym.errors import BoxLost

MAX_MESSAGE: Final = 6 << 20
DEFAULT_PING_S: Final = 90.0
WRITE_S: Final = 60.0
"""A client that reads nothing for so long is disconnected."""
_HEAD: Final = struct.Struct("!BI")
_END: Final = 2
CODES: Final = {
    400: "invalid_argument",
    401: "unauthenticated",
    403: "permission_denied",
    404: "not_found",
    409: "already_exists",
    413: "resource_exhausted",
    429: "resource_exhausted",
    501: "unimplemented",
    502: "unavailable",
    503: "unavailable",
    504: "deadline_exceeded",
    507: "resource_exhausted",
}
Document = Mapping[str, object]
M = TypeVar("M", bound=BaseModel)
Events = AsyncGenerator[Document, None]


def error_of(fault: Fault) -> dict[str, object]:
    code = fault.code if fault.code in CODES.values() or fault.code == "failed_precondition" else ""
    return {"code": code or CODES.get(fault.status, "internal"), "message": fault.message}


def unary_error(fault: Fault) -> Response:
    """A 502 keeps the proxy's own shape, by which the SDK recognises a lost sandbox."""
    if fault.status == 502:
        return fault.response()
    return as_json(error_of(fault), fault.status, fault.headers())


def timeout_of(request: Request) -> float:
    """The client's timeout of the call in seconds; 0 for none. Raises Fault 400."""
    text = request.headers.get("connect-timeout-ms", "")
    if not text:
        return 0.0
    if not text.isascii() or not text.isdigit() or len(text) > 10:
        raise Fault(400, "connect-timeout-ms is not a number")
    return int(text) / 1000


def ping_of(request: Request) -> float:
    """Seconds between keep-alive messages that the client asks for."""
    text = request.headers.get("keepalive-ping-interval", "")
    return max(1.0, float(text)) if text.isascii() and text.isdigit() and len(text) < 5 else DEFAULT_PING_S


async def read_messages(request: Request) -> AsyncIterator[Document]:
    """The messages of a request's stream as they arrive, each bounded. Raises Fault 400."""
    buffer = bytearray()
    async for chunk in request.stream():
        buffer += chunk
        while len(buffer) >= _HEAD.size:
            flags, size = _HEAD.unpack_from(buffer)
            if size > MAX_MESSAGE:
                raise Fault(413, f"a message has over {MAX_MESSAGE} bytes")
            if len(buffer) < _HEAD.size + size:
                break
            body = bytes(buffer[_HEAD.size : _HEAD.size + size])
            del buffer[: _HEAD.size + size]
            if flags & 1:
                raise Fault(501, "compressed messages are not supported")
            if not flags & _END:
                yield parsed_object(body)
    if buffer:
        raise Fault(400, "the stream ends inside a message")


@dataclass(frozen=True, slots=True)
class Opening:
    """What a client sends before a stream's first event. The protocol reports a fault in it at the stream's end."""

    message: Document
    timeout_s: float
    fault: Fault | None = None

    def read(self) -> Document:
        """The message. Raises Fault."""
        if self.fault is not None:
            raise self.fault
        return self.message


async def read_opening(request: Request) -> Opening:
    """The last message of a request's stream, and the client's timeout."""
    message: Document = {}
    try:
        async for one in read_messages(request):
            message = one
        return Opening(message, timeout_of(request))
    except Fault as fault:
        return Opening({}, 0.0, fault)


def frame(document: Document, flags: int = 0) -> bytes:
    body = json.dumps(document).encode("ascii")
    return _HEAD.pack(flags, len(body)) + body


class StreamReply(Response):
    """Events as frames, with keep-alive messages between them. When the sandbox is lost the connection is closed: every
    version of the SDK then asks for the sandbox's health and reports the loss."""

    def __init__(self, events: Callable[[], Events], *, ping: Document | None, ping_s: float) -> None:
        super().__init__()
        self._events, self._ping, self._ping_s = events, ping, ping_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/connect+json")]
        started = anyio.Event()
        cut = False

        async def write(data: bytes, *, more: bool = True) -> None:
            nonlocal cut
            with anyio.move_on_after(WRITE_S) as patience:
                await send({"type": "http.response.body", "body": data, "more_body": more})
            if patience.cancelled_caught:
                cut = True
                tasks.cancel_scope.cancel()

        async def leave(scope: anyio.CancelScope) -> None:
            message: Message = {"type": ""}
            while message["type"] != "http.disconnect":
                message = await receive()
            scope.cancel()

        async def ping() -> None:
            assert self._ping is not None
            await started.wait()
            while True:
                await anyio.sleep(self._ping_s)
                await write(frame(self._ping))

        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave, tasks.cancel_scope)
            if self._ping is not None:
                tasks.start_soon(ping)
            try:
                async with aclosing(self._events()) as events:
                    async for event in events:
                        await write(frame(event))
                        started.set()
                last: Document = {}
            except BoxLost:
                cut, last = True, {}
            except Exception as error:
                last = {"error": error_of(fault_of(error))}
            if not cut:
                await write(frame(last, _END), more=False)
            tasks.cancel_scope.cancel()


Unary = Callable[[Request, Document], Awaitable[Mapping[str, object]]]
Streaming = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Call(Generic[M]):
    """Declaration of one method of a service: its request and its response."""

    name: str
    takes: type[M]
    gives: object
    summary: str
    stream: bool = False

    def by(self, method: Callable[[Request, M], Awaitable[Mapping[str, object]]]) -> tuple[str, Unary]:
        """The method's name and handler; the message is checked first."""

        async def answer(request: Request, message: Document) -> Mapping[str, object]:
            return await method(request, checked(self.takes, message))

        return self.name, answer

    def streamed_by(self, method: Streaming) -> tuple[str, Streaming]:
        """The method's name and handler, which reads its messages itself."""
        return self.name, method


async def answer_method(
    request: Request, service: str, method: str, unary: Mapping[str, Unary], streams: Mapping[str, Streaming]
) -> Response:
    """Call the method of that name; a 501 where there is none."""
    if method in unary:
        return await answer_unary(request, unary[method])
    if method in streams:
        try:
            return await streams[method](request)
        except Exception as error:
            return unary_error(fault_of(error))
    return unary_error(Fault(501, f"no method {service}/{method[:40]}"))


async def answer_unary(request: Request, method: Unary) -> Response:
    try:
        message = await read_object(request, MAX_MESSAGE)
        seconds = timeout_of(request)
        with anyio.fail_after(seconds + 1 if seconds else 600):
            return as_json(await method(request, message))
    except Exception as error:
        return unary_error(fault_of(error))
