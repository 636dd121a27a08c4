"""Sessions that people hold: opened on first use, hibernated when idle, woken by the next call, closed once for good.

Owns which session is where: in a sandbox, in a snapshot, or gone. Knows neither HTTP nor how providers keep snapshots.
A session's place is written down when it changes, so a killed process goes on from each session's last snapshot.
"""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
import structlog

from sandbox_gym.errors import BoxLost, DeadlineExceeded, PoolFull, SessionClosed
from sandbox_gym.faults import Rounds, as_provider_down, log_failure
from sandbox_gym.limits import Limits, Policy
from sandbox_gym.sandbox.api import SupportsWear
from sandbox_gym.sandbox.session.records import SessionRecord, SessionRecords
from sandbox_gym.sandbox.session.snapshots import (
    NoSuchSnapshot,
    SessionBox,
    SessionProvider,
    SnapshotFailed,
    SupportsAdopting,
    SupportsPreparing,
)

GRACE_S: Final = 15.0
"""Beyond a call's own timeout before a silent driver counts as lost: it interrupts, then kills, then answers."""
SWEEP_S: Final = 1.0
MAX_CLOSED: Final = 100_000
LOOK_S: Final = 1.0
"""How often who waits for room looks by itself: a session that was busy may have become idle."""
BURIERS: Final = 4
"""Discarded sessions that are ended at once."""
BURY_S: Final = 60.0
"""The longest that one of them may take; what it leaves then is the next server's to sweep."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What a call gave. `restored`: before it, the sandbox was lost and the session went on from its last snapshot."""

    reply: Mapping[str, object]
    body: bytes
    restored: bool = False
    lost: bool = False
    """The sandbox was lost during this very call: whether it ran is not known, and what it did is gone."""


@dataclass(slots=True, eq=False)
class _Session:
    session_id: str
    created_at: float
    last_used: float
    box: SessionBox | None = None
    snapshot_id: str | None = None
    base: str | None = None
    """The snapshot that it begins from, somebody else's to delete."""
    dirty_since: float | None = None
    restored: bool = False
    closed: bool = False
    calls: int = 0
    lock: anyio.Lock = field(default_factory=anyio.Lock)


@dataclass(frozen=True, slots=True)
class SessionGlance:
    """One session as an overview shows it. Times as the session's records have them."""

    session_id: str
    created_at: float
    last_used: float
    live: bool
    calls: int


def _written(session: _Session) -> SessionRecord:
    assert session.snapshot_id is not None
    return SessionRecord(session.session_id, session.created_at, session.last_used, session.snapshot_id, session.base)


@dataclass(slots=True)
class SessionStats:
    """Counters since the start."""

    opened: int = 0
    woken: int = 0
    hibernated: int = 0
    lost: int = 0
    closed: int = 0
    checkpoints: int = 0
    snapshot_failures: int = 0


