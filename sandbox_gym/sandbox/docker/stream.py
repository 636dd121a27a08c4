"""A container's channel: its attach connection as a byte stream, or one socket beside it, since two processes of the
engine would copy all that standard streams carry.

The guest's interpreter listens in its container, and this process connects through /proc before any program runs there.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any, Final

import anyio
from anyio.abc import ByteStream

from sandbox_gym.sandbox.channel.bundle import BOOTSTRAP
from sandbox_gym.sandbox.channel.guest_channel import HANDSHAKE_S
from sandbox_gym.sandbox.channel.socket_stream import RawSocketStream


class AttachStream(ByteStream):
    """The raw attach connection as a byte stream: input as it is, output freed of its 8-byte headers."""

    def __init__(self, raw: ByteStream, keep_alive: Any) -> None:
        self._raw = raw
        self._keep_alive = keep_alive  # the SDK's file object closes the socket when it is collected
        self._buffer = bytearray()
        self._left = 0
        self._is_output = True
        self.stderr = bytearray()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        while True:
            if self._left:
                if not self._buffer:
                    self._buffer += await self._raw.receive(1 << 17)
                piece = bytes(self._buffer[: min(self._left, max_bytes)])
                del self._buffer[: len(piece)]
                self._left -= len(piece)
                if self._is_output:
                    return piece
                self.stderr += piece[: max(0, 4096 - len(self.stderr))]
                continue
            while len(self._buffer) < 8:
                self._buffer += await self._raw.receive(1 << 17)
            self._is_output = self._buffer[0] == 1
            self._left = int.from_bytes(self._buffer[4:8], "big")
            del self._buffer[:8]

    async def send(self, item: bytes) -> None:
        await self._raw.send(item)

    async def last_words(self) -> str:
        """What the container said on its standard error in the end, which may take a second."""
        with anyio.move_on_after(1), contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                await self.receive()
        return bytes(self.stderr[-500:]).decode("utf-8", "replace")

    async def send_eof(self) -> None:
        await self._raw.send_eof()

    async def aclose(self) -> None:
        """Both: the SDK's file object holds the descriptor open until it is closed too."""
        self._keep_alive.close()
        await self._raw.aclose()


MEETING: Final = f"""import os,socket,sys
s=socket.socket(socket.AF_UNIX);s.bind(sys.argv[3]);s.listen(1);os.write(1,b'.')
if os.read(0,1)==b'd':
 c=s.accept()[0]
 for a in c.recvmsg(1,64)[1]:
  os.close(int.from_bytes(a[2][:4],sys.byteorder));os.dup2(c.fileno(),0);os.dup2(c.fileno(),1);os.write(1,b'.')
 c.close()
s.close();os.unlink(sys.argv[3])
{BOOTSTRAP}"""
"""`python3 -I -c MEETING 0 1 <path>`: as BOOTSTRAP, over a connection to that path if it is told so and descriptors can
come over it, which some kernels' rules refuse a container."""


async def direct(streams: ByteStream, pid: int, path: str) -> ByteStream:
    """A connection to the guest that MEETING starts at `path`, which no other container has; its standard streams where
    it is on another machine, in gVisor, or not ours to see. `pid`: the engine's, of the container's first process."""
    raw = socket.socket(socket.AF_UNIX)
    with contextlib.ExitStack() as undo:
        undo.callback(raw.close)
        stream = RawSocketStream(raw)
        with anyio.move_on_after(HANDSHAKE_S), contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            await streams.receive(1)
            with contextlib.suppress(OSError):
                raw.connect(f"/proc/{pid}/root{path}")
                await stream.send(b".", [raw.fileno()])
                await streams.send(b"d")
                await stream.receive(1)
                undo.pop_all()
                return stream
            await streams.send(b"s")
    return streams
