"""A cell of the matrix: a stream of requests with known answers while one fault comes again and again."""

from __future__ import annotations

import itertools
import random
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2 as httpx

from tests.chaos.engines import IMAGES, OwnEngine
from tests.chaos.faults import FAULTS, Fault
from tests.chaos.outcomes import Count, Row
from tests.chaos.surroundings import World
from tests.chaos.workloads import ANSWER_S, WORKLOADS, Coding, Workload
from tests.forgotten import forget_snapshots

SERVES_S = 10.0
"""A server serves again so soon after a fault."""
SLACK = 3
"""So many usual times of an answer more: on a busy machine the same takes longer."""
RIGHT_SHARE = 0.95
READY_S = 30.0
LOOK_S = 40.0
"""How long is waited to learn how long it took."""
MOST_S = 60.0
"""Requests beyond its number are sent for so long at most."""


@dataclass(frozen=True)
class Cell:
    fault: str
    workload: str
    provider: str = "local"

    @property
    def name(self) -> str:
        return f"{self.fault}-{self.workload}-{self.provider}".replace(" ", "_").replace("/", "")


def cells() -> list[Cell]:
    """Every one, those of one server in a row, and last those after which it is no good."""
    found = [
        Cell(fault.name, workload, provider)
        for fault in FAULTS.values()
        for workload in fault.workloads
        for provider in fault.providers
    ]
    return sorted(found, key=_order)


def _order(cell: Cell) -> tuple[str, bool, str, bool]:
    fault = FAULTS[cell.fault]
    return cell.provider, fault.own_engine, cell.workload, fault.last


class Servers:
    """One server at a time, kept while the next cell can use it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._world: World | None = None
        self._for: tuple[str, str, bool] | None = None
        self._number = 0
        self.left: set[str] = set()

    async def world(self, cell: Cell, workload: Workload) -> World:
        """A server that serves the cell's workload and answered right; a new one where the last one does not."""
        own_engine = FAULTS[cell.fault].own_engine
        wanted = (cell.workload, cell.provider, own_engine)
        if self._for != wanted or self._world is None or not await _answers(workload, self._world):
            await anyio.to_thread.run_sync(self.close)
            self._world = await anyio.to_thread.run_sync(self._made, cell, workload, own_engine)
            self._for = wanted
            assert await _answers(workload, self._world), self._world.process.log()[-3000:]
        return self._world

    def _made(self, cell: Cell, workload: Workload, own_engine: bool) -> World:
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir(parents=True)
        engine = OwnEngine(IMAGES[cell.workload]) if own_engine else None
        try:
            return World(workload.server, cell.provider, folder, workload.settings, workload.disk_mb, engine)
        except BaseException:
            if engine:
                engine.close()
            raise

    def close(self) -> None:
        world, self._world, self._for = self._world, None, None
        if world is not None:
            self.left |= world.close()


async def _answers(workload: Workload, world: World) -> bool:
    """Whether it answers right within a while; what it takes from then on is noted."""
    until = time.monotonic() + READY_S
    async with client(world) as asking:
        while (await workload.ask_right(asking, 1)).kind != "right":
            if time.monotonic() > until:
                return False
            await anyio.sleep(1)
        began = time.monotonic()
        right = (await workload.ask_right(asking, 2)).kind == "right"
    world.usual_s = time.monotonic() - began
    return right


def client(world: World) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=world.url, timeout=ANSWER_S)


async def run_cell(cell: Cell, servers: Servers, seed: int, requests: int = 0, *, brief: bool = False) -> Row:
    """The cell's line of the table. `requests`: not the workload's own number; `brief`: the fault twice is enough."""
    fault, workload = FAULTS[cell.fault], WORKLOADS[cell.workload]()
    if brief:
        fault = replace(fault, least=min(2, fault.least))
    if isinstance(workload, Coding):
        workload.keyed, workload.compiled = fault.keyed, not fault.own_engine
    world = await servers.world(cell, workload)
    chance = random.Random(zlib.crc32(f"{seed} {cell.name}".encode()))
    count = Count(usual_s=world.usual_s)
    over, seed_of_requests = anyio.Event(), chance.random()
    numbers = _numbers(requests or workload.requests, fault, count)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_misfortune, fault, world, workload, random.Random(chance.random()), count, over)
        async with anyio.create_task_group() as askers:
            for _ in range(workload.at_once):
                askers.start_soon(_ask, workload, world, numbers, seed_of_requests, count)
        over.set()
    count.serves_after_s = await _serves_after(workload, world)
    if fault.last:
        await anyio.to_thread.run_sync(servers.close)
    return Row(cell.fault, cell.workload, cell.provider, count, cell.workload in fault.inherent)


