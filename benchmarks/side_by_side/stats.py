"""Figures of cells: percentiles, rates, costs, and ratios with intervals from resampled rounds. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.side_by_side.measure import Cell, Slice

RESAMPLES = 2000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Figures:
    """One cell's. CPU is the system's, the harness's client left out."""

    verifies: int
    per_s: float
    p50_ms: float
    p95_ms: float
    cpu_ms: float
    """CPU milliseconds of one verify."""
    cpu_ms_per_run: float
    errors: int
    wrong: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """One system's rate over another's, with the interval that holds 95 % of the resampled ones."""

    value: float
    low: float
    high: float


def percentile(values: Sequence[float], share: float) -> float:
    """Of sorted values, by rank; 0 for none."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def figures(cell: Cell) -> Figures | None:
    """None for a cell that was not measured."""
    verifies = sum(one.verifies for one in cell.slices)
    if not verifies:
        return None
    latencies = sorted(seconds for one in cell.slices for seconds in one.latencies_s)
    cpu_ms = 1000 * sum(one.cpu_s for one in cell.slices) / verifies
    return Figures(
        verifies=verifies,
        per_s=_rate(cell.slices),
        p50_ms=1000 * percentile(latencies, 0.50),
        p95_ms=1000 * percentile(latencies, 0.95),
        cpu_ms=cpu_ms,
        cpu_ms_per_run=cpu_ms / cell.runs,
        errors=sum(one.errors for one in cell.slices),
        wrong=sum(one.wrong for one in cell.slices),
    )


def _rate(slices: Sequence[Slice]) -> float:
    return sum(one.verifies for one in slices) / sum(one.wall_s for one in slices)


def _cpu(slices: Sequence[Slice]) -> float:
    return sum(one.cpu_s for one in slices) / sum(one.verifies for one in slices)


def rate_ratio(ours: Cell, other: Cell, seed: int = 0) -> Ratio | None:
    """Verifies per second: how many times the other's ours are."""
    return _resampled(ours, other, _rate, seed)


def cpu_ratio(ours: Cell, other: Cell, seed: int = 0) -> Ratio | None:
    """CPU time of a verify: how many times the other's ours takes."""
    return _resampled(ours, other, _cpu, seed)


def _resampled(ours: Cell, other: Cell, figure: Callable[[Sequence[Slice]], float], seed: int) -> Ratio | None:
    """Rounds are drawn with replacement, the same ones for both: what made one round slow made it so for both."""
    rounds = min(len(ours.slices), len(other.slices))
    if not rounds or not figure(other.slices):
        return None
    draw, found = random.Random(seed), []
    for _ in range(RESAMPLES):
        chosen = [draw.randrange(rounds) for _ in range(rounds)]
        below = figure([other.slices[index] for index in chosen])
        if below:
            found.append(figure([ours.slices[index] for index in chosen]) / below)
    found.sort()
    tail = (1 - CONFIDENCE) / 2
    value = figure(ours.slices) / figure(other.slices)
    return Ratio(value, percentile(found, tail), percentile(found, 1 - tail))
