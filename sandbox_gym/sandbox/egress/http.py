"""HTTP as a proxy speaks it with hostile programs: where they want to go, and why they can't.

RFC 9110, 9.3.6 (CONNECT), and RFC 9112, 3.2.2 (absolute form); h11 parses, within bounds.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import h11

MAX_HEAD: Final = 32 << 10
PIECE: Final = 1 << 16
ANSWER_S: Final = 2.0
_HOST: Final = re.compile(r"[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")
_OWN: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"host", b"upgrade")
)
"""Headers that are between the program and us."""


class Refused(Exception):
    """The answer that the program gets instead of the one it asked for."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


@dataclass(frozen=True, slots=True)
class Request:
    """Where a program wants to go. `head`: what is said there first, nothing for a tunnel; `rest`: what came after."""

    host: str
    port: int
    head: bytes
    rest: bytes


async def read_request(reader: asyncio.StreamReader, turn: Callable[[], Awaitable[None]]) -> Request:
    """`turn` is waited for after each piece. Raises Refused for what is no request to a proxy."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    try:
        while (event := connection.next_event()) is h11.NEED_DATA:
            connection.receive_data(await reader.read(PIECE))
            await turn()
    except h11.RemoteProtocolError as error:
        raise Refused(400, f"no HTTP request ({str(error)[:100]})") from None
    if not isinstance(event, h11.Request):
        raise ConnectionResetError("the program went")
    target, (rest, _ended) = event.target.decode("ascii", "replace"), connection.trailing_data
    if event.method == b"CONNECT":
        host, _, port = target.rpartition(":")
        return Request(_checked(host), _port(port), b"", rest)
    try:
        url = urlsplit(target)
        port = str(url.port or 80)
    except ValueError:
        raise Refused(400, "the URL is none") from None
    if url.scheme != "http" or not url.hostname:
        raise Refused(400, "this is a proxy: ask for http://host/path, or CONNECT host:443")
    host = _checked(f"[{url.hostname}]" if ":" in url.hostname else url.hostname)
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    lines = [event.method + b" " + path.encode("ascii", "replace") + b" HTTP/1.1"]
    lines += [b"Host: " + (host if port == "80" else f"{host}:{port}").encode(), b"Connection: close"]
    lines += [name + b": " + value for name, value in event.headers if name not in _OWN]
    return Request(host, _port(port), b"\r\n".join(lines) + b"\r\n\r\n", rest)


def _checked(host: str) -> str:
    if not _HOST.fullmatch(host):
        raise Refused(400, "the host is no name and no address")
    return host


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 0 < int(text) < 65536:
        raise Refused(400, "the port is none")
    return int(text)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refused: Refused) -> None:
    body = f"sandbox_gym: {refused.why}\n".encode("ascii", "replace")
    head = (
        f"HTTP/1.1 {refused.status} {_REASONS[refused.status]}\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(ANSWER_S):
            writer.write(head.encode("ascii") + body)
            writer.write_eof()
            for _ in range(64):  # closed with input unread, the kernel would discard the answer
                if not await reader.read(PIECE):
                    break


_REASONS: Final = {
    400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 504: "Gateway Timeout",
}  # fmt: skip
