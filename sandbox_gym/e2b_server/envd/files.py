"""envd's files over HTTP: downloads and uploads in pieces, never whole in memory."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

import anyio
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from sandbox_gym.e2b_server.access import TOKEN_HEADER, check_signature, check_token, user_of, usual_user
from sandbox_gym.e2b_server.control.shapes import MAX_PATH
from sandbox_gym.e2b_server.envd.downloads import close, download
from sandbox_gym.e2b_server.envd.file_driver import Drivers, FileDriver
from sandbox_gym.e2b_server.faults import Fault, as_json
from sandbox_gym.e2b_server.sandboxes.processes import number, text_of
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox, check_user
from sandbox_gym.sandbox.channel.envd import Envd

PIECE: Final = 1 << 20
MAX_UPLOAD: Final = 16 << 30
MAX_FILES: Final = 1000
MAX_NOTES: Final = 64
TRANSFER_S: Final = 3600.0
_NOTE: Final = "x-metadata-"


async def answer_files(request: Request, sandbox: Sandbox, drivers: Drivers) -> Response:
    """GET and POST /files, by token or by signature. Raises Fault and what it is made of."""
    operation = "write" if request.method == "POST" else "read"
    signed = "signature" in request.query_params and TOKEN_HEADER not in request.headers
    if signed:
        check_signature(request, sandbox, operation)
    else:
        check_token(request, sandbox)
    named = request.query_params.get("username", "")
    check_user(named, sandbox)
    # a header is not signed
    user = named or (usual_user(sandbox) if signed else user_of(request, sandbox))
    envd = FileDriver(drivers, sandbox, user, await drivers(sandbox, user))
    if request.method == "GET":
        return await download(request, envd, _path(request))
    if request.method == "POST":
        with anyio.fail_after(TRANSFER_S):
            return await _upload(request, envd)
    raise Fault(405, "files are read by GET and written by POST", headers={"Allow": "GET, POST"})


def _path(request: Request) -> str:
    path = request.query_params.get("path", "")
    if len(path) > MAX_PATH or "\0" in path:
        raise Fault(400, f"path must be a string of at most {MAX_PATH} characters without NUL")
    return path


class Upload:
    """One file on its way into the sandbox, in pieces of at most PIECE."""

    def __init__(self, envd: FileDriver | Envd, path: str, notes: Mapping[str, str]) -> None:
        self._envd, self._path, self._notes = envd, path, notes
        self._buffer = bytearray()
        self._handle = 0
        self._created = False
        self.path = ""

    async def feed(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= PIECE:
            await self._send(more=True)

    async def _send(self, *, more: bool) -> None:
        piece = bytes(self._buffer[:PIECE])
        del self._buffer[:PIECE]
        if self._created:
            await self._envd.call({"op": "write", "handle": self._handle}, piece)
            return
        request = {"op": "create", "path": self._path, "notes": dict(self._notes), "more": more}
        reply, _ = await self._envd.call(request, piece)
        self._created, self._handle, self.path = True, number(reply, "handle"), text_of(reply, "path", MAX_PATH)

    async def finish(self) -> dict[str, object]:
        if self._buffer or not self._created:
            await self._send(more=False)
        await self.aclose()
        view: dict[str, object] = {"name": self.path.rpartition("/")[2], "path": self.path, "type": "file"}
        return {**view, "metadata": dict(self._notes)} if self._notes else view

    async def aclose(self) -> None:
        handle, self._handle = self._handle, 0
        await close(self._envd, handle)


async def _upload(request: Request, envd: FileDriver) -> Response:
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    notes = _notes(request)
    try:
        if kind == b"multipart/form-data":
            done = await _from_form(request, envd, options.get(b"boundary", b""), notes)
        else:
            path = _path(request)
            if not path:
                raise Fault(400, "path is missing")
            done = [await _from_body(request, envd, path, notes)]
    except ClientDisconnect:
        raise Fault(400, "the upload ended early") from None
    return as_json(done)


def _notes(request: Request) -> dict[str, str]:
    notes = {
        name[len(_NOTE) :]: value
        for name, value in request.headers.items()
        if name.startswith(_NOTE) and len(name) > 11
    }
    if len(notes) > MAX_NOTES:
        raise Fault(400, f"at most {MAX_NOTES} X-Metadata headers")
    return notes


async def _from_body(request: Request, envd: FileDriver, path: str, notes: Mapping[str, str]) -> dict[str, object]:
    upload = Upload(envd, path, notes)
    try:
        async for data in _body(request):
            await upload.feed(data)
        return await upload.finish()
    finally:
        await upload.aclose()


async def _body(request: Request) -> AsyncIterator[bytes]:
    """The decompressed body, bounded. Raises Fault."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise Fault(400, f"content encoding {encoding[:20]!r} is not supported; use gzip")
    unpacker = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
    size = 0
    async for chunk in request.stream():
        pieces: Iterable[bytes] = _unzipped(unpacker, chunk) if unpacker is not None else [chunk]
        for piece in pieces:
            size += len(piece)
            if size > MAX_UPLOAD:
                raise Fault(413, f"a file has at most {MAX_UPLOAD} bytes")
            if piece:
                yield piece
    if unpacker is not None and not unpacker.eof:
        raise Fault(400, "the body is not a whole gzip stream")


