"""How much disk snapshots take, and which of them may go: an owner's own share of a provider's store."""

from __future__ import annotations

from collections.abc import Callable, Set

from sandbox_gym.faults import log_failure
from sandbox_gym.sandbox.api import SnapshotStore
from sandbox_gym.sandbox.snapshots import Snapshot, SnapshotFailed


class SnapshotBudget:
    """`limit_bytes`: what all snapshots together may take. `needed`: the ids of those that must stay."""

    def __init__(self, store: SnapshotStore, limit_bytes: int, needed: Callable[[], Set[str]]) -> None:
        self._store, self.limit_bytes, self._needed = store, limit_bytes, needed
        self.used_bytes = 0
        """As of the last collection, and what was added since."""
        self.pinned: set[str] = set()
        """Snapshots of other owners that a collection leaves alone."""

    def count(self, snapshot: Snapshot) -> None:
        """One more."""
        self.used_bytes += snapshot.size_bytes

    async def have_room(self) -> None:
        """Raises SnapshotFailed where it is used up, and a collection does not help."""
        if self.used_bytes > self.limit_bytes:
            await self.collect()
            if self.used_bytes > self.limit_bytes:
                raise SnapshotFailed(f"snapshots take {self.used_bytes} bytes, which is their limit; delete some")

    async def delete(self, snapshot_id: str) -> None:
        """Where that fails, a collection does it."""
        try:
            await self._store.delete(snapshot_id)
        except Exception as error:
            log_failure("snapshot_not_deleted", error, snapshot=snapshot_id)

    async def collect(self) -> None:
        """Delete what is neither needed nor pinned, down to the limit, and what has not been for long. Never raises."""
        try:
            pinned = self._needed() | self.pinned
            self.used_bytes = await self._store.collect(budget_bytes=self.limit_bytes, pinned=pinned)
        except Exception as error:
            log_failure("snapshot_collection_failed", error)
