"""A connected stream socket as a byte stream, which a cancelled wait leaves in order.

anyio's own UNIXSocketStream registers `future.set_result` with the event loop: data that arrives in the same round as a
cancellation makes the loop report InvalidStateError. `anyio.wait_readable` does not.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

import anyio
import anyio.lowlevel
from anyio.abc import ByteStream


class RawSocketStream(ByteStream):
    """Owns the socket, which it makes non-blocking. One receiver and one sender at a time."""

    def __init__(self, raw: socket.socket) -> None:
        raw.setblocking(False)
        self._raw = raw
        self._closing = False

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Raises EndOfStream, BrokenResourceError, ClosedResourceError."""
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                data = self._raw.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._raw)
            except OSError as error:
                raise self._gone() from error
            else:
                if not data:
                    raise anyio.EndOfStream
                return data

    async def send(self, item: bytes, descriptors: Sequence[int] = ()) -> None:
        """`descriptors`: copies of them travel with the first byte. Raises BrokenResourceError, ClosedResourceError."""
        await anyio.lowlevel.checkpoint()
        left = memoryview(item)
        while left:
            try:
                sent = socket.send_fds(self._raw, [left], descriptors) if descriptors else self._raw.send(left)
                left, descriptors = left[sent:], ()
            except BlockingIOError:
                await anyio.wait_writable(self._raw)
            except OSError as error:
                raise self._gone() from error

    def _gone(self) -> Exception:
        return anyio.ClosedResourceError() if self._closing else anyio.BrokenResourceError()

    async def send_eof(self) -> None:
        self._raw.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        """Pending calls raise ClosedResourceError. Idempotent."""
        if not self._closing:
            self._closing = True
            if self._raw.fileno() >= 0:  # else it was closed by who else holds it
                anyio.notify_closing(self._raw)
            self._raw.close()
        await anyio.lowlevel.checkpoint()
