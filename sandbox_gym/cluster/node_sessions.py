"""A node's sessions and built snapshots, as its server asks for them in messages.

Ids are the server's: one for each life of a session, so that an id is never begun twice.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox_gym.cluster.messages import NodeLost, NodeRefused, Nothing
from sandbox_gym.codec import decode
from sandbox_gym.sandbox.session.builds import BuiltSnapshot, SnapshotBuilder
from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot


@dataclass(frozen=True, slots=True)
class SessionCall:
    """One tool call. `request_json` goes to the session's driver as it is; `base`: what a new session begins from;
    `root`: it was seeded with root."""

    life: str
    request_json: bytes
    body: bytes
    timeout_s: float
    deadline_s: float
    base: str = ""
    root: bool = False


@dataclass(frozen=True, slots=True)
class SessionReply:
    """A `ToolReply`; its reply as JSON, whose content is not trusted."""

    reply_json: bytes
    body: bytes
    restored: bool
    lost: bool
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Life:
    """One life of a session. `folder`: where another node kept it."""

    life: str
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """What a node has from before: lives with the snapshot each began from, and snapshots that are built."""

    lives: Mapping[str, str]
    built: tuple[BuiltSnapshot, ...]


class NodeSessions:
    """Answers for one engine's sessions. `folder` is what they are kept in; `builder` makes what some begin from."""

    def __init__(self, sessions: Sessions, folder: Path, builder: SnapshotBuilder | None) -> None:
        self._sessions, self.folder, self._builder = sessions, str(folder.resolve()), builder
        self.operations: Mapping[str, Callable[[bytes], Awaitable[object]]] = {
            "session": self._call,
            "discard": self._discard,
            "close": self._close,
            "adopt": self._adopt,
            "held": self._held,
            "build": self._build,
        }

    def stats(self) -> Mapping[str, int]:
        """Counters and gauges by name."""
        return self._sessions.stats_dict()

    async def _call(self, message: bytes) -> SessionReply:
        wanted = decode(SessionCall, message)
        if wanted.base and wanted.life not in self._sessions:
            self._sessions.begin(wanted.life, wanted.base)
        if wanted.root:
            self._sessions.grant_root(wanted.life)
        request = json.loads(wanted.request_json)
        done = await self._sessions.call(
            wanted.life, request, wanted.body, timeout_s=wanted.timeout_s, deadline_s=wanted.deadline_s
        )
        return SessionReply(
            json.dumps(dict(done.reply)).encode("ascii"), done.body, done.restored, done.lost, done.stale
        )

    async def _discard(self, message: bytes) -> Nothing:
        self._sessions.discard(decode(Life, message).life)
        return Nothing()

    async def _close(self, message: bytes) -> Nothing:
        await self._sessions.close(decode(Life, message).life)
        return Nothing()

    async def _adopt(self, message: bytes) -> Nothing:
        """Go on with a life that another node kept, from its last snapshot, where its folder can be read here."""
        wanted = decode(Life, message)
        try:
            await self._sessions.adopt(wanted.life, Path(wanted.folder))
        except NoSuchSnapshot as error:
            raise NodeLost(f"the session's snapshots are not to be had here: {error}") from error
        return Nothing()

    async def _held(self, message: bytes) -> Held:
        return Held(self._sessions.bases(), tuple(self._builder.kept()) if self._builder is not None else ())

    async def _build(self, message: bytes) -> BuiltSnapshot:
        if self._builder is None:
            raise NodeRefused("the node builds nothing")
        return await self._builder.build(message)
