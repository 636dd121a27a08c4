"""Stacks of layers: what a room's work folder is made of, and how it is cut so that its state can be kept.

Owns which layers are in memory, which on disk, and what uses them; knows neither drivers nor records of snapshots.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from sandbox_gym.sandbox.local.files import STORED_UID
from sandbox_gym.sandbox.local.sessions.holders import holders, work_mounts
from sandbox_gym.sandbox.local.sessions.rooms import Room, Rooms
from sandbox_gym.sandbox.local.sessions.store import Layer, Store
from sandbox_gym.sandbox.local.sessions.trees import Space
from sandbox_gym.sandbox.snapshots import Saving, SnapshotFailed

MAX_IN_MEMORY: Final = 3
"""Layers of a live session that may be in memory, which its cgroup pays for."""
MAX_LAYERS: Final = 12
"""A longer stack is stored as one whole layer."""
_log = structlog.get_logger(__name__)
Settle = Callable[[str], Awaitable[None]]


@dataclass(slots=True, eq=False)
class StackLayer:
    """A read-only layer. `path` is where the next stack finds it; `cut` its place in memory, while there is one."""

    path: Path
    digest: str = ""
    cut: Path | None = None
    users: int = 0
    """Stacks and snapshots that hold it."""


@dataclass(slots=True, eq=False)
class Stack:
    """What is mounted in a room: read-only layers, topmost first, below what is written now."""

    room: Room
    layers: tuple[StackLayer, ...] = ()


class Stacks:
    """All stacks over one store. `work`: where jails see their work folder."""

    def __init__(self, rooms: Rooms, store: Store, work: str) -> None:
        self._rooms, self._trees, self._store, self._work = rooms, rooms.trees, store, work
        self._in_thread = rooms.in_thread
        self._layers: dict[str, StackLayer] = {}

    def in_use(self) -> frozenset[str]:
        """Digests of the layers on disk that a stack or a snapshot in memory uses."""
        return frozenset(self._layers)

    def on_disk(self, digest: str) -> StackLayer:
        """The stored layer of that digest."""
        if digest not in self._layers:
            self._layers[digest] = StackLayer(self._store.layer_path(digest), digest)
        return self._layers[digest]

    def retain(self, layers: Sequence[StackLayer]) -> None:
        """Layers that one more stack or snapshot needs."""
        for layer in layers:
            layer.users += 1

    async def release(self, layers: Sequence[StackLayer]) -> None:
        """Layers that one stack or snapshot needs no longer; those in memory go with their last user."""
        for layer in layers:
            layer.users -= 1
            if layer.users == 0:
                if self._layers.get(layer.digest) is layer:
                    del self._layers[layer.digest]
                if layer.cut is not None:
                    await self._in_thread(partial(self._trees.drop, layer.cut))

    async def mount(self, room: Room, layers: tuple[StackLayer, ...], space: Space | None) -> Stack:
        """Put layers into a room, which lets go of them when its machine is destroyed; at once where that fails.
        Raises OSError."""
        self.retain(layers)
        stack = Stack(room, layers)
        unmount = room.machine.on_destroyed

        async def unmounted() -> None:
            if unmount is not None:
                await unmount()
            await self.release(stack.layers)

        room.machine.on_destroyed = unmounted
        await self._in_thread(lambda: self._trees.fill(room.slot, [layer.path for layer in layers], space))
        return stack

    async def cut(self, stack: Stack, saving: Saving) -> tuple[StackLayer, ...]:
        """The stack as it is now; its session goes on above it. Raises OSError, SnapshotFailed."""
        slot = stack.room.slot
        if self._trees.kind == "copy":
            return (await self._cut_layer(slot),)
        if saving.busy:
            copy = await self._in_thread(lambda: self._store.seal(slot, owner=STORED_UID))
            return (self.on_disk(copy.digest),)
        if sum(not layer.digest for layer in stack.layers) >= MAX_IN_MEMORY:
            await self.to_disk(stack, saving.settle)
        pids = stack.room.machine.pids
        old = await self._in_thread(lambda: work_mounts(pids(), self._work))
        layer = await self._cut_layer(slot)
        self.retain([layer])
        stack.layers = (layer, *stack.layers)
        await saving.settle(self._work)
        writers = await self._in_thread(lambda: holders(pids(), old))
        if writers:  # something still writes below: what it writes must not reach sessions that build on the cut
            _log.info("snapshot_copied_for_writers", box=stack.room.machine.box_id, processes=writers)
            copy = await self._in_thread(lambda: self._store.seal(layer.path))
            return (self.on_disk(copy.digest), *stack.layers[1:])
        return stack.layers

    async def _cut_layer(self, slot: Path) -> StackLayer:
        cut = await self._in_thread(lambda: self._trees.cut(slot))
        return StackLayer(cut, cut=cut)

    async def to_disk(self, stack: Stack, settle: Settle) -> None:
        """Put a session on the layers' places on disk, so that what it wrote so far leaves memory."""
        before, slot = stack.layers, stack.room.slot
        if self._trees.kind == "copy":
            return
        digests = await self._in_thread(lambda: self.stored(before)[0])
        after = tuple(self.on_disk(digest) for digest in digests)
        self.retain(after)
        if await self._in_thread(lambda: self._trees.rebase(slot, [layer.path for layer in after])):
            stack.layers = after
            await settle(self._work)
            await self.release(before)
        else:
            await self.release(after)

    def stored(self, layers: tuple[StackLayer, ...]) -> tuple[tuple[str, ...], Layer]:
        """Blocking. The layers on disk, where they are put unless they are there, and what the topmost holds; a long
        stack becomes one layer. Raises OSError, SnapshotFailed."""
        try:
            if len(layers) > MAX_LAYERS:
                raise SnapshotFailed("a long stack")
            for layer in reversed(layers):
                if not layer.digest:
                    layer.digest = self._store.seal(layer.path).digest
                    layer.path = self._store.layer_path(layer.digest)
            return tuple(layer.digest for layer in layers), self._store.layer(layers[0].digest)
        except SnapshotFailed:  # what one layer holds may be what a later one took away
            if len(layers) == 1:
                raise
            top = self._merged(layers)
            return (top.digest,), top

    def _merged(self, layers: tuple[StackLayer, ...]) -> Layer:
        slot = self._trees.slot(f"m{secrets.token_hex(4)}")
        try:
            self._trees.fill(slot, [layer.path for layer in layers])
            return self._store.seal(slot)
        finally:
            self._trees.dispose(slot)
