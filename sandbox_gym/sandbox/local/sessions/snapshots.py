"""Snapshots of local sessions: those on disk, with their records, and those that are in memory only."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sandbox_gym.sandbox.local.sessions.rooms import Rooms
from sandbox_gym.sandbox.local.sessions.stacks import Stack, StackLayer, Stacks
from sandbox_gym.sandbox.local.sessions.store import Record, Store
from sandbox_gym.sandbox.snapshots import SavedState, Saving, Snapshot


@dataclass(frozen=True, slots=True)
class _InMemory:
    state: SavedState
    layers: tuple[StackLayer, ...]


class LocalSnapshots:
    """See `api.SnapshotStore`. The records and layers are below `root`, a folder of this process alone."""

    def __init__(self, rooms: Rooms, root: Path, work: str) -> None:
        """`work`: where jails see their work folder."""
        self._in_thread = rooms.in_thread
        self._store = Store(root)
        self.stacks = Stacks(rooms, self._store, work)
        self.kind = rooms.trees.kind
        """How snapshots are made here: "overlay" or "copy"."""
        self._in_memory: dict[str, _InMemory] = {}
        self._operations: dict[object, float] = {}

    async def find(self, snapshot_id: str) -> Snapshot:
        held = self._in_memory.get(snapshot_id)
        return held.state.snapshot if held is not None else self._store.read(snapshot_id).snapshot

    async def read(self, snapshot_id: str) -> tuple[SavedState, tuple[StackLayer, ...]]:
        """What a session goes on from, and its files. Raises NoSuchSnapshot."""
        held = self._in_memory.get(snapshot_id)
        if held is not None:
            return held.state, held.layers
        record = self._store.read(snapshot_id)
        blob = await self._in_thread(lambda: self._store.read_globals(snapshot_id))
        return SavedState(record.snapshot, blob), tuple(self.stacks.on_disk(digest) for digest in record.layers)

    async def save(self, stack: Stack, saving: Saving) -> Snapshot:
        """Keep a stack as it is now. Raises OSError, SnapshotFailed, BoxLost."""
        with self._operation():
            layers = await self.stacks.cut(stack, saving)
            self.stacks.retain(layers)
            if not saving.durable:
                state = SavedState(saving.snapshot, saving.globals_blob)
                self._in_memory[saving.snapshot.snapshot_id] = _InMemory(state, layers)
                return saving.snapshot
            try:
                done = await self._in_thread(lambda: self._seal(saving, layers))
                if not saving.busy:
                    await self.stacks.to_disk(stack, saving.settle)
                return done
            finally:
                await self.stacks.release(layers)

    def _seal(self, saving: Saving, layers: tuple[StackLayer, ...]) -> Snapshot:
        """Blocking. Layers that are in memory only get their place on disk."""
        digests, top = self.stacks.stored(layers)
        done = replace(saving.snapshot, digest=digests[0], size_bytes=top.size_bytes, files=top.files)
        self._store.write(Record(done, digests), saving.globals_blob)
        return done

    @contextmanager
    def _operation(self) -> Iterator[None]:
        """While layers are sealed and not yet named by a snapshot; a collection leaves them alone."""
        key = object()
        self._operations[key] = time.monotonic()
        try:
            yield
        finally:
            del self._operations[key]

    async def all(self) -> Sequence[Snapshot]:
        """Those on disk, oldest first, then those in memory."""
        in_memory = [one.state.snapshot for one in self._in_memory.values()]
        return [record.snapshot for record in self._store.records()] + in_memory

    async def delete(self, snapshot_id: str) -> None:
        held = self._in_memory.pop(snapshot_id, None)
        if held is not None:
            await self.stacks.release(held.layers)
        await self._in_thread(lambda: self._store.delete(snapshot_id))

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        before = min(self._operations.values(), default=time.monotonic())
        collect = partial(self._store.collect, in_use=self.stacks.in_use(), before=before)
        return await self._in_thread(lambda: collect(budget_bytes=budget_bytes, pinned=pinned))

    async def adopt(self, folder: Path, snapshot_id: str) -> None:
        await self._in_thread(lambda: self._store.adopt(folder, snapshot_id))

    async def forget_in_memory(self) -> None:
        """Let go of snapshots that would not outlive this process."""
        for snapshot_id in list(self._in_memory):
            await self.delete(snapshot_id)
