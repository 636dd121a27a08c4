"""A proxy between the SDK and a pool that does harm: refuses, breaks off, or never answers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.abc
import pytest

CREATE, START, INPUT, KILL, EXTEND = "/v2/sandboxes", "/process.Process/Start", "/SendInput", "DELETE ", "/timeout"
NOT_FOUND = "The sandbox was not found"
PORT = "The sandbox is running but port is not open"
HANG = pytest.param("hang", marks=pytest.mark.extended)
"""Each takes a whole deadline; the daily run has inputs that hang once."""


@dataclass(slots=True)
class Harm:
    """What happens to the next `times` requests whose first line holds `where`."""

    where: str
    how: str
    """A status, `text` (a 500 that is no JSON), `drop` (broken off after the request) or `hang`."""
    times: int = 1
    message: str = "no"


class Proxy:
    """Listens on loopback; every connection carries one request."""

    def __init__(self, pool_port: int) -> None:
        self._pool_port = pool_port
        self._harms: list[Harm] = []
        self._streams: set[anyio.abc.SocketStream] = set()
        self.done: list[str] = []
        """The first lines of the requests that came to harm."""
        self.url = ""

    def harm(self, *harms: Harm) -> None:
        self._harms = list(harms)

    async def drop_streams(self) -> None:
        """Break off the output of every command."""
        for stream in list(self._streams):
            await anyio.aclose_forcefully(stream)

    def _harm_to(self, line: str) -> Harm | None:
        for harm in self._harms:
            if harm.where in line and harm.times > 0:
                harm.times -= 1
                self.done.append(line)
                return harm
        return None

    async def serve(self, client: anyio.abc.SocketStream) -> None:
        async with client:
            with contextlib.suppress(
                anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError
            ):
                await self._serve(client)

    async def _serve(self, client: anyio.abc.SocketStream) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += await client.receive()
        line = data.split(b"\r\n", 1)[0].decode("latin-1")
        harm = self._harm_to(line)
        if harm is not None:
            await self._do(harm, client)
            return
        head, _, rest = data.partition(b"\r\n\r\n")
        kept = [one for one in head.split(b"\r\n") if not one.lower().startswith(b"connection:")]
        async with await anyio.connect_tcp("127.0.0.1", self._pool_port) as pool:
            await pool.send(b"\r\n".join([*kept, b"Connection: close"]) + b"\r\n\r\n" + rest)
            if START in line:
                self._streams.add(client)
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_carry, client, pool, tasks.cancel_scope)
                    await _carry(pool, client, tasks.cancel_scope)
            finally:
                self._streams.discard(client)

    async def _do(self, harm: Harm, client: anyio.abc.SocketStream) -> None:
        if harm.how == "hang":
            await anyio.sleep_forever()
        if harm.how == "drop":
            return
        status = 500 if harm.how == "text" else int(harm.how)
        body = b"Internal Server Error"
        if harm.how != "text":
            code = "unavailable" if status in (502, 503) else "resource_exhausted"
            document = {"code": code if "Process" in harm.where else status, "message": harm.message, "sandboxId": "x"}
            body = json.dumps(document).encode()
        kind = "text/plain" if harm.how == "text" else "application/json"
        head = (
            f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        await client.send(head.encode() + body)
        with anyio.move_on_after(0.2):
            while True:
                await client.receive()  # else unread input makes the close a reset, which hides the answer


async def _carry(source: anyio.abc.SocketStream, target: anyio.abc.SocketStream, scope: anyio.CancelScope) -> None:
    try:
        while True:
            await target.send(await source.receive())
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        scope.cancel()


@asynccontextmanager
async def proxied(pool_port: int) -> AsyncIterator[Proxy]:
    """A proxy before a pool."""
    proxy = Proxy(pool_port)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        proxy.url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        tasks.start_soon(listener.serve, proxy.serve)
        try:
            yield proxy
        finally:
            tasks.cancel_scope.cancel()
