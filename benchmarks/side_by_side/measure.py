"""Slices of work, interleaved: in each round every system has a turn at every cell, in an order shuffled by a seed."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from benchmarks.side_by_side.systems.base import Failed, System
from benchmarks.side_by_side.workloads import Workload

WARM_S = 60.0
NOTE_CHARS = 200
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Slice:
    """One turn of one system. `wrong`: verdicts that are not what the answer is worth."""

    verifies: int
    wall_s: float
    cpu_s: float
    latencies_s: tuple[float, ...]
    errors: int
    wrong: int

    @property
    def rate(self) -> float:
        return self.verifies / self.wall_s


@dataclass(slots=True)
class Cell:
    """One system at one workload and concurrency. `lacks`: why it was not measured."""

    system: str
    workload: str
    concurrency: int
    runs: int
    lacks: str = ""
    note: str = ""
    """The first error, if there was one."""
    slices: list[Slice] = field(default_factory=list)


async def slice_of(system: System, workload: Workload, concurrency: int, *, at_least_s: float, cell: Cell) -> Slice:
    """Closed loop: `concurrency` workers, no new verify after `at_least_s`, every one that began is waited for."""
    latencies: list[float] = []
    errors = wrong = 0

    async def worker() -> None:
        nonlocal errors, wrong
        while True:
            number = next(_numbers)
            job, started = workload.job(number), time.perf_counter()
            try:
                wrong += await system.verify(workload, job, number) is not job.passes
            except (Failed, OSError, TimeoutError) as error:
                errors += 1
                cell.note = cell.note or f"{type(error).__name__}: {error}"[:NOTE_CHARS]
            latencies.append(time.perf_counter() - started)
            if time.perf_counter() >= ends:
                return

    before = await system.cpu_s()
    started = time.perf_counter()
    ends = started + at_least_s
    async with anyio.create_task_group() as tasks:
        for _ in range(concurrency):
            tasks.start_soon(worker)
    wall_s = time.perf_counter() - started
    return Slice(
        len(latencies), wall_s, max(0.0, await system.cpu_s() - before), tuple(sorted(latencies)), errors, wrong
    )


async def side_by_side(
    systems: Sequence[System],
    workload: Workload,
    *,
    rounds: int,
    slice_s: float,
    seed: int,
    say: Callable[[str], None],
) -> list[Cell]:
    """Every system at one workload, at each of its concurrencies. A system that can't, or whose warm-up fails, has a
    cell that says why."""
    cells = [
        Cell(system.name, workload.name, concurrency, workload.runs, workload.missing or system.lacks(workload))
        for system in systems
        for concurrency in workload.concurrencies
    ]
    by_name = {system.name: system for system in systems}
    for system in systems:
        mine = [cell for cell in cells if cell.system == system.name]
        if not mine[0].lacks:
            why = await _warm(system, workload)
            say(f"{workload.name}: {system.name} " + (f"can't: {why}" if why else "is warm"))
            for cell in mine:
                cell.lacks = why
    order = random.Random(f"{seed} {workload.name}")
    for number in range(rounds):
        turns = [cell for cell in cells if not cell.lacks]
        order.shuffle(turns)
        for cell in turns:
            system = by_name[cell.system]
            cell.slices.append(await slice_of(system, workload, cell.concurrency, at_least_s=slice_s, cell=cell))
        say(f"{workload.name}: round {number + 1} of {rounds}")
    return cells


async def _warm(system: System, workload: Workload) -> str:
    """Start it and have it judge each kind of answer; why it can't, in a few words."""
    trial = Cell(system.name, workload.name, 1, workload.runs)
    try:
        with anyio.fail_after(10 * WARM_S):  # an instance of a repository is built here
            await system.prepare(workload)
            await slice_of(system, workload, 1, at_least_s=0.0, cell=trial)
        with anyio.fail_after(WARM_S):
            await slice_of(system, workload, max(workload.concurrencies), at_least_s=0.2, cell=trial)
    except (Failed, OSError, TimeoutError) as error:
        return f"{type(error).__name__}: {error}"[:NOTE_CHARS].replace("\n", " ")
    return trial.note.replace("\n", " ")
