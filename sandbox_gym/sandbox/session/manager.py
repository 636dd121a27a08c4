"""Sessions that callers hold: opened on first use, hibernated when idle, woken by the next call, closed once for good.

Owns which session is where: in a sandbox, in a snapshot, or gone. Knows neither HTTP nor how providers keep snapshots.
Where a session is is written down when it changes, so a killed process goes on from each session's last snapshot.
"""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Final

import anyio
import structlog
from anyio.abc import TaskGroup

from sandbox_gym.errors import BoxLost, ConfigurationError, DeadlineExceeded, PoolFull, SessionClosed
from sandbox_gym.faults import log_failure
from sandbox_gym.limits import Limits, Policy
from sandbox_gym.network import NO_NETWORK, Network
from sandbox_gym.sandbox.api import Provider
from sandbox_gym.sandbox.session.discarded import DiscardedSessions
from sandbox_gym.sandbox.session.held import HeldSession, SessionGlance
from sandbox_gym.sandbox.session.lifecycle import Lifecycle
from sandbox_gym.sandbox.session.records import SessionRecords
from sandbox_gym.sandbox.session.session import Session
from sandbox_gym.sandbox.session.snapshot_budget import SnapshotBudget
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot

GRACE_S: Final = 15.0
"""Beyond a call's own timeout before a silent driver counts as lost: it interrupts, then kills, then answers."""
MAX_CLOSED: Final = 100_000
NO_USER: Final = "ENOUSER"
"""What a driver's reply begins with where a command's user is not to be had."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What a call gave. `restored`: before it, the sandbox was lost and the session went on from its last snapshot;
    `stale`: from one that was older than the call before."""

    reply: Mapping[str, object]
    body: bytes
    restored: bool = False
    stale: bool = False
    lost: bool = False
    """The sandbox was lost during this very call: whether it ran is not known, and what it did is gone."""


