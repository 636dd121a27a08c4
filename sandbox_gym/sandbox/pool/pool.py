"""The pool: a bounded number of boxes, the warm ones kept, each proven clean before another task gets it.

Owns which request holds which box and how many are kept ahead of demand; knows neither programs nor verifiers.
"""

from __future__ import annotations

import math
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass

import anyio

from sandbox_gym.contract import Source
from sandbox_gym.errors import ProviderDown, SnapshotGone
from sandbox_gym.faults import Rounds, as_provider_down, log_failure
from sandbox_gym.observe.traces import span
from sandbox_gym.sandbox.api import Provider, spec_of_runs
from sandbox_gym.sandbox.pool.admission import Admission
from sandbox_gym.sandbox.pressure import Governor, machine_pressure
from sandbox_gym.sandbox.sandbox import Sandbox
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot

HOUSEKEEPING_S = 1.0
JUDGES_TASKS = 8
"""A box that ran nothing but what rows' authors wrote serves so many times as many tasks as one that ran answers."""
IDLE_S = 60.0
"""A warm box that was not used for so long is closed, unless demand calls for it."""


@dataclass(slots=True)
class _Held:
    box: Sandbox
    image: Source
    judges: bool = False
    """Whether it was the second of its last task's: such a box may have kept what serves the next such task only."""
    tasks: float = 0.0
    idle_since: float = 0.0


@dataclass(slots=True)
class _Demand:
    """What one image was asked for: leases a second, and how long a start takes, both smoothed."""

    rate: float = 0.0
    start_s: float = 0.2
    wanted: int = 0
    since: int = 0

    def tick(self, seconds: float) -> None:
        self.rate += 0.2 * (self.since / seconds - self.rate)
        self.since = 0

    def target(self, slots: int) -> int:
        """Boxes that should be alive: those that arrivals take up while another starts, and what was hinted at."""
        ahead = math.ceil(self.rate * self.start_s * 2) if self.rate > 0.05 else 0
        return min(slots, max(ahead, self.wanted))


@dataclass(frozen=True, slots=True)
class Lease:
    """Boxes for one task, and the seconds that it waited for its turn."""

    boxes: Sequence[Sandbox]
    queued_s: float


@dataclass(slots=True)
class Stats:
    """Counters since the start."""

    started: int = 0
    reused: int = 0
    discarded: int = 0
    start_failures: int = 0
    leases: int = 0


