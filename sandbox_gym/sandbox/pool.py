"""The pool: a bounded number of boxes, the warm ones kept, each proven clean before another task gets it.

Owns who holds which box; knows neither programs nor verifiers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import structlog

from sandbox_gym.errors import PoolFull, ProviderDown
from sandbox_gym.sandbox.api import Box, Provider, SupportsWear

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Held:
    box: Box
    image: str
    tasks: int = 0


@dataclass(slots=True)
class Stats:
    """Counters since the start."""

    started: int = 0
    reused: int = 0
    discarded: int = 0
    start_failures: int = 0
    leases: int = 0
    waiting: int = 0
    names: tuple[str, ...] = field(default=("started", "reused", "discarded", "start_failures", "leases", "waiting"))

    def as_dict(self) -> dict[str, int]:
        return {name: int(getattr(self, name)) for name in self.names}


class Pool:
    """Leases boxes of one provider. `boxes` bounds those alive, `queue_size` those who wait for one."""

    def __init__(self, provider: Provider, *, boxes: int, box_max_tasks: int, queue_size: int) -> None:
        self.provider = provider
        self.boxes = boxes
        self._slots = anyio.Semaphore(boxes)
        self._pair = anyio.Lock()
        self._box_max_tasks = box_max_tasks
        self._queue_size = queue_size
        self._idle: dict[str, list[_Held]] = defaultdict(list)
        self._closed = False
        self.stats = Stats()

    @asynccontextmanager
    async def lease(self, image: str, count: int = 1) -> AsyncIterator[Sequence[Box]]:
        """`count` boxes of `image`, clean. Raises PoolFull or ProviderDown. An error in the body discards the boxes."""
        if self.stats.waiting >= self._queue_size:
            raise PoolFull(f"{self.stats.waiting} verifies wait already; the queue holds {self._queue_size}")
        taken = 0
        held: list[_Held] = []
        clean = False
        try:
            taken = await self._take_slots(count)
            for _ in range(count):
                held.append(await self._get(image))
            self.stats.leases += 1
            yield [one.box for one in held]
            clean = True
        finally:
            with anyio.CancelScope(shield=True):
                for one in held:
                    await self._give_back(one, clean=clean)
                for _ in range(taken):
                    self._slots.release()

    async def _take_slots(self, count: int) -> int:
        """All `count` slots; two takers of several never hold half each and wait for the other."""
        taken = 0
        self.stats.waiting += 1
        try:
            if count == 1:
                await self._slots.acquire()
                taken = 1
            else:
                async with self._pair:
                    for _ in range(count):
                        await self._slots.acquire()
                        taken += 1
        except BaseException:
            for _ in range(taken):
                self._slots.release()
            raise
        finally:
            self.stats.waiting -= 1
        return taken

    async def _get(self, image: str) -> _Held:
        while self._idle[image]:
            held = self._idle[image].pop()
            if not (isinstance(held.box, SupportsWear) and held.box.worn):
                self.stats.reused += 1
                return held
            self.stats.discarded += 1
            await held.box.aclose()
        await self._make_room()
        try:
            box = await self.provider.start(image)
        except ProviderDown:
            self.stats.start_failures += 1
            raise
        self.stats.started += 1
        return _Held(box, image)

    async def _make_room(self) -> None:
        """An idle box of another image goes when its slot is wanted."""
        idle = sum(len(held) for held in self._idle.values())
        in_use = self.boxes - self._slots.value
        if idle + in_use > self.boxes:
            for held in self._idle.values():
                if held:
                    await held.pop(0).box.aclose()
                    return

    async def _give_back(self, held: _Held, *, clean: bool) -> None:
        held.tasks += 1
        keep = clean and not self._closed and held.tasks < self._box_max_tasks and await held.box.reset()
        if keep:
            self._idle[held.image].append(held)
            return
        self.stats.discarded += 1
        await held.box.aclose()

    async def warm(self, image: str, count: int) -> None:
        """Start boxes ahead of demand. Raises ProviderDown."""
        async with anyio.create_task_group() as tasks:
            for _ in range(min(count, self.boxes)):
                tasks.start_soon(self._warm_one, image)

    async def _warm_one(self, image: str) -> None:
        try:
            box = await self.provider.start(image)
        except ProviderDown as error:
            self.stats.start_failures += 1
            _log.warning("warm_failed", image=image, why=str(error))
            return
        self.stats.started += 1
        self._idle[image].append(_Held(box, image))

    async def aclose(self) -> None:
        """Destroy every idle box, then the provider's own. Leased boxes go when their lease ends."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                for held in self._idle.values():
                    for one in held:
                        tasks.start_soon(one.box.aclose)
                    held.clear()
            await self.provider.aclose()