def _unzipped(unpacker: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
    """A chunk decompressed, at most PIECE at a time, whatever its compression ratio."""
    try:
        while chunk and not unpacker.eof:
            yield unpacker.decompress(chunk, PIECE)
            chunk = unpacker.unconsumed_tail
    except zlib.error as error:
        raise Fault(400, f"the body is not gzip ({error})") from None


async def _from_form(
    request: Request, envd: FileDriver, boundary: bytes, notes: Mapping[str, str]
) -> list[dict[str, object]]:
    """Every part called `file`; its name is its path, unless the query has one."""
    if not boundary:
        raise Fault(400, "the form has no boundary")
    parser = _Form(boundary)
    upload: Upload | None = None
    done: list[dict[str, object]] = []
    try:
        async for data in _body(request):
            parser.feed(data)
            for kind, content in parser.events:
                if kind == "begin":
                    if len(done) >= MAX_FILES:
                        raise Fault(400, f"at most {MAX_FILES} files at once")
                    path = _path(request) or content.decode("utf-8", "surrogateescape")
                    if not path or "\0" in path or len(path) > MAX_PATH:
                        raise Fault(400, "a file of the form has no valid path")
                    upload = Upload(envd, path, notes)
                elif kind == "data" and upload is not None:
                    await upload.feed(content)
                elif kind == "end" and upload is not None:
                    done.append(await upload.finish())
                    upload = None
            parser.events.clear()
        if upload is not None or not done:
            raise Fault(400, "the form ended early" if upload is not None else "the form contains no file")
        return done
    finally:
        if upload is not None:
            await upload.aclose()


class _Form:
    """A multipart body as events: begin (a file's name), data, end."""

    def __init__(self, boundary: bytes) -> None:
        self.events: list[tuple[str, bytes]] = []
        self._header, self._headers = (bytearray(), bytearray()), dict[bytes, bytes]()
        self._is_file = False
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._headers.clear,
                    "on_header_field": partial(self._add, 0),
                    "on_header_value": partial(self._add, 1),
                    "on_header_end": self._keep,
                    "on_headers_finished": self._ready,
                    "on_part_data": lambda data, start, end: self._tell("data", data[start:end]),
                    "on_part_end": lambda: self._tell("end", b""),
                },
                max_header_size=4 * MAX_PATH,
            )
        except FormParserError as error:  # such as a boundary of over 256 bytes
            raise Fault(400, f"the form can't be read: {error}") from None

    def feed(self, data: bytes) -> None:
        """Raises Fault 400."""
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise Fault(400, f"the form can't be read: {error}") from None

    def _add(self, part: int, data: bytes, start: int, end: int) -> None:
        self._header[part].extend(data[start:end])

    def _keep(self) -> None:
        name, value = self._header
        self._headers[bytes(name).lower()] = bytes(value)
        name.clear()
        value.clear()

    def _ready(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._is_file = options.get(b"name") == b"file"
        self._tell("begin", options.get(b"filename", b""))

    def _tell(self, kind: str, content: bytes) -> None:
        if self._is_file:
            self.events.append((kind, content))
