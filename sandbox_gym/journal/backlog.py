"""The queue of entries to write, bounded in entries and in bytes; producers wait while it is full."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import anyio

from sandbox_gym.contract import Run
from sandbox_gym.journal.entry import Entry, Replay

MAX_ENTRIES = 512
MAX_BYTES = 64 * 1024 * 1024
BATCH_ENTRIES = 128
LINGER_S = 0.1
"""Seconds that entries wait for more where nobody waits for them: a transaction costs as much as ten entries."""


@dataclass(slots=True, eq=False)
class Item:
    """An entry that waits. `done` is set when it is recorded, or has finally failed."""

    entry: Entry
    awaited: bool = False
    """Somebody waits until it is recorded."""
    done: anyio.Event = field(default_factory=anyio.Event)
    on_record: Replay | None = None
    error: str = ""

    @property
    def size_bytes(self) -> int:
        """Bytes of the outputs, and twice those of the inputs, which the row contains too."""
        steps = [step for judgement in self.entry.judgements for step in judgement.plan.steps]
        inputs = sum(len(step.stdin) for step in steps if isinstance(step, Run))
        return self.entry.output_bytes + 2 * inputs + len(self.entry.source.answer)


class Backlog:
    """First in, first out, one consumer. An item leaves when it is written, not when it is read."""

    def __init__(self, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._items: deque[Item] = deque()
        self._sizes: deque[int] = deque()
        self._bytes = 0
        self._changed = anyio.Condition()
        self._at_once = anyio.Event()
        self._closed = False

    def __len__(self) -> int:
        """Items that wait for their record; those that have it are dropped a moment later."""
        return sum(not item.done.is_set() for item in self._items)

    async def put(self, item: Item) -> None:
        """Waits while the queue is full; one item that is larger than the bound goes in alone."""
        size_bytes = item.size_bytes
        async with self._changed:
            while self._items and (len(self._items) >= self._max_entries or self._bytes + size_bytes > self._max_bytes):
                self._at_once.set()
                await self._changed.wait()
            self._items.append(item)
            self._sizes.append(size_bytes)
            self._bytes += size_bytes
            if item.awaited or len(self._items) >= BATCH_ENTRIES:
                self._at_once.set()
            self._changed.notify_all()

    async def batch(self) -> list[Item]:
        """Wait for items, and a moment for more, and return the first; empty at the end, after `close`."""
        async with self._changed:
            while not self._items and not self._closed:
                await self._changed.wait()
        with anyio.move_on_after(LINGER_S):
            await self._at_once.wait()
        async with self._changed:
            if not self._closed and len(self._items) <= BATCH_ENTRIES:
                self._at_once = anyio.Event()
            return [self._items[index] for index in range(min(BATCH_ENTRIES, len(self._items)))]

    async def drop(self, count: int) -> None:
        """Remove the first `count` items, which are written or have failed."""
        async with self._changed:
            for _ in range(count):
                self._items.popleft()
                self._bytes -= self._sizes.popleft()
            self._changed.notify_all()

    async def close(self) -> None:
        """Accept no more items; the waiting ones are still returned."""
        async with self._changed:
            self._closed = True
            self._at_once.set()
            self._changed.notify_all()
