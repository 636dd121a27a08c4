"""How much disk snapshots take, and which of them may go: the sessions' own share of a provider's store."""

from __future__ import annotations

from collections.abc import Set

from sandbox_gym.faults import log_failure
from sandbox_gym.sandbox.api import SnapshotStore


class SnapshotBudget:
    """`limit_bytes`: what all snapshots together may take."""

    def __init__(self, store: SnapshotStore, limit_bytes: int) -> None:
        self._store, self.limit_bytes = store, limit_bytes
        self.used_bytes = 0
        """As of the last collection, and what was added since."""
        self.pinned: set[str] = set()
        """Snapshots of other owners that a collection leaves alone."""

    @property
    def exceeded(self) -> bool:
        return self.used_bytes > self.limit_bytes

    async def delete(self, snapshot_id: str) -> None:
        """Where that fails, a collection does it."""
        try:
            await self._store.delete(snapshot_id)
        except Exception as error:
            log_failure("snapshot_not_deleted", error, snapshot=snapshot_id)

    async def collect(self, needed: Set[str]) -> int:
        """Delete what is neither needed nor pinned, down to the limit, and what has not been for long; the bytes that
        are left."""
        self.used_bytes = await self._store.collect(budget_bytes=self.limit_bytes, pinned=needed | self.pinned)
        return self.used_bytes