class Pool:
    """Leases boxes of one provider. `boxes` bounds those alive, `queue_size` the requests that wait for one."""

    def __init__(
        self,
        provider: Provider,
        *,
        boxes: int,
        box_max_tasks: int,
        queue_size: int,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.provider = provider
        self.boxes = boxes
        self.admission = Admission(boxes, queue_size, weights)
        self._governor = Governor(max(2, 3 * (os.cpu_count() or 1) // 2), boxes)
        self._box_max_tasks = box_max_tasks
        self._idle: dict[Source, list[_Held]] = defaultdict(list)
        self._demand: dict[Source, _Demand] = defaultdict(_Demand)
        self._alive = 0
        self._closed = False
        self._quiet_turn = anyio.Lock()
        self._quiet_slots = 0
        self._hinted = anyio.Event()
        self.stats = Stats()

    def stats_dict(self) -> dict[str, int]:
        """Counters and gauges by name."""
        return {
            **asdict(self.stats),
            "waiting": self.admission.waiting,
            "leased": self.admission.held,
            "limit": self.admission.limit,
            "warm": self.warm_boxes,
            "alive": self._alive,
            "slots": self.boxes,
        }

    @property
    def warm_boxes(self) -> int:
        """Boxes that are ready and not leased."""
        return sum(len(held) for held in self._idle.values())

    @asynccontextmanager
    async def lease(self, image: Source, count: int = 1, *, tenant: str = "") -> AsyncIterator[Lease]:
        """`count` boxes of `image`, clean. Raises PoolFull or ProviderDown. An error in the body discards the boxes."""
        self._demand[image].since += 1
        asked = time.monotonic()
        async with self.admission.admitted(tenant, count):
            queued_s = time.monotonic() - asked
            held: list[_Held] = []
            clean = False
            try:
                with span("acquire", {"image": str(image)}) as acquiring:
                    for number in range(count):
                        held.append(await self._get(image, judges=number > 0))
                    acquiring.note({"box_ids": [one.box.box_id for one in held]})
                self.stats.leases += 1
                yield Lease([one.box for one in held], queued_s)
                clean = True
            finally:
                with anyio.CancelScope(shield=True):
                    for one in held:
                        await self._give_back(one, clean=clean)

    @asynccontextmanager
    async def quiet(self, slots: int, *, within_s: float) -> AsyncIterator[None]:
        """For the holder of a lease of `slots` boxes: while the body runs no other request gets a box, and leases
        that were out have been waited for, up to `within_s`. One holder at a time."""
        self._quiet_slots += slots
        try:
            async with self._quiet_turn:
                with self.admission.paused():
                    with anyio.move_on_after(within_s):
                        while self.admission.held > self._quiet_slots:  # noqa: ASYNC110 - rare, and short
                            await anyio.sleep(0.02)
                    yield
        finally:
            self._quiet_slots -= slots

    async def _get(self, image: Source, *, judges: bool) -> _Held:
        """`judges`: whether it is for what the row's author wrote."""
        while idle := self._idle[image]:
            held = next((one for one in reversed(idle) if one.judges == judges), idle[-1])
            idle.remove(held)
            held.judges = judges
            if not held.box.expired:
                self.stats.reused += 1
                return held
            await self._discard(held)
        if self._alive >= self.boxes:
            await self._drop_oldest_idle()
        held = await self._start(image)
        held.judges = judges
        return held

    async def _start(self, image: Source) -> _Held:
        self._alive += 1
        started = time.monotonic()
        try:
            with as_provider_down(f"a sandbox of {str(image)!r} can't be made"):
                box = await self._create(image)
        except BaseException as error:
            self._alive -= 1
            self.stats.start_failures += isinstance(error, ProviderDown)
            raise
        demand = self._demand[image]
        demand.start_s += 0.2 * (time.monotonic() - started - demand.start_s)
        self.stats.started += 1
        return _Held(box, image)

    async def _create(self, image: Source) -> Sandbox:
        try:
            return await self.provider.create(spec_of_runs(image))
        except NoSuchSnapshot as error:
            raise SnapshotGone(f"a plan begins from a snapshot that is gone: {error}") from error

    async def _drop_oldest_idle(self) -> None:
        """An idle box of another image goes when its slot is wanted."""
        idle = [one for held in self._idle.values() for one in held]
        if idle:
            await self._discard(min(idle, key=lambda one: one.idle_since))

    async def _discard(self, held: _Held) -> None:
        if held in self._idle[held.image]:
            self._idle[held.image].remove(held)
        self._alive -= 1
        self.stats.discarded += 1
        try:
            await held.box.aclose()
        except Exception as error:  # the caller has its result, or an error of its own; the reaper has the rest
            log_failure("box_not_closed", error, box=held.box.box_id)

    async def _give_back(self, held: _Held, *, clean: bool) -> None:
        held.tasks += 1 / JUDGES_TASKS if held.judges else 1
        try:
            if clean and not self._closed and held.tasks < self._box_max_tasks and await held.box.reset():
                held.idle_since = time.monotonic()
                self._idle[held.image].append(held)
                return
        except Exception as error:
            log_failure("box_not_reset", error, box=held.box.box_id)
        await self._discard(held)

    # -- ahead of demand

    def prefetch(self, image: Source, count: int) -> None:
        """A hint: `count` leases of `image` come next. Boxes for them are started in the background, from now on."""
        self._demand[image].wanted = min(count, self.boxes)
        self._hinted.set()

    async def run(self) -> None:
        """Follow the machine's pressure, keep boxes ahead of demand, let go of idle ones; until cancelled, whatever a
        round meets."""
        rounds, backoff_s, ticked = Rounds("warm_failed"), 0.0, time.monotonic()
        while True:
            with anyio.move_on_after(ticked + HOUSEKEEPING_S + backoff_s - time.monotonic()):
                await (anyio.sleep_forever() if backoff_s else self._hinted.wait())
            self._hinted = anyio.Event()
            elapsed_s = time.monotonic() - ticked
            try:
                if elapsed_s >= HOUSEKEEPING_S:  # else it was a hint, and too soon to measure anything
                    ticked += elapsed_s
                    self._measure(elapsed_s)
                await self._refill()
                await self._shrink()
                rounds.done()
                backoff_s = 0.0
            except Exception as error:
                backoff_s = rounds.failed(error)

    def _measure(self, elapsed_s: float) -> None:
        for demand in self._demand.values():
            demand.tick(elapsed_s)
        self.admission.set_limit(self._governor.update(machine_pressure()))

    async def _refill(self) -> None:
        for image, demand in list(self._demand.items()):
            busy = self.admission.held
            while len(self._idle[image]) + busy < demand.target(self.boxes) and self._alive < self.boxes:
                held = await self._start(image)
                held.idle_since = time.monotonic()
                if self._closed:
                    await self._discard(held)
                    return
                self._idle[image].append(held)
            demand.wanted = 0

    async def _shrink(self) -> None:
        now = time.monotonic()
        for image, idle in list(self._idle.items()):
            target = self._demand[image].target(self.boxes)
            for held in [one for one in idle if now - one.idle_since > IDLE_S][: max(0, len(idle) - target)]:
                await self._discard(held)

    async def aclose(self) -> None:
        """Destroy every idle box, then the provider's own. Leased boxes go when their lease ends."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                for held in [one for idle in self._idle.values() for one in idle]:
                    tasks.start_soon(self._discard, held)
            await self.provider.aclose()
