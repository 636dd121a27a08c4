"""Downloads of files, whole or a range of bytes, in pieces: never whole in memory."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator
from email.utils import formatdate
from typing import Final
from urllib.parse import quote

import anyio
from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.e2b_server.envd.file_driver import FileDriver
from sandbox_gym.e2b_server.faults import Fault, SandboxStream
from sandbox_gym.e2b_server.sandboxes.processes import number
from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.channel.envd import Envd, Refused

_RANGE: Final = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))")
_LATEST: Final = 1 << 37
"""The last time that is told of a file, in the year 6325: a header has four digits for it."""


async def download(request: Request, envd: FileDriver, path: str) -> Response:
    """A file, or the range of its bytes that is asked for. Raises Fault, Refused, BoxLost."""
    reply, first = await envd.call({"op": "open", "path": path})
    handle = number(reply, "handle")
    size = max(0, number(reply, "size")) if handle else len(first)
    changed = formatdate(min(max(0, number(reply, "changed")), _LATEST), usegmt=True)
    name = quote(path.rpartition("/")[2], safe="", errors="replace")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}", "Last-Modified": changed}
    try:
        part = _part(request, size, changed)
    except Fault:
        await close(envd, handle)
        raise
    # only where gzip alone is accepted: every HTTP client accepts gzip among others, and few links need it
    zipped = part is None and request.headers.get("accept-encoding", "").strip().lower() == "gzip"
    start, end = part or (0, size)
    pieces = _pieces(envd, handle, first, start, end)
    if zipped:
        pieces, headers = _zipped(pieces), {**headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    else:
        headers |= {"Content-Length": str(end - start), "Accept-Ranges": "bytes"}
    if part is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    return SandboxStream(pieces, 200 if part is None else 206, headers, "application/octet-stream")


def _part(request: Request, size: int, changed: str) -> tuple[int, int] | None:
    """Where the range of bytes begins and ends that is asked for. None: the whole file is, or several ranges, or what
    follows is of a file that has changed since. Raises Fault 416."""
    asked = _RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    if asked is None or request.headers.get("if-range", changed) != changed:
        return None
    first, last, suffix = asked.groups()
    start = int(first) if first else max(0, size - int(suffix))
    end = min(size, int(last) + 1) if last else size
    if last and int(last) < start:
        return None
    if start >= end:
        raise Fault(416, f"the file has {size} bytes", headers={"Content-Range": f"bytes */{size}"})
    return start, end


async def _pieces(envd: FileDriver, handle: int, first: bytes, start: int, end: int) -> AsyncIterator[bytes]:
    """A file's bytes, up to the size that it had when it was opened, because a file may grow for ever. Raises BoxLost
    where it became shorter. `first`: its first piece, which is all of it without a handle."""
    try:
        piece, left = first[start:end], end - start
        offset = start if not piece else None
        while left > 0:
            if piece:
                yield piece[:left]
                left -= len(piece)
            if left > 0:
                _, piece = await envd.call({"op": "read", "handle": handle, "offset": offset})
                offset = None
                if not piece:
                    raise BoxLost("the file became shorter while it was read")
    except Refused as error:
        raise BoxLost(f"the file can't be read any more: {error}") from None
    finally:
        await close(envd, handle)


async def _zipped(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    packer = zlib.compressobj(1, wbits=31)
    async for piece in pieces:
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()


async def close(envd: FileDriver | Envd, handle: int) -> None:
    """Close an open file of the sandbox, if there is one."""
    if handle == 0:
        return
    with anyio.CancelScope(shield=True):
        await envd.tidy({"op": "close", "handle": handle})
