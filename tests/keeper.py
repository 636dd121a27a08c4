"""Sessions of a provider, opened and forked as servers do."""

from __future__ import annotations

from collections.abc import Sequence, Set

from sandbox_gym.contract import SnapshotRef
from sandbox_gym.limits import Limits
from sandbox_gym.network import MACHINES_NETWORK, NO_NETWORK, Network
from sandbox_gym.sandbox.api import Provider, SandboxSpec, SnapshotStore
from sandbox_gym.sandbox.sandbox import Sandbox
from sandbox_gym.sandbox.session.session import Session, open_session
from sandbox_gym.sandbox.snapshots import Snapshot


class Keeper:
    """`provider` was made with a folder for sessions; `network` is what they get."""

    def __init__(self, provider: Provider, network: Network = NO_NETWORK) -> None:
        self.provider, self._network = provider, network

    @property
    def store(self) -> SnapshotStore:
        assert self.provider.snapshots is not None
        return self.provider.snapshots

    async def open_session(self, limits: Limits, snapshot_id: str | None = None) -> Session:
        source = "python" if snapshot_id is None else SnapshotRef(snapshot_id)
        return await open_session(self.provider, SandboxSpec(source, "session", limits, self._network))

    async def open_builder(self, limits: Limits, image: str) -> Session:
        return await open_session(self.provider, SandboxSpec(image, "builder", limits, MACHINES_NETWORK))

    async def open_box(self, limits: Limits, snapshot_id: str) -> Sandbox:
        return await self.provider.create(SandboxSpec(SnapshotRef(snapshot_id), limits=limits))

    async def fork(self, session: Session, count: int, limits: Limits) -> list[Session]:
        """New sessions that go on from where `session` is now."""
        parent = await session.snapshot(durable=False)
        try:
            return [await self.open_session(limits, parent.snapshot_id) for _ in range(count)]
        finally:
            await self.store.delete(parent.snapshot_id)

    async def snapshots(self) -> Sequence[Snapshot]:
        return await self.store.all()

    async def delete(self, snapshot_id: str) -> None:
        await self.store.delete(snapshot_id)

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        return await self.store.collect(budget_bytes=budget_bytes, pinned=pinned)

    async def aclose(self) -> None:
        await self.provider.aclose()
