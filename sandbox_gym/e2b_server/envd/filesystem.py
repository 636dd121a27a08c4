"""envd's filesystem service: entries, folders and watches. Paths are opened in the sandbox, by the user."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.e2b_server.control.shapes import MAX_PATH, checked
from sandbox_gym.e2b_server.envd import routes as declared
from sandbox_gym.e2b_server.envd import shapes
from sandbox_gym.e2b_server.envd.connect_rpc import Document, answer_method, ping_of, read_opening, stream_reply
from sandbox_gym.e2b_server.envd.file_driver import FileDriver
from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.sandboxes.processes import Work, number, text_of
from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.channel.envd import Stream
from sandbox_gym.server.access.accounts import new_id

WATCH_S: Final = 24 * 3600.0
_PING: Final[Document] = {"keepalive": {}}
_KINDS: Final = {
    "create": "EVENT_TYPE_CREATE",
    "write": "EVENT_TYPE_WRITE",
    "remove": "EVENT_TYPE_REMOVE",
    "rename": "EVENT_TYPE_RENAME",
    "chmod": "EVENT_TYPE_CHMOD",
}
_TYPES: Final = {"file": "FILE_TYPE_FILE", "dir": "FILE_TYPE_DIRECTORY"}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Filesystem:
    """The service of one sandbox, for one request of a user."""

    def __init__(self, work: Work, files: FileDriver) -> None:
        self._work, self._files = work, files

    async def answer(self, request: Request, method: str) -> Response:
        methods = [
            declared.STAT.by(partial(self._at, operation="stat")),
            declared.MAKE_DIR.by(partial(self._at, operation="make_dir")),
            declared.MOVE.by(self._move),
            declared.LIST_DIR.by(self._list),
            declared.REMOVE.by(self._remove),
            declared.CREATE_WATCHER.by(self._create_watcher),
            declared.WATCHER_EVENTS.by(self._watcher_events),
            declared.REMOVE_WATCHER.by(self._remove_watcher),
            declared.WATCH_DIR.streamed_by(self._watch_dir),
        ]
        return await answer_method(request, declared.FILESYSTEM, method, dict(methods))

    async def _at(self, request: Request, asked: shapes.AtPath, operation: str) -> shapes.EntryReply:
        reply, _ = await self._files.call({"op": operation, "path": asked.path})
        return {"entry": entry_of(reply.get("entry"))}

    async def _move(self, request: Request, asked: shapes.MoveEntry) -> shapes.EntryReply:
        reply, _ = await self._files.call({"op": "move", "path": asked.source, "target": asked.destination})
        return {"entry": entry_of(reply.get("entry"))}

    async def _remove(self, request: Request, asked: shapes.AtPath) -> shapes.Nothing:
        await self._files.call({"op": "remove", "path": asked.path})
        return {}

    async def _list(self, request: Request, asked: shapes.ListFolder) -> shapes.Entries:
        _, body = await self._files.call({"op": "list", "path": asked.path, "depth": asked.depth or 1})
        found = _parsed(body)
        return {"entries": [entry_of(one) for one in found] if isinstance(found, list) else []}

    # -- watches

    async def _open(self, asked: shapes.WatchFolder, *, lasting: bool) -> Stream:
        flags = {"recursive": asked.recursive is True, "entries": asked.include_entry is True}
        _, stream = await self._files.envd.open({"op": "watch", "path": asked.path, **flags}, lasting=lasting)
        return stream

    async def _close(self, stream: Stream) -> None:
        """Shielded, so that a client's disconnect still removes its watch."""
        with anyio.CancelScope(shield=True):
            stream.envd.forget(stream.number)
            try:
                await stream.envd.call({"op": "unwatch", "stream": stream.number})
            except BoxLost:
                return

    async def _watch_dir(self, request: Request) -> Response:
        message, seconds = await read_opening(request)

        async def events() -> AsyncGenerator[Document, None]:
            stream = await self._open(checked(shapes.WatchFolder, message), lasting=False)
            try:
                yield {"start": {}}
                deadline = time.monotonic() + (seconds or WATCH_S)
                while True:
                    _, body = await stream.next(max(0.0, deadline - time.monotonic()))
                    yield {"filesystem": change_of(_parsed(body))}
            except TimeoutError:
                raise Fault(504, "the watch timed out", code="deadline_exceeded") from None
            finally:
                await self._close(stream)

        return stream_reply(events, _PING, ping_of(request))

    async def _create_watcher(self, request: Request, asked: shapes.WatchFolder) -> shapes.WatcherMade:
        stream = await self._open(asked, lasting=True)
        watcher_id = new_id("w")
        self._work.watches[watcher_id] = stream
        return {"watcherId": watcher_id}

    def _watch(self, asked: shapes.NamedWatcher) -> Stream:
        found = self._work.watches.get(asked.watcher_id)
        if found is None:
            raise Fault(404, f"watcher {asked.watcher_id[:40]} not found")
        return found

    async def _watcher_events(self, request: Request, asked: shapes.NamedWatcher) -> shapes.Changes:
        stream = self._watch(asked)
        await stream.envd.call({"op": "ping"})  # the reply to this comes after every event that happened before it
        return {"events": [change_of(_parsed(body)) for body in await stream.take()]}

    async def _remove_watcher(self, request: Request, asked: shapes.NamedWatcher) -> shapes.Nothing:
        stream = self._watch(asked)
        del self._work.watches[asked.watcher_id]
        await self._close(stream)
        return {}


def entry_of(entry: object) -> shapes.Entry:
    """An entry of the sandbox's reply in envd's form, every field checked. Raises BoxLost."""
    if not isinstance(entry, dict):
        raise BoxLost("the sandbox's reply has no entry")
    view: shapes.Entry = {
        "name": text_of(entry, "name"),
        "path": text_of(entry, "path", MAX_PATH),
        "size": str(max(0, number(entry, "size"))),
        "mode": number(entry, "mode") & 0o7777,
        "permissions": text_of(entry, "permissions", 20),
        "owner": text_of(entry, "owner", 100),
        "group": text_of(entry, "group", 100),
        "modifiedTime": _moment(entry),
    }
    kind = _TYPES.get(text_of(entry, "type"))
    if kind:
        view["type"] = kind
    if entry.get("link") is True:
        view["isSymlink"], view["symlinkTarget"] = True, text_of(entry, "target", MAX_PATH)
    notes = entry.get("metadata")
    if isinstance(notes, dict) and notes:
        view["metadata"] = {str(key)[:255]: text_of(notes, key) for key in list(notes)[:100] if isinstance(key, str)}
    return view


def _moment(entry: Mapping[str, object]) -> str:
    nanoseconds = entry.get("modified_ns")
    if type(nanoseconds) is not int or not 0 <= nanoseconds < 1 << 62:
        nanoseconds = 0
    moment = _EPOCH + timedelta(seconds=nanoseconds // 10**9)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 10**9:09d}Z"


def _parsed(body: bytes) -> object:
    """Raises BoxLost."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise BoxLost("the sandbox sent files that are no JSON") from None


def change_of(event: object) -> shapes.Change:
    """One event of a watch, every field checked. Raises BoxLost."""
    header = event if isinstance(event, dict) else {}
    kind = _KINDS.get(text_of(header, "kind"), "EVENT_TYPE_UNSPECIFIED")
    change: shapes.Change = {"name": text_of(header, "name", MAX_PATH), "type": kind}
    entry = header.get("entry")
    if isinstance(entry, dict):
        change["entry"] = entry_of(entry)
    return change
