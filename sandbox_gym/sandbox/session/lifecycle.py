"""Moves a session between its sandbox and its snapshot: woken, hibernated, checkpointed, lost, stopped.

Owns how many sandboxes sessions have at once, and what of a session is written down when it changes. The
caller holds the session's lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

import anyio
import structlog

from sandbox_gym.contract import SnapshotRef
from sandbox_gym.errors import BoxLost, PoolFull
from sandbox_gym.faults import as_provider_down, log_failure
from sandbox_gym.limits import Limits, Policy
from sandbox_gym.network import Network
from sandbox_gym.sandbox.api import Provider, SandboxSpec
from sandbox_gym.sandbox.session.held import HeldSession, SessionStats
from sandbox_gym.sandbox.session.records import SessionRecords
from sandbox_gym.sandbox.session.session import Session, open_session
from sandbox_gym.sandbox.session.snapshot_budget import SnapshotBudget
from sandbox_gym.sandbox.snapshots import SnapshotFailed

LOOK_S: Final = 1.0
"""How often a caller that waits for room looks by itself: a session that was busy may have become idle."""
_log = structlog.get_logger(__name__)


class Lifecycle:
    """Of all held sessions, which `all_held` lists, the longest unused first."""

    def __init__(
        self,
        provider: Provider,
        limits: Limits,
        policy: Policy,
        network: Network,
        *,
        budget: SnapshotBudget,
        records: SessionRecords,
        all_held: Callable[[], Sequence[HeldSession]],
    ) -> None:
        self._provider, self._limits, self._policy, self._network = provider, limits, policy, network
        self._budget, self._records, self._all_held = budget, records, all_held
        self.stats = SessionStats()
        self.live = 0
        """Sessions in sandboxes now."""
        self._freed = anyio.Event()
        self._opened = anyio.Event()

    async def next_opening(self) -> None:
        """Until a sandbox is opened for a session."""
        await self._opened.wait()
        self._opened = anyio.Event()

    async def ensure_running(self, session: HeldSession) -> Session:
        """Its sandbox, opened unless it has one. Raises NoSuchSnapshot, PoolFull, ProviderDown."""
        if session.box is None:
            await self.make_room()
            self.live += 1
            try:
                with as_provider_down("a session can't be opened"):
                    session.box = await open_session(self._provider, self._spec(session))
            except BaseException:
                self.live -= 1
                raise
            self.stats.woken += session.snapshot_id is not None
            self._opened.set()
        return session.box

    def _spec(self, session: HeldSession) -> SandboxSpec:
        begins_from = session.snapshot_id or session.base
        source = SnapshotRef(begins_from) if begins_from is not None else "python"
        return SandboxSpec(source, "session", self._limits, self._network)

    async def make_room(self) -> None:
        """Below the number of live sessions: the longest idle one hibernates; with none idle, wait."""
        stuck: set[str] = set()
        while self.live >= self._policy.live:
            idle = [one for one in self._all_held() if one.box is not None and not one.lock.locked()]
            oldest = next((one for one in idle if one.session_id not in stuck), None)
            if oldest is not None:
                async with oldest.lock:
                    if not await self.hibernate(oldest):
                        stuck.add(oldest.session_id)
                continue
            if len(stuck) >= self.live:
                raise PoolFull(f"{self.live} sessions are live and none of them can hibernate", retry_after_s=5)
            with anyio.move_on_after(LOOK_S):
                await self._freed.wait()

    async def hibernate(self, session: HeldSession) -> bool:
        """False when its state can't be kept, so that it must stay where it is."""
        if session.box is None:
            return True
        if session.dirty_since is not None or session.snapshot_id is None:
            try:
                await self.snapshot(session)
            except BoxLost as error:
                await self.lose(session, error)
                return True
            except SnapshotFailed as error:
                self.stats.snapshot_failures += 1
                _log.warning("session_snapshot_failed", session=session.session_id[:80], why=str(error))
                return False
        await self.stop(session)
        self.stats.hibernated += 1
        return True

    async def try_checkpoint(self, session: HeldSession) -> None:
        """Snapshot a session that has a sandbox; where that fails it is tried again after a while."""
        if session.box is None:
            return
        try:
            await self.snapshot(session)
        except BoxLost as error:
            await self.lose(session, error)
        except SnapshotFailed as error:
            self.stats.snapshot_failures += 1
            session.dirty_since = time.monotonic()
            _log.warning("session_snapshot_failed", session=session.session_id[:80], why=str(error))

    async def snapshot(self, session: HeldSession, *, keep_globals: bool | None = None) -> None:
        """Keep its state; the snapshot before goes. Nobody's leaving cuts it short: a driver that is left in the middle
        is of no more use, and it is often another session's caller who waits. Raises SnapshotFailed, BoxLost."""
        with anyio.CancelScope(shield=True):
            await self._snapshot(session, keep_globals)

    async def _snapshot(self, session: HeldSession, keep_globals: bool | None) -> None:
        assert session.box is not None
        wanted = self._policy.keep_globals if keep_globals is None else keep_globals
        before = session.snapshot_id
        await self._budget.have_room()
        snapshot = await session.box.snapshot(keep_globals=wanted, rooted=session.root)
        self._budget.count(snapshot)
        session.snapshot_id, session.dirty_since = snapshot.snapshot_id, None
        self._records.write(session.record())
        self.stats.checkpoints += 1
        if before is not None:
            await self._budget.delete(before)

    async def lose(self, session: HeldSession, why: object) -> None:
        """The sandbox is gone, or of no more use; the next call goes on from the last snapshot."""
        _log.warning("session_lost", session=session.session_id[:80], why=str(why), snapshot=session.snapshot_id)
        self.stats.lost += 1
        session.stale = session.stale or session.dirty_since is not None
        session.restored, session.dirty_since = True, None
        await self.stop(session)

    async def stop(self, session: HeldSession) -> None:
        """End its sandbox, whatever state that has. Idempotent."""
        box, session.box = session.box, None
        if box is not None:
            self.live -= 1
            freed, self._freed = self._freed, anyio.Event()
            freed.set()
            try:
                await box.aclose()
            except Exception as error:  # the session goes on without it; what is left of it is the reaper's
                log_failure("session_box_not_closed", error, box=box.box_id)
