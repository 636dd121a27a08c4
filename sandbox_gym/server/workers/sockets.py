"""Unix sockets between workers, over which a request is forwarded unchanged.

h11 parses both ends. Knows nothing of a request's meaning.
"""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
import h11
from starlette.types import Message, Receive, Scope, Send

from sandbox_gym.errors import Unavailable

CONNECT_S: Final = 30.0
"""Seconds that a request waits for a worker that is being replaced."""
ANSWER_S: Final = 2 * 3600.0
"""A backstop: each worker ends its own work by the request's deadline."""
_PIECE: Final = 1 << 18
_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect", b"content-length")
)
BROKEN: Final = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, h11.RemoteProtocolError)
"""Errors of a connection to a worker that died; a TimeoutError is an OSError."""


class WorkerLost(Unavailable):
    """The session's worker died or does not answer."""

    failure_kind = "worker_lost"
    retry_after_s = 2


class Peers:
    """The workers of one server by number. Sockets are addressed through the folder's descriptor, because paths may be
    long."""

    def __init__(self, folder: Path, count: int) -> None:
        self.count = count
        self._folder = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def _path(self, number: int) -> str:
        return f"/proc/self/fd/{self._folder}/{number}.sock"

    def listen(self, number: int) -> socket.socket:
        """This worker's own socket, which replaces its predecessor's."""
        listener = socket.socket(socket.AF_UNIX)
        Path(self._path(number)).unlink(missing_ok=True)
        listener.bind(self._path(number))
        listener.listen(1024)
        listener.setblocking(False)
        return listener

    async def connect(self, number: int) -> anyio.abc.SocketStream:
        """Raises WorkerLost."""
        with anyio.move_on_after(CONNECT_S):
            while True:
                try:
                    return await anyio.connect_unix(self._path(number))
                except OSError:
                    await anyio.sleep(0.1)
        raise WorkerLost(f"worker {number} does not answer")

    async def forward(self, number: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request to that worker and its response back; a client's disconnect closes the connection.

        Raises WorkerLost while no part of a response was sent. Later, an incomplete body shows the client the loss.
        """
        async with await self.connect(number) as stream:
            exchange = _Exchange(stream)
            failed: list[Exception] = []
            async with anyio.create_task_group() as group:
                group.start_soon(exchange.ask, scope, receive, group.cancel_scope)
                try:
                    with anyio.fail_after(ANSWER_S):
                        async for message in exchange.answer():
                            await send(message)
                except BROKEN as error:  # raised below: a task group would wrap it
                    failed.append(error)
                group.cancel_scope.cancel()
        if failed and not exchange.answered:
            raise WorkerLost(f"worker {number} was lost: {type(failed[0]).__name__}") from failed[0]
        if failed:
            raise failed[0]


class _Exchange:
    def __init__(self, stream: anyio.abc.SocketStream) -> None:
        self._stream = stream
        self._http = h11.Connection(our_role=h11.CLIENT)
        self.answered = False

    async def ask(self, scope: Scope, receive: Receive, gone: anyio.CancelScope) -> None:
        """Send the request, then watch for the client's disconnect."""
        headers = [(name, value) for name, value in scope["headers"] if name.lower() not in _HOP]
        headers += [(b"transfer-encoding", b"chunked"), (b"connection", b"close")]
        target = scope.get("raw_path") or scope["path"].encode()
        if scope["query_string"]:
            target += b"?" + scope["query_string"]
        await self._send(h11.Request(method=scope["method"], target=target, headers=headers))
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return gone.cancel()
            for start in range(0, len(message.get("body", b"")), _PIECE):
                await self._send(h11.Data(data=message["body"][start : start + _PIECE]))
            if not message.get("more_body", False):
                break
        await self._send(h11.EndOfMessage())
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.cancel()

    async def _send(self, event: h11.Request | h11.Data | h11.EndOfMessage) -> None:
        try:
            await self._stream.send(self._http.send(event) or b"")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, h11.LocalProtocolError):
            return  # it may answer before it has read everything; if it died, the reader of the response notices

    async def answer(self) -> AsyncIterator[Message]:
        """The response as ASGI messages. Raises h11.RemoteProtocolError where it is incomplete."""
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                try:
                    self._http.receive_data(await self._stream.receive())
                except anyio.EndOfStream:
                    self._http.receive_data(b"")
            elif isinstance(event, h11.Response):
                self.answered = True
                headers = [(name, value) for name, value in event.headers if name not in _HOP - {b"content-length"}]
                yield {"type": "http.response.start", "status": event.status_code, "headers": headers}
            elif isinstance(event, h11.Data):
                yield {"type": "http.response.body", "body": bytes(event.data), "more_body": True}
            elif isinstance(event, h11.EndOfMessage):
                yield {"type": "http.response.body", "body": b"", "more_body": False}
                return
            elif not isinstance(event, h11.InformationalResponse):
                raise h11.RemoteProtocolError("the connection was closed without a response")
