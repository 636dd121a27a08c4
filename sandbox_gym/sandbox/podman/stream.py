"""The standard input and output of `podman run` as a byte stream."""

from __future__ import annotations

import contextlib

import anyio
from anyio.abc import ByteStream, Process


class ProcessStream(ByteStream):
    """Both directions of a container's guest, as `podman run` carries them."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._input, self._output = process, process.stdin, process.stdout

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self._output.receive(max_bytes)

    async def send(self, item: bytes) -> None:
        await self._input.send(item)

    async def send_eof(self) -> None:
        await self._input.aclose()

    async def errors(self) -> str:
        """What `podman run` itself said, once it has ended or within a second."""
        said = b""
        with anyio.move_on_after(1), contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            while self._process.stderr is not None and len(said) < 4096:
                said += await self._process.stderr.receive()
        return said.decode("utf-8", "replace").strip()[-500:]

    async def aclose(self) -> None:
        """End `podman run`; the container itself is removed by its machine."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.aclose()
