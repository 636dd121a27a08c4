"""envd's filesystem service: entries, folders and watches. Paths are opened in the sandbox, by its own user."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.envd import Stream
from sandbox_gym.server.accounts import new_id
from sandbox_gym.server.e2b_api.connect_rpc import (
    Document,
    StreamReply,
    answer_method,
    ping_of,
    read_messages,
    timeout_of,
)
from sandbox_gym.server.e2b_api.faults import Fault
from sandbox_gym.server.e2b_api.jobs import Work, number, words

MAX_PATH: Final = 8192
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
    """The service of one sandbox, for one request."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def answer(self, request: Request, method: str) -> Response:
        unary = {
            "Stat": self._stat,
            "MakeDir": self._make_dir,
            "Move": self._move,
            "ListDir": self._list,
            "Remove": self._remove,
            "CreateWatcher": self._create_watcher,
            "GetWatcherEvents": self._watcher_events,
            "RemoveWatcher": self._remove_watcher,
        }
        return await answer_method(request, "filesystem.Filesystem", method, unary, {"WatchDir": self._watch_dir})

    async def _stat(self, request: Request, message: Document) -> Document:
        reply, _ = await self._work.envd.call({"op": "stat", "path": path_of(message)})
        return {"entry": entry_of(reply.get("entry"))}

    async def _make_dir(self, request: Request, message: Document) -> Document:
        reply, _ = await self._work.envd.call({"op": "make_dir", "path": path_of(message)})
        return {"entry": entry_of(reply.get("entry"))}

    async def _move(self, request: Request, message: Document) -> Document:
        source, target = path_of(message, "source"), path_of(message, "destination")
        reply, _ = await self._work.envd.call({"op": "move", "path": source, "target": target})
        return {"entry": entry_of(reply.get("entry"))}

    async def _remove(self, request: Request, message: Document) -> Document:
        await self._work.envd.call({"op": "remove", "path": path_of(message)})
        return {}

    async def _list(self, request: Request, message: Document) -> Document:
        depth = message.get("depth") or 1
        if type(depth) is not int or not 1 <= depth <= 1000:
            raise Fault(400, "depth should be at least 1")
        _, body = await self._work.envd.call({"op": "list", "path": path_of(message), "depth": depth})
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            raise BoxLost("the sandbox listed nonsense") from None
        return {"entries": [entry_of(one) for one in found] if isinstance(found, list) else []}

    # -- watches

    async def _open(self, message: Document) -> Stream:
        _, stream = await self._work.envd.open(
            {
                "op": "watch",
                "path": path_of(message),
                "recursive": message.get("recursive") is True,
                "entries": message.get("includeEntry") is True,
            }
        )
        return stream

    async def _close(self, stream: Stream) -> None:
        """Shielded: a client that leaves must not leave its watch behind."""
        with anyio.CancelScope(shield=True):
            self._work.envd.forget(stream.number)
            try:
                await self._work.envd.call({"op": "unwatch", "stream": stream.number})
            except BoxLost:
                return

    async def _watch_dir(self, request: Request) -> Response:
        message: Document = {}
        failure: Exception | None = None
        seconds = 0.0
        try:
            async for one in read_messages(request):
                message = one
            seconds = timeout_of(request)
        except Fault as error:
            failure = error

        async def events() -> AsyncGenerator[Document, None]:
            if failure is not None:
                raise failure
            stream = await self._open(message)
            try:
                yield {"start": {}}
                deadline = time.monotonic() + (seconds or WATCH_S)
                while True:
                    header, _ = await stream.next(max(0.0, deadline - time.monotonic()))
                    yield {"filesystem": change_of(header)}
            except TimeoutError:
                raise Fault(504, "the watch ran out of its time", code="deadline_exceeded") from None
            finally:
                await self._close(stream)

        return StreamReply(events, ping=_PING, ping_s=ping_of(request))

    async def _create_watcher(self, request: Request, message: Document) -> Document:
        stream = await self._open(message)
        watcher_id = new_id("w")
        self._work.watches[watcher_id] = stream
        return {"watcherId": watcher_id}

    def _watch(self, message: Document) -> tuple[str, Stream]:
        watcher_id = message.get("watcherId")
        found = self._work.watches.get(watcher_id) if isinstance(watcher_id, str) else None
        if found is None:
            raise Fault(404, f"watcher {str(watcher_id)[:40]} not found")
        return str(watcher_id), found

    async def _watcher_events(self, request: Request, message: Document) -> Document:
        _, stream = self._watch(message)
        await self._work.envd.call({"op": "ping"})  # what happened before now is told before the answer to this
        return {"events": [change_of(header) for header in await stream.take()]}

    async def _remove_watcher(self, request: Request, message: Document) -> Document:
        watcher_id, stream = self._watch(message)
        del self._work.watches[watcher_id]
        await self._close(stream)
        return {}


def path_of(message: Document, name: str = "path") -> str:
    """A path as it was given; what it means is said in the sandbox. Raises Fault 400."""
    path = message.get(name, "")
    if not isinstance(path, str) or len(path) > MAX_PATH or "\0" in path:
        raise Fault(400, f"{name} is a text of at most {MAX_PATH} characters without NUL")
    return path


def entry_of(entry: object) -> dict[str, object]:
    """What a box says of an entry, as envd says it; every field checked. Raises BoxLost."""
    if not isinstance(entry, dict):
        raise BoxLost("the sandbox told of no entry")
    view: dict[str, object] = {
        "name": words(entry, "name"),
        "path": words(entry, "path", MAX_PATH),
        "size": str(max(0, number(entry, "size"))),
        "mode": number(entry, "mode") & 0o7777,
        "permissions": words(entry, "permissions", 20),
        "owner": words(entry, "owner", 100),
        "group": words(entry, "group", 100),
        "modifiedTime": _moment(entry),
    }
    kind = _TYPES.get(words(entry, "type"))
    if kind:
        view["type"] = kind
    if entry.get("link") is True:
        view.update(isSymlink=True, symlinkTarget=words(entry, "target", MAX_PATH))
    notes = entry.get("metadata")
    if isinstance(notes, dict) and notes:
        view["metadata"] = {str(key)[:255]: words(notes, key) for key in list(notes)[:100] if isinstance(key, str)}
    return view


def _moment(entry: Mapping[str, object]) -> str:
    nanoseconds = entry.get("modified_ns")
    if type(nanoseconds) is not int or not 0 <= nanoseconds < 1 << 62:
        nanoseconds = 0
    moment = _EPOCH + timedelta(seconds=nanoseconds // 10**9)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 10**9:09d}Z"


def change_of(header: Mapping[str, object]) -> dict[str, object]:
    """One event of a watch."""
    kind = _KINDS.get(words(header, "kind"), "EVENT_TYPE_UNSPECIFIED")
    change: dict[str, object] = {"name": words(header, "name", MAX_PATH), "type": kind}
    entry = header.get("entry")
    return {**change, "entry": entry_of(entry)} if isinstance(entry, dict) else change