class Sessions:
    """Holds sessions. Use `holding.holding` to make one."""

    def __init__(
        self,
        provider: Provider,
        folder: Path,
        limits: Limits,
        policy: Policy,
        background: TaskGroup,
        *,
        network: Network = NO_NETWORK,
    ) -> None:
        """`folder`: where records of sessions are kept; `network`: what their sandboxes have of it; `background`: for
        work that outlives the call that asked for it."""
        self.background = background
        if provider.snapshots is None:
            raise ConfigurationError(f"provider {provider.name} holds no sessions here; use local, docker or e2b")
        self.provider, self.store, self.folder, self._policy = provider, provider.snapshots, folder, policy
        self.may_root = policy.root
        self._sessions: OrderedDict[str, HeldSession] = OrderedDict()
        self._closed: OrderedDict[str, None] = OrderedDict()
        self._records = SessionRecords(folder)
        self.budget = SnapshotBudget(self.store, policy.disk_bytes, self._needed)
        self.lifecycle = Lifecycle(
            provider, limits, policy, network, budget=self.budget, records=self._records, all_held=self.all
        )
        self.stats = self.lifecycle.stats
        self.discarded = DiscardedSessions(lambda session: self._end(session, shield=False))
        for record in self._records.load():
            self._sessions[record.session_id] = HeldSession.of_record(record)
            if record.whole:
                self._records.write(replace(record, whole=False))  # from the first call on it is not

    # -- what callers ask for

    @property
    def live(self) -> int:
        """Sessions in sandboxes now."""
        return self.lifecycle.live

    @property
    def hibernated(self) -> int:
        """Sessions that are held, but in no sandbox."""
        return len(self._sessions) - self.live

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
        DeadlineExceeded. A sandbox that is lost in the call is named in the reply: a tool call is not repeated."""
        session = self._get(session_id)
        if "user" in request and not (session.root and self.may_root):
            return ToolReply({"ok": False, "error": f"{NO_USER}: the session was not seeded with root"}, b"")
        with anyio.move_on_after(deadline_s):
            async with session.lock:
                if session.closed:
                    raise SessionClosed(f"session {session_id[:80]!r} is closed")
                box = await self._ensure_running(session)
                session.calls += 1
                dirty_since = session.dirty_since
                session.dirty_since = dirty_since or time.monotonic()
                restored, stale = session.restored, session.stale
                session.restored = session.stale = False
                try:
                    reply, answer = await box.call(request, body, within_s=timeout_s + GRACE_S)
                except BoxLost as error:
                    session.dirty_since = dirty_since  # of this call itself the reply tells
                    await self.lifecycle.lose(session, error)
                    session.stale = session.stale or stale
                    return ToolReply({"ok": False, "error": str(error)}, b"", restored, stale, lost=True)
                except BaseException:  # cancelled in the middle: the driver is out of step with us
                    with anyio.CancelScope(shield=True):
                        await self.lifecycle.lose(session, "the call was cancelled")
                    raise
                finally:
                    session.touch()
                    if not session.closed:
                        self._sessions.move_to_end(session_id)
                return ToolReply(reply, answer, restored, stale)
        raise DeadlineExceeded(f"session {session_id[:80]!r} gave no answer within {deadline_s:g} s")

    def begin(self, session_id: str, snapshot_id: str) -> None:
        """A session anew, from a snapshot that stays its owner's. Raises SessionClosed, PoolFull."""
        self.discard(session_id)
        self._get(session_id).base = snapshot_id

    def grant_root(self, session_id: str) -> None:
        """Its calls may be root's from now on, where `may_root`. Raises SessionClosed, PoolFull."""
        self._get(session_id).root = self.may_root

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
        if record is None:
            raise NoSuchSnapshot(f"no record of session {session_id[:80]!r} that can be read here")
        await self.store.adopt(folder, record.snapshot_id)
        self._sessions[session_id] = HeldSession.of_record(record)
        self._records.write(record)
        with contextlib.suppress(OSError):  # the next owner of that folder would go on from older state
            SessionRecords(folder / "held").remove(session_id)

    async def checkpoint(self, session_id: str, *, keep_globals: bool | None = None) -> str:
        """Snapshot a session now; its id. Raises SnapshotFailed, SessionClosed, BoxLost."""
        session = self._get(session_id)
        async with session.lock:
            if session.closed:
                raise SessionClosed(f"session {session_id[:80]!r} is closed")
            await self._ensure_running(session)
            await self.lifecycle.snapshot(session, keep_globals=keep_globals)
            assert session.snapshot_id is not None
            return session.snapshot_id

    async def hibernate(self, session_id: str) -> None:
        """Put a session into a snapshot and stop its sandbox. One that can't be kept stays awake. Idempotent."""
        session = self._sessions.get(session_id)
        if session is not None:
            async with session.lock:
                await self.lifecycle.hibernate(session)

    def discard(self, session_id: str) -> None:
        """Forget a session now; its sandbox and snapshots go soon. The next call of that id opens a new one."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._records.remove(session_id)
            self.discarded.add(session)

    async def close(self, session_id: str) -> None:
        """End a session for good: sandbox, snapshots and all. Idempotent; closes what was never opened, too."""
        self._closed[session_id] = None
        while len(self._closed) > MAX_CLOSED:
            self._closed.popitem(last=False)
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._records.remove(session_id)
            await self._end(session)

    async def _end(self, session: HeldSession, *, shield: bool = True) -> None:
        with anyio.CancelScope(shield=shield):
            session.closed = True
            if session.box is not None and session.lock.locked():
                await session.box.aclose()  # a call that is under way ends now
            async with session.lock:
                await self.lifecycle.stop(session)
                if session.snapshot_id is not None:
                    await self.budget.delete(session.snapshot_id)
                self.stats.closed += 1

    def _get(self, session_id: str) -> HeldSession:
        if session_id in self._closed:
            raise SessionClosed(f"session {session_id[:80]!r} is closed")
        session = self._sessions.get(session_id)
        if session is None:
            if len(self._sessions) >= self._policy.held:
                raise PoolFull(f"{len(self._sessions)} sessions are held, as many as may be; close some")
            now = time.time()
            session = self._sessions[session_id] = HeldSession(session_id, now, now)
            self.stats.opened += 1
        return session

    async def _ensure_running(self, session: HeldSession) -> Session:
        try:
            return await self.lifecycle.ensure_running(session)
        except NoSuchSnapshot as error:
            session.closed = True
            self._sessions.pop(session.session_id, None)
            self._records.remove(session.session_id)
            raise SessionClosed(f"session {session.session_id[:80]!r} lost its snapshot: {error}") from error

    # -- housekeeping

    def all(self) -> list[HeldSession]:
        """Every held session, the longest unused first."""
        return list(self._sessions.values())

    def _needed(self) -> set[str]:
        return {each for one in self.all() for each in (one.snapshot_id, one.base) if each is not None}

    async def age(self, session: HeldSession) -> None:
        """Close, hibernate or checkpoint a session, as its time has come."""
        now, policy = time.monotonic(), self._policy
        if now - session.used_at > policy.ttl_s:
            await self.close(session.session_id)
        elif session.box is not None:
            async with session.lock:
                dirty = session.dirty_since
                expired = session.box is not None and session.box.expired
                if expired or now - session.used_at > policy.idle_s:
                    await self.lifecycle.hibernate(session)
                elif dirty is not None and now - dirty > policy.checkpoint_s:
                    await self.lifecycle.try_checkpoint(session)

    def stats_dict(self) -> dict[str, int]:
        """Counters and gauges by name."""
        return {**asdict(self.stats), "live": self.live, "hibernated_now": self.hibernated}

    async def aclose(self) -> None:
        """Hibernate what can be kept, stop the rest."""
        with anyio.CancelScope(shield=True):
            await self.discarded.end_rest()
            for session in self.all():
                try:
                    async with session.lock:
                        if session.box is not None and not await self.lifecycle.hibernate(session):
                            await self.lifecycle.stop(session)
                        elif session.snapshot_id is not None and not session.stale:
                            self._records.write_again(replace(session.record(), whole=True))
                except Exception as error:
                    log_failure("session_snapshot_failed", error, session=session.session_id[:80])
            await self.budget.collect()
