"""The disk that the snapshots of a pool take."""

from __future__ import annotations

from collections.abc import Callable, Set

from sandbox_gym.e2b_server.sandboxes.templates import Machines
from sandbox_gym.faults import log_failure
from sandbox_gym.sandbox.snapshots import Snapshot, SnapshotFailed


class SnapshotDisk:
    """Counts what is kept, and deletes what nothing refers to."""

    def __init__(self, machines: Machines, pinned: Callable[[], Set[str]]) -> None:
        """`pinned`: the ids of snapshots that must not be deleted."""
        self._machines, self._pinned = machines, pinned
        self._used = 0

    def count(self, snapshot: Snapshot) -> None:
        """One more."""
        self._used += snapshot.size_bytes

    async def have(self) -> None:
        """Raises SnapshotFailed when the budget is used up."""
        if self._used > self._machines.budget_bytes:
            await self.collect()
            if self._used > self._machines.budget_bytes:
                raise SnapshotFailed(f"snapshots take {self._used} bytes, which is their limit; delete some")

    async def collect(self) -> None:
        """Never raises."""
        try:
            self._used = await self._machines.collect(self._pinned())
        except Exception as error:
            log_failure("collection_failed", error)

    async def delete(self, snapshot_id: str) -> None:
        """Never raises."""
        try:
            await self._machines.delete(snapshot_id)
        except Exception as error:
            log_failure("snapshot_not_deleted", error, snapshot=snapshot_id)
