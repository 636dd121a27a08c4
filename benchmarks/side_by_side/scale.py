"""What a verify costs as work grows: by verifies at once, and by tests in a row. Over HTTP, provider local."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.side_by_side.measure import Cell, slice_of
from benchmarks.side_by_side.systems.ours import Ours
from benchmarks.side_by_side.workloads import stdin_row

AT_ONCE = (1, 10, 100, 1000)
TESTS = (10, 1000, 10_000)


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement. CPU of the server and its sandboxes; `server_mb`: resident memory of the server after it."""

    at_once: int
    tests: int
    verifies: int
    wall_s: float
    cpu_s: float
    p50_ms: float
    p95_ms: float
    server_mb: float
    errors: int
    wrong: int

    @property
    def cpu_ms_per_verify(self) -> float:
        return 1000 * self.cpu_s / self.verifies

    @property
    def cpu_ms_per_test(self) -> float:
        return self.cpu_ms_per_verify / self.tests


async def by_concurrency(system: Ours, at_once: Sequence[int], say: Callable[[str], None]) -> list[Point]:
    """Rows of two tests, each level for about as long as its verifies take once round, and two seconds at least."""
    return [await _point(system, count, 2, 2.0, say) for count in at_once]


async def by_tests(system: Ours, tests: Sequence[int], say: Callable[[str], None]) -> list[Point]:
    """Two verifies at once; one round each."""
    return [await _point(system, 2, count, 1.0, say) for count in tests]


async def _point(system: Ours, at_once: int, tests: int, at_least_s: float, say: Callable[[str], None]) -> Point:
    workload = stdin_row(tests, concurrencies=(at_once,))
    cell = Cell(system.name, workload.name, at_once, tests)
    await system.prepare(workload)
    await slice_of(system, stdin_row(2), min(at_once, 8), at_least_s=0.2, cell=cell)
    started = time.perf_counter()
    done = await slice_of(system, workload, at_once, at_least_s=at_least_s, cell=cell)
    if cell.note:
        say(f"scale: {at_once} at once, {tests} tests: {cell.note}")
    say(f"scale: {at_once} at once, {tests} tests: {time.perf_counter() - started:.1f} s")
    middle, late = done.latencies_s[len(done.latencies_s) // 2], done.latencies_s[int(0.95 * len(done.latencies_s))]
    return Point(
        at_once, tests, done.verifies, done.wall_s, done.cpu_s, 1000 * middle, 1000 * late,
        system.server_bytes() / 1e6, done.errors, done.wrong,
    )  # fmt: skip
