"""The Connect protocol with its JSON codec: unary calls, and streams of frames that end in success or an error.

A frame is one flag byte, a big-endian u32 length and JSON; flag 2 ends a stream. Knows no method.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import anyio
from anyio import to_thread
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from sandbox_gym.e2b_server.control.bodies import parsed_object, read_object
from sandbox_gym.e2b_server.control.shapes import checked
from sandbox_gym.e2b_server.faults import Fault, as_json, fault_of
from sandbox_gym.errors import BoxLost

KIND: Final = "application/connect+json"
MAX_MESSAGE: Final = 96 << 20
LARGE: Final = 6 << 20
LARGE_OF_TENANT: Final = 2
LARGE_IN_ALL: Final = 8
"""Messages over LARGE that are in memory at once."""
_large: Counter[str] = Counter()
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
    413: "invalid_argument",
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
Pieces = AsyncGenerator[bytes, None]


def error_of(fault: Fault) -> dict[str, object]:
    code = fault.code if fault.code in CODES.values() or fault.code == "failed_precondition" else ""
    return {"code": code or CODES.get(fault.status, "internal"), "message": fault.message}


def error_reply(request: Request, fault: Fault) -> Response:
    """A call that failed. A stream's is 200 with the error at its end: the JavaScript SDK reads no other body of one.
    A 502 keeps the proxy's own shape, by which the SDK recognises a lost sandbox."""
    if fault.status == 502:
        return fault.response()
    if request.headers.get("content-type", "").startswith(KIND):
        return Response(_last(fault), 200, fault.headers(), KIND)
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


@contextmanager
def _room(request: Request, size: int) -> Iterator[None]:
    """A place in memory for a message of that size. Nobody waits for one, since a slow client or program may keep its
    own as long as it likes: raises Fault 429 where the tenant has no more, 503 where the server has none."""
    if size <= LARGE:
        yield
        return
    tenant = str(request.scope.get("tenant", ""))
    said = f"messages of over {LARGE} bytes are being read"
    if _large[tenant] >= LARGE_OF_TENANT:
        raise Fault(429, f"{LARGE_OF_TENANT} {said}: send smaller ones, or this one later", retry_after_s=1)
    if _large.total() >= LARGE_IN_ALL:
        raise Fault(503, f"{LARGE_IN_ALL} {said}", retry_after_s=1)
    _large[tenant] += 1
    try:
        yield
    finally:
        _large[tenant] -= 1


async def read_messages(request: Request) -> AsyncIterator[Document]:
    """The messages of a request's stream as they arrive, each bounded. Raises Fault 400, 413."""
    buffer, chunks = bytearray(), request.stream()

    async def has(size: int) -> bool:
        while len(buffer) < size and (chunk := await anext(chunks, None)) is not None:
            buffer.extend(chunk)
        return len(buffer) >= size

    while await has(_HEAD.size):
        flags, size = _HEAD.unpack_from(buffer)
        if size > MAX_MESSAGE:
            raise Fault(413, f"a message has over {MAX_MESSAGE} bytes")
        with _room(request, size):
            if not await has(_HEAD.size + size):
                break
            body = buffer[_HEAD.size : _HEAD.size + size]
            del buffer[: _HEAD.size + size]
            if flags & 1:
                raise Fault(501, "compressed messages are not supported")
            if not flags & _END:
                yield await to_thread.run_sync(parsed_object, body) if size > LARGE else parsed_object(body)
    if buffer:
        raise Fault(400, "the stream ends inside a message")


async def read_opening(request: Request) -> tuple[Document, float]:
    """The last message of a request's stream, and the client's timeout. Raises Fault."""
    message: Document = {}
    async for one in read_messages(request):
        message = one
    return message, timeout_of(request)


def frame(document: Document, flags: int = 0) -> bytes:
    body = json.dumps(document).encode("ascii")
    return _HEAD.pack(flags, len(body)) + body


class LiveReply(Response):
    """Pieces of a body as they come, until the client leaves; `ping` is sent between them, each so many seconds. When
    the sandbox is lost the connection is closed before the body's end: every version of the SDK then asks for the
    sandbox's health and reports the loss."""

    def __init__(self, pieces: Callable[[], Pieces], kind: str, ping: tuple[bytes, float] | None = None) -> None:
        super().__init__()
        self._pieces, self._kind, self._ping = pieces, kind, ping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = anyio.Event()

        async def write(data: bytes, *, more: bool = True) -> None:
            with anyio.move_on_after(WRITE_S) as patience:
                await send({"type": "http.response.body", "body": data, "more_body": more})
            if patience.cancelled_caught:
                tasks.cancel_scope.cancel()

        async def leave() -> None:
            message: Message = {"type": ""}
            while message["type"] != "http.disconnect":
                message = await receive()
            tasks.cancel_scope.cancel()

        async def ping(data: bytes, seconds: float) -> None:
            await started.wait()
            while True:
                await anyio.sleep(seconds)
                await write(data)

        headers = [(b"content-type", self._kind.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave)
            if self._ping is not None:
                tasks.start_soon(ping, *self._ping)
            with suppress(BoxLost):
                async with aclosing(self._pieces()) as pieces:
                    async for piece in pieces:
                        await write(piece)
                        started.set()
                await write(b"", more=False)
            tasks.cancel_scope.cancel()


def stream_reply(events: Callable[[], Events], ping: Document | None = None, ping_s: float = 0) -> LiveReply:
    """Events as frames, and how they ended in the last one."""

    async def frames() -> Pieces:
        try:
            async with aclosing(events()) as found:
                async for event in found:
                    yield frame(event)
        except BoxLost:
            raise
        except Exception as error:
            yield _last(fault_of(error))
        else:
            yield frame({}, _END)

    return LiveReply(frames, KIND, None if ping is None else (frame(ping), ping_s))


def _last(fault: Fault) -> bytes:
    return frame({"error": error_of(fault)}, _END)


Method = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Call(Generic[M]):
    """Declaration of one method of a service: its request and its response."""

    name: str
    takes: type[M]
    gives: object
    summary: str
    stream: bool = False

    def by(self, method: Callable[[Request, M], Awaitable[Mapping[str, object]]]) -> tuple[str, Method]:
        """The method's name and handler; the message is checked first."""

        async def answer(request: Request) -> Response:
            size = int(request.headers.get("content-length", LARGE))  # the server has checked it
            seconds = timeout_of(request)
            with _room(request, size):
                message = await read_object(request, min(size, MAX_MESSAGE))
                with anyio.fail_after(seconds + 1 if seconds else 600):
                    return as_json(await method(request, checked(self.takes, message)))

        return self.name, answer

    def streamed_by(self, method: Method) -> tuple[str, Method]:
        """The method's name and handler, which reads its messages itself."""
        return self.name, method


async def answer_method(request: Request, service: str, method: str, methods: Mapping[str, Method]) -> Response:
    """Call the method of that name; a 501 where there is none."""
    try:
        if method not in methods:
            raise Fault(501, f"no method {service}/{method[:40]}")
        return await methods[method](request)
    except Exception as error:
        return error_reply(request, fault_of(error))
