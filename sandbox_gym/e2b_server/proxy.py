"""Passes HTTP/1.1 requests to programs that listen in a sandbox, one exchange over one connection inside the box.

h11 parses both ends, so that neither can smuggle a request or a response past the other.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncGenerator
from typing import Final

import anyio
import h11
from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.e2b_server.access import ID_HEADER, PORT_HEADER, TOKEN_HEADER, TRAFFIC_HEADER
from sandbox_gym.e2b_server.faults import Fault, SandboxStream, port_closed
from sandbox_gym.e2b_server.sandboxes.processes import Work
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.channel.envd import Envd, Refused, Stream


class Tls:
    """The client's end of one connection. Every method raises ssl.SSLError."""

    def __init__(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing)

    def shake(self, received: bytes) -> tuple[bool, bytes]:
        """(whether the connection is secured, what is to be sent next)."""
        self._incoming.write(received)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False, self._outgoing.read()
        return True, self._outgoing.read()

    def sealed(self, data: bytes) -> bytes:
        """What is to be sent for the program to receive `data`."""
        if data:
            self._tls.write(data)
        return self._outgoing.read()

    def opened(self, received: bytes) -> bytes:
        """What the program sent; empty where the rest of it has not arrived yet."""
        self._incoming.write(received)
        data = b""
        try:
            while piece := self._tls.read(1 << 16):
                data += piece
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        return data


ANSWER_S: Final = 600.0
SEND_S: Final = 60.0
PIECE: Final = 1 << 18
MAX_BODY: Final = 1 << 30
_HOP: Final = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade "
    b"proxy-connection".split()
)
_NOT_SENT: Final = _HOP | {
    *(name.encode() for name in (ID_HEADER, PORT_HEADER, TOKEN_HEADER, TRAFFIC_HEADER)),
    *(b"x-api-key", b"content-length", b"expect"),
}
_NOT_RETURNED: Final = _HOP | {b"date"}
"""The server gives each reply its own Date."""


class Proxy:
    """One exchange with one port."""

    def __init__(self, sandbox: Sandbox, work: Work, port: int) -> None:
        self._sandbox, self._envd, self._port = sandbox, work.envd, port
        self._host = sandbox.record.mask_host.replace("${PORT}", str(port))

    async def answer(self, request: Request) -> Response:
        try:
            _, stream = await self._envd.open({"op": "connect", "port": self._port})
        except Refused as error:
            if error.code != "refused":
                raise
            return port_closed(self._sandbox.sandbox_id, self._port)
        exchange = _Exchange(self._envd, stream, self._host)
        try:
            if self._port in self._sandbox.record.https_ports:
                with anyio.fail_after(SEND_S):  # of the whole handshake: a program could send it byte by byte
                    await exchange.secure()
            await exchange.send(request)
            head = await exchange.head()
        except BaseException as error:
            await exchange.aclose()
            if isinstance(error, h11.RemoteProtocolError | h11.LocalProtocolError):
                raise Fault(502, f"port {self._port} does not speak HTTP/1.1") from None
            if isinstance(error, ssl.SSLError):
                raise Fault(502, f"port {self._port} does not speak HTTPS") from None
            raise
        headers = [(name, value) for name, value in head.headers if name not in _NOT_RETURNED]
        reply = SandboxStream(exchange.body(), head.status_code)
        reply.raw_headers = headers
        return reply


class _Exchange:
    def __init__(self, envd: Envd, stream: Stream, host: str) -> None:
        """`host`: the Host header to send instead of the client's; empty for the client's own."""
        self._envd, self._stream, self._host = envd, stream, host
        self._http = h11.Connection(our_role=h11.CLIENT)
        self._ended = False
        self._tls: Tls | None = None

    async def secure(self) -> None:
        """Speak TLS from now on. Raises SSLError, Fault, BoxLost, TimeoutError."""
        self._tls = Tls()
        secured, data = self._tls.shake(b"")
        while not secured:
            await self._put(data)
            header, body = await self._stream.next(SEND_S)
            if header.get("event") == "end":
                raise Fault(502, "the port closed the connection without an answer")
            secured, data = self._tls.shake(body)
        await self._put(data)

    async def send(self, request: Request) -> None:
        headers = [
            (b"-".join(word.capitalize() for word in name.split(b"-")), value)  # as clients write them, and E2B's proxy
            for name, value in request.headers.raw
            if name not in _NOT_SENT
        ]
        if self._host:
            headers = [(name, value) for name, value in headers if name != b"Host"]
            headers.append((b"Host", self._host.encode("ascii")))
        length = request.headers.get("content-length")
        if length is not None:
            headers.append((b"content-length", length.encode("latin-1")))
        elif "transfer-encoding" in request.headers:
            headers.append((b"transfer-encoding", b"chunked"))
        headers.append((b"connection", b"close"))
        target = request.scope["raw_path"]
        if request.scope["query_string"]:
            target += b"?" + request.scope["query_string"]
        await self._write(h11.Request(method=request.method, target=target, headers=headers))
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > MAX_BODY:
                raise Fault(413, f"a body has at most {MAX_BODY} bytes")
            if chunk:
                await self._write(h11.Data(data=chunk))
        await self._write(h11.EndOfMessage())

    async def _write(self, event: h11.Request | h11.Data | h11.EndOfMessage) -> None:
        data = self._http.send(event) or b""
        await self._put(data if self._tls is None else self._tls.sealed(data))

    async def _put(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            request = {"op": "send", "stream": self._stream.number}
            try:
                await self._envd.ask(request, data[start : start + PIECE], within_s=SEND_S)
            except Refused:
                return  # the program may answer before it has read the whole body

    async def _event(self, within_s: float) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        deadline = time.monotonic() + within_s
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            header, body = await self._stream.next(max(0.0, deadline - time.monotonic()))
            if header.get("event") == "end":
                self._ended = True
                self._http.receive_data(b"")
            elif data := body if self._tls is None else self._tls.opened(body):
                self._http.receive_data(data)

    async def head(self) -> h11.Response:
        while True:
            event = await self._event(ANSWER_S)
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse):
                raise Fault(502, "the port closed the connection without an answer")

    async def body(self) -> AsyncGenerator[bytes, None]:
        try:
            while True:
                event = await self._event(ANSWER_S)
                if not isinstance(event, h11.Data):
                    return
                yield bytes(event.data)
        except (h11.RemoteProtocolError, ssl.SSLError) as error:
            raise BoxLost(f"a port's answer broke off: {error}") from None
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            self._envd.forget(self._stream.number)
            try:
                await self._envd.call({"op": "disconnect", "stream": self._stream.number})
            except BoxLost:
                return