def _numbers(requests: int, fault: Fault, count: Count) -> Iterator[int]:
    """So many, and more until the fault was there often enough."""
    began = time.monotonic()
    for number in itertools.count(1):
        if number > requests and (count.deeds >= fault.least or time.monotonic() - began > MOST_S):
            return
        yield number


async def _ask(workload: Workload, world: World, numbers: Iterator[int], seed: float, count: Count) -> None:
    """As a trainer does: again when the connection was lost, and not at once after a refusal."""
    async with client(world) as asking:
        for number in numbers:
            with anyio.move_on_after(ANSWER_S):
                while True:
                    outcome = await workload.ask(asking, number, random.Random(f"{seed} {number}"))
                    if outcome.kind != "unsent":
                        break
                    await anyio.sleep(0.3)
            count.add(outcome)
            if outcome.kind == "explicit":
                await anyio.sleep(0.3)


async def _misfortune(
    fault: Fault, world: World, workload: Workload, chance: random.Random, count: Count, over: anyio.Event
) -> None:
    async def rest(seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await over.wait()

    while not over.is_set() and count.deeds < fault.times:
        await rest(workload.pace * chance.uniform(*fault.every_s) if count.deeds else 0.3)
        if over.is_set():
            return
        deed = fault.once(world, chance)
        done = await anyio.to_thread.run_sync(deed.__enter__)
        try:
            count.deeds += done
            await rest(fault.for_s)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(deed.__exit__, None, None, None)
        await rest(0.05)
        if done and fault.others_serve:  # and no verify is to meet one loss after the other
            served, until = count.right + workload.at_once, time.monotonic() + LOOK_S
            while count.right < served and time.monotonic() < until and not over.is_set():
                await rest(0.05)


async def _serves_after(workload: Workload, world: World) -> float | None:
    """Seconds until somebody who asks now is answered right, beyond what such an answer usually takes. Several ask, one
    after the other: a single one may meet what is left of the fault, such as a box that stands still."""
    began, answered = time.monotonic(), list[float]()

    async def probe(number: int) -> None:
        async with client(world) as asking:
            if (await workload.ask_right(asking, number)).kind == "right":
                answered.append(max(0.0, time.monotonic() - began - world.usual_s))
                tasks.cancel_scope.cancel()

    with anyio.move_on_after(LOOK_S + world.usual_s):
        async with anyio.create_task_group() as tasks:
            for number in itertools.count(1000):
                tasks.start_soon(probe, number)
                await anyio.sleep(max(1.0, world.usual_s))
    return answered[0] if answered else None


def failures(row: Row) -> list[str]:
    """What the cell promises and did not keep."""
    count, fault = row.count, FAULTS[row.fault]
    name = f"{row.fault} x {row.workload} on {row.provider}"
    found = [f"{name}: wrong: {why}" for why in count.wrong if not row.inherent]
    if not count.deeds:
        found.append(f"{name}: nothing was done")
    share = count.right / max(1, count.total)
    if fault.others_serve and row.workload != "session" and not row.inherent and share < RIGHT_SHARE:
        found.append(f"{name}: {count.right} of {count.total} are right; {dict(count.kinds)}")
    if count.serves_after_s is None or count.serves_after_s > SERVES_S + SLACK * count.usual_s:
        found.append(f"{name}: served again after {count.serves_after_s} s")
    return found


@contextmanager
def serving(folder: Path) -> Iterator[Servers]:
    servers = Servers(folder)
    try:
        yield servers
    finally:
        servers.close()
        forget_snapshots(folder.resolve())


def chosen(faults: Iterable[str], workloads: Iterable[str], providers: Iterable[str]) -> list[Cell]:
    """Cells whose names begin with one of the given words; no word is any."""

    def fits(name: str, words: tuple[str, ...]) -> bool:
        return not words or any(name.lower().startswith(word.lower()) for word in words)

    wanted = tuple(faults), tuple(workloads), tuple(providers)
    return [cell for cell in cells() if all(map(fits, (cell.fault, cell.workload, cell.provider), wanted))]
