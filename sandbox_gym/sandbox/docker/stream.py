"""The attach connection of a container as a byte stream."""

from __future__ import annotations

import contextlib
from typing import Any

import anyio
from anyio.abc import ByteStream


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
