"""The host's end of a session's driver: one long run in a box, requests and replies over its fd 3.

Owns framing, bounds and deadlines; knows neither tools nor how files are kept. A reply is the program's word.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Final, Literal, Protocol

import anyio

from sandbox_gym.contract import Program, Run
from sandbox_gym.errors import BoxLost
from sandbox_gym.guest.protocol import frames
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.snapshots import Snapshot

WORK: Final = "/workspace"
MAX_REPLY: Final = 17 << 20
_RUN_ID: Final = 1
NOTHING: Final[Mapping[str, str]] = {}


class DriverLink(Protocol):
    """How a driver is reached: as a run of a guest, or as a command of its own."""

    broken: bool

    def lost(self, why: object) -> BoxLost: ...

    async def send_run(self, run: Run, run_id: int, channel: Literal["", "relay", "stdio"] = "") -> None: ...

    async def send(self, header: Mapping[str, object], body: bytes = b"") -> None: ...

    async def receive_patiently(self, within_s: float) -> tuple[Mapping[str, object], bytes]: ...


class Driver:
    """One session's driver. One call at a time."""

    def __init__(self, link: DriverLink, *, measure: bool = False, root: bool = False) -> None:
        """`measure`: the provider can't tell how much the work folder holds, so the driver says it in each save.
        `root`: it keeps its supervisor's privileges, to run commands as any user of the box."""
        self._link, self._measure = link, measure
        self._root = root
        self._reader = frames.FrameReader(max_header=1 << 20, max_body=MAX_REPLY)

    async def start(self, limits: Limits, env: Mapping[str, str] = NOTHING) -> None:
        """Start the driver in the box and hear from it. `env`: what programs get beside the usual. Raises BoxLost."""
        argv, workdir = (("driver", "root"), "/") if self._root else ((), WORK)
        run = Run("session", Program("session", {}, argv=argv, env=env, workdir=workdir), limits=limits)
        await self._link.send_run(run, _RUN_ID, "relay")
        await self.call({"op": "ping"}, within_s=20)

    async def call(
        self, request: Mapping[str, object], body: bytes = b"", *, within_s: float
    ) -> tuple[Mapping[str, object], bytes]:
        """Raises BoxLost when the driver has ended, answers too much, or not in time; and when a call was abandoned:
        its reply would be taken for the next one's."""
        if self._link.broken:
            raise self._link.lost("an earlier call of its session was given up")
        message: bytes = frames.pack(request, body)
        try:
            with anyio.fail_after(within_s):
                for start in range(0, len(message), frames.CHUNK):
                    chunk = message[start : start + frames.CHUNK]
                    await self._link.send({"op": "chan", "id": _RUN_ID, "eof": False}, chunk)
                return await self._reply(within_s)
        except TimeoutError:
            raise self._link.lost(f"its session did not answer within {within_s:.0f} s") from None
        except BaseException:
            self._link.broken = True
            raise

    async def _reply(self, within_s: float) -> tuple[Mapping[str, object], bytes]:
        while True:
            try:
                frame: tuple[Mapping[str, object], bytes] | None = self._reader.next()
            except frames.BadFrame as error:
                raise self._link.lost(f"its session answered nonsense ({error})") from error
            if frame is not None:
                return frame
            header, body = await self._link.receive_patiently(within_s)
            if header.get("op") != "chan":
                raise self._link.lost(f"its session ended: {str(header.get('status'))[:40]}")
            self._reader.feed(body)

    async def save(self, parent: Snapshot | None, *, keep_globals: bool) -> tuple[Snapshot, bytes]:
        """What the shell and Python know, as a snapshot whose files are yet to be kept, and the pickled globals."""
        request = {"op": "save", "globals": keep_globals, "measure": self._measure}
        saved, blob = await self.call(request, within_s=40)
        lost = saved.get("lost")
        snapshot = Snapshot(
            snapshot_id=secrets.token_hex(12),
            parent_id=parent.snapshot_id if parent else None,
            digest="",
            size_bytes=_count(saved, "weight"),
            files=_count(saved, "files"),
            created_at=time.time(),
            cwd=_text(saved, "cwd"),
            env=_texts(saved, "env"),
            lost_globals=[str(name)[:100] for name in lost[:100]] if isinstance(lost, list) else [],
        )
        return snapshot, blob if keep_globals else b""

    async def restore(self, snapshot: Snapshot, globals_blob: bytes) -> None:
        """Give the shell and Python back what they knew; they start from it when they are next used."""
        request = {"op": "restore", "cwd": snapshot.cwd, "env": dict(snapshot.env)}
        await self.call(request, globals_blob, within_s=20)


def _count(reply: Mapping[str, object], name: str) -> int:
    """A count of a reply; 0 when it is none."""
    value = reply.get(name)
    return value if type(value) is int and 0 <= value < 1 << 53 else 0


def _text(reply: Mapping[str, object], name: str, limit: int = 4096) -> str:
    """A bounded text field of a reply; empty when it is none."""
    value = reply.get(name)
    return value[:limit] if isinstance(value, str) else ""


def _texts(reply: Mapping[str, object], name: str, *, items: int = 1000, limit: int = 65536) -> dict[str, str]:
    """A bounded mapping of texts in a reply, such as an environment; what is none is left out."""
    value = reply.get(name)
    if not isinstance(value, dict):
        return {}
    pairs = [(key, text) for key, text in value.items() if isinstance(key, str) and isinstance(text, str)]
    return {
        key: text for key, text in pairs[:items] if len(key) < 1024 and len(text) <= limit and "\0" not in key + text
    }