class Sessions:
    """Holds sessions. Use `holding` to make one."""

    def __init__(self, provider: SessionProvider, folder: Path, limits: Limits, policy: Policy) -> None:
        self._provider, self._limits, self._policy, self.folder = provider, limits, policy, folder
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._closed: OrderedDict[str, None] = OrderedDict()
        self._live = 0
        self._freed = anyio.Event()
        self._taken = anyio.Event()
        self._doom = anyio.Event()
        self._doomed: list[_Session] = []
        self._disk_bytes = 0
        self.pinned: set[str] = set()
        """Snapshots of others that a collection leaves alone."""
        self.stats = SessionStats()
        self._records = SessionRecords(folder)
        for record in self._records.load():
            self._sessions[record.session_id] = _Session(**asdict(record), restored=True)

    # -- what the outside asks

    @property
    def live(self) -> int:
        """Sessions in sandboxes now."""
        return self._live

    @property
    def disk_bytes(self) -> int:
        """Disk that the snapshots take, as of the last look."""
        return self._disk_bytes

    @property
    def disk_limit_bytes(self) -> int:
        """What all snapshots may take."""
        return self._policy.disk_bytes

    @property
    def hibernated(self) -> int:
        """Sessions that are held, but in no sandbox."""
        return len(self._sessions) - self._live

    def glance(self, most: int) -> list[SessionGlance]:
        """Those used last, the latest first."""
        return [
            SessionGlance(one.session_id, one.created_at, one.last_used, one.box is not None, one.calls)
            for one in nlargest(most, islice(reversed(self._sessions.values()), 1000), key=lambda one: one.last_used)
        ]

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    async def call(
        self,
        session_id: str,
        request: Mapping[str, object],
        body: bytes = b"",
        *,
        timeout_s: float,
        deadline_s: float = 600.0,
    ) -> ToolReply:
        """One tool call in a session, which is opened or woken for it. Raises SessionClosed, PoolFull, ProviderDown,
        DeadlineExceeded. A sandbox that is lost in the call is told in the reply: a tool call is not repeated."""
        session = self._get(session_id)
        with anyio.move_on_after(deadline_s):
            async with session.lock:
                if session.closed:
                    raise SessionClosed(f"session {session_id[:80]!r} is closed")
                box = await self._awake(session)
                session.calls += 1
                session.dirty_since = session.dirty_since or time.monotonic()
                restored, session.restored = session.restored, False
                try:
                    reply, answer = await box.call(request, body, within_s=timeout_s + GRACE_S)
                except BoxLost as error:
                    await self._lose(session, error)
                    return ToolReply({"ok": False, "error": str(error)}, b"", restored, lost=True)
                except BaseException:  # cancelled in the middle: the driver is out of step with us
                    with anyio.CancelScope(shield=True):
                        await self._lose(session, "the call was cancelled")
                    raise
                finally:
                    session.last_used = time.time()
                    if not session.closed:
                        self._sessions.move_to_end(session_id)
                return ToolReply(reply, answer, restored)
        raise DeadlineExceeded(f"session {session_id[:80]!r} gave no answer within {deadline_s:g} s")

    def begin(self, session_id: str, snapshot_id: str) -> None:
        """A session anew, from a snapshot that stays its owner's. Raises SessionClosed, PoolFull."""
        self.discard(session_id)
        self._get(session_id).base = snapshot_id

    def base_of(self, session_id: str) -> str | None:
        """The snapshot that a held session began from."""
        session = self._sessions.get(session_id)
        return session.base if session is not None else None

    def bases(self) -> Mapping[str, str]:
        """Every held session, and the snapshot it began from; empty where it began with nothing."""
        return {session_id: session.base or "" for session_id, session in self._sessions.items()}

    async def adopt(self, session_id: str, folder: Path) -> None:
        """Go on with a session of a process that is dead, from its last snapshot in that one's folder. Idempotent.

        Raises NoSuchSnapshot where the folder, or what the session needs of it, is not to be had here.
        """
        if session_id in self._sessions:
            return
        record = SessionRecords.read(folder / "held", session_id)
        if record is None or not isinstance(self._provider, SupportsAdopting):
            raise NoSuchSnapshot(f"no record of session {session_id[:80]!r} that can be read here")
        await self._provider.adopt(folder, record.snapshot_id)
        self._sessions[session_id] = _Session(**asdict(record), restored=True)
        self._records.write(record)
        with contextlib.suppress(OSError):  # who has that folder next would go on from what is older then
            SessionRecords(folder / "held").remove(session_id)

    @property
    def provider(self) -> SessionProvider:
        """What opens them."""
        return self._provider

    async def checkpoint(self, session_id: str, *, keep_globals: bool | None = None) -> str:
        """Snapshot a session now; its id. Raises SnapshotFailed, SessionClosed, BoxLost."""
        session = self._get(session_id)
        async with session.lock:
            if session.closed:
                raise SessionClosed(f"session {session_id[:80]!r} is closed")
            await self._awake(session)
            await self._snapshot(session, keep_globals=keep_globals)
            assert session.snapshot_id is not None
            return session.snapshot_id

    async def hibernate(self, session_id: str) -> None:
        """Put a session into a snapshot and stop its sandbox. One that can't be kept stays awake. Idempotent."""
        session = self._sessions.get(session_id)
        if session is not None:
            async with session.lock:
                await self._hibernate(session)

    def discard(self, session_id: str) -> None:
        """Forget a session now; its sandbox and snapshots go soon. The next call of that id opens a new one."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._records.remove(session_id)
            self._doomed.append(session)
            doom, self._doom = self._doom, anyio.Event()
            doom.set()

    async def close(self, session_id: str) -> None:
        """End a session for good: sandbox, snapshots and all. Idempotent; closes what was never opened, too."""
        self._closed[session_id] = None
        while len(self._closed) > MAX_CLOSED:
            self._closed.popitem(last=False)
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._records.remove(session_id)
            await self._end(session)

    async def _end(self, session: _Session, *, shield: bool = True) -> None:
        with anyio.CancelScope(shield=shield):
            session.closed = True
            if session.box is not None and session.lock.locked():
                await session.box.aclose()  # a call that is under way ends now
            async with session.lock:
                await self._stop(session)
                if session.snapshot_id is not None:
                    await self._delete(session.snapshot_id)
                self.stats.closed += 1

    # -- places

    def _get(self, session_id: str) -> _Session:
        if session_id in self._closed:
            raise SessionClosed(f"session {session_id[:80]!r} is closed")
        session = self._sessions.get(session_id)
        if session is None:
            if len(self._sessions) >= self._policy.held:
                raise PoolFull(f"{len(self._sessions)} sessions are held, as many as may be; close some")
            now = time.time()
            session = self._sessions[session_id] = _Session(session_id, now, now)
            self.stats.opened += 1
        return session

    async def _awake(self, session: _Session) -> SessionBox:
        if session.box is None:
            await self._make_room()
            self._live += 1
            try:
                with as_provider_down("a session can't be opened"):
                    session.box = await self._provider.open_session(self._limits, session.snapshot_id or session.base)
            except NoSuchSnapshot as error:
                self._live -= 1
                session.closed = True
                self._sessions.pop(session.session_id, None)
                self._records.remove(session.session_id)
                raise SessionClosed(f"session {session.session_id[:80]!r} lost its snapshot: {error}") from error
            except BaseException:
                self._live -= 1
                raise
            self.stats.woken += session.snapshot_id is not None
            self._taken.set()
        return session.box

    async def _make_room(self) -> None:
        """Below the number of live sessions: the longest idle one hibernates; with none idle, wait."""
        stuck: set[str] = set()
        while self._live >= self._policy.live:
            idle = [one for one in self._sessions.values() if one.box is not None and not one.lock.locked()]
            oldest = next((one for one in idle if one.session_id not in stuck), None)
            if oldest is not None:
                async with oldest.lock:
                    if not await self._hibernate(oldest):
                        stuck.add(oldest.session_id)
                continue
            if len(stuck) >= self._live:
                raise PoolFull(f"{self._live} sessions are live and none of them can hibernate", retry_after_s=5)
            with anyio.move_on_after(LOOK_S):
                await self._freed.wait()

    async def _hibernate(self, session: _Session) -> bool:
        """With the session's lock held. False when its state can't be kept, so that it must stay where it is."""
        if session.box is None:
            return True
        if session.dirty_since is not None or session.snapshot_id is None:
            try:
                await self._snapshot(session)
            except BoxLost as error:
                await self._lose(session, error)
                return True
            except SnapshotFailed as error:
                self.stats.snapshot_failures += 1
                _log.warning("session_not_kept", session=session.session_id[:80], why=str(error))
                return False
        await self._stop(session)
        self.stats.hibernated += 1
        return True

    async def _snapshot(self, session: _Session, *, keep_globals: bool | None = None) -> None:
        assert session.box is not None
        wanted = self._policy.keep_globals if keep_globals is None else keep_globals
        before = session.snapshot_id
        if self._disk_bytes > self._policy.disk_bytes and await self.collect() > self._policy.disk_bytes:
            raise SnapshotFailed(f"snapshots take {self._disk_bytes} bytes, over their {self._policy.disk_bytes}")
        snapshot = await session.box.snapshot(keep_globals=wanted)
        self._disk_bytes += snapshot.size_bytes
        session.snapshot_id, session.dirty_since = snapshot.snapshot_id, None
        self._records.write(_written(session))
        self.stats.checkpoints += 1
        if before is not None:
            await self._delete(before)

    async def _delete(self, snapshot_id: str) -> None:
        try:
            await self._provider.delete(snapshot_id)
        except Exception as error:
            log_failure("snapshot_not_deleted", error, snapshot=snapshot_id)

    async def _lose(self, session: _Session, why: object) -> None:
        """The sandbox is gone, or of no more use; the next call goes on from the last snapshot."""
        _log.warning("session_lost", session=session.session_id[:80], why=str(why), snapshot=session.snapshot_id)
        self.stats.lost += 1
        session.restored, session.dirty_since = True, None
        await self._stop(session)

    async def _stop(self, session: _Session) -> None:
        box, session.box = session.box, None
        if box is not None:
            self._live -= 1
            freed, self._freed = self._freed, anyio.Event()
            freed.set()
            try:
                await box.aclose()
            except Exception as error:  # the session goes on without it; what is left of it is the reaper's
                log_failure("session_box_not_closed", error, box=box.box_id)

    # -- time

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Hibernate, checkpoint, expire and collect, until cancelled, whatever a round meets."""
        task_status.started()
        rounds, collected, wait_s = Rounds("session_sweep_failed"), 0.0, SWEEP_S
        while True:
            await anyio.sleep(wait_s)
            try:
                await self._sweep()
                if time.monotonic() - collected > 30:
                    collected = time.monotonic()
                    await self.collect()
                rounds.done()
                wait_s = SWEEP_S
            except Exception as error:
                wait_s = rounds.failed(error)

    async def keep_prepared(self) -> None:
        """Have sandboxes ready before they are asked for, until cancelled."""
        if not isinstance(self._provider, SupportsPreparing):
            return
        rounds = Rounds("sessions_not_prepared", first_s=5)
        while True:
            await self._taken.wait()  # a server whose tools nobody calls keeps no sandbox for them
            self._taken = anyio.Event()
            try:
                await self._provider.prepare()
                rounds.done()
            except Exception as error:
                await anyio.sleep(rounds.failed(error))

    async def bury(self) -> None:
        """End discarded sessions as they come, a few at once and each within BURY_S, until cancelled."""
        async with anyio.create_task_group() as tasks:
            for _ in range(BURIERS):
                tasks.start_soon(self._bury)

    async def _bury(self) -> None:
        while True:
            while self._doomed:
                await self._bury_one(self._doomed.pop())
            await self._doom.wait()

    async def _bury_one(self, session: _Session) -> None:
        try:
            with anyio.move_on_after(BURY_S, shield=True) as scope:
                await self._end(session, shield=False)
            if scope.cancelled_caught:
                _log.warning("session_not_ended", session=session.session_id[:80], why=f"not within {BURY_S:g} s")
        except Exception as error:
            log_failure("session_not_ended", error, session=session.session_id[:80])

    async def _sweep(self) -> None:
        """Each session in turn; what is wrong with one of them keeps it, and no other."""
        for session in list(self._sessions.values()):
            if not session.lock.locked():
                try:
                    await self._tend(session)
                except Exception as error:
                    log_failure("session_not_tended", error, session=session.session_id[:80])

    async def _tend(self, session: _Session) -> None:
        now, policy = time.time(), self._policy
        if now - session.last_used > policy.ttl_s:
            await self.close(session.session_id)
        elif session.box is not None:
            async with session.lock:
                dirty = session.dirty_since
                worn = isinstance(session.box, SupportsWear) and session.box.worn
                if worn or now - session.last_used > policy.idle_s:
                    await self._hibernate(session)
                elif dirty is not None and time.monotonic() - dirty > policy.checkpoint_s:
                    await self._try_checkpoint(session)

    async def _try_checkpoint(self, session: _Session) -> None:
        if session.box is None:
            return
        try:
            await self._snapshot(session)
        except BoxLost as error:
            await self._lose(session, error)
        except SnapshotFailed as error:
            self.stats.snapshot_failures += 1
            session.dirty_since = time.monotonic()
            _log.warning("session_not_kept", session=session.session_id[:80], why=str(error))

    async def collect(self) -> int:
        """Delete snapshots that no session needs, down to the disk budget; the bytes that are left."""
        pinned = {one.snapshot_id for one in self._sessions.values() if one.snapshot_id is not None} | self.pinned
        pinned |= {one.base for one in self._sessions.values() if one.base is not None}
        self._disk_bytes = await self._provider.collect(budget_bytes=self._policy.disk_bytes, pinned=pinned)
        return self._disk_bytes

    def stats_dict(self) -> dict[str, int]:
        """Counters and gauges by name."""
        return {**asdict(self.stats), "live": self.live, "hibernated_now": self.hibernated}

    async def aclose(self) -> None:
        """Hibernate what can be kept, stop the rest."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                for _ in range(BURIERS):
                    tasks.start_soon(self._bury_rest)
            for session in list(self._sessions.values()):
                try:
                    async with session.lock:
                        if session.box is not None and not await self._hibernate(session):
                            await self._stop(session)
                except Exception as error:
                    log_failure("session_not_kept", error, session=session.session_id[:80])
            try:
                await self.collect()
            except Exception as error:
                log_failure("collection_failed", error)

    async def _bury_rest(self) -> None:
        while self._doomed:
            await self._bury_one(self._doomed.pop())


@asynccontextmanager
async def holding(provider: SessionProvider, folder: Path, limits: Limits, policy: Policy) -> AsyncIterator[Sessions]:
    """Sessions, with their housekeeping under way; at the end what can be kept is kept."""
    sessions = Sessions(provider, folder, limits, policy)
    async with anyio.create_task_group() as tasks:
        await tasks.start(sessions.run)
        tasks.start_soon(sessions.keep_prepared)
        tasks.start_soon(sessions.bury)
        try:
            yield sessions
        finally:
            tasks.cancel_scope.cancel()
            await sessions.aclose()
            with anyio.CancelScope(shield=True):
                await provider.aclose()
