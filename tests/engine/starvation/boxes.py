"""Boxes of a weight, and how much of its time a run was starved."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from sandbox_gym.contract import Outcome, Program, Run
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.sandbox import Sandbox

LIMITS = Limits(cpu_time_s=5, wall_time_s=2.0, memory_bytes=256 * MIB, processes=80, cpus=4.0)
FILES = {1: ("cpu.shares", 100, 1 << 18), 2: ("cpu.weight", 10, 10_000)}
"""By cgroup version: the weight's file; a small one, and a large one."""


class Weight:
    """Of all boxes together."""

    def __init__(self, file: Path, small: int, large: int) -> None:
        self._file, self._small, self._large = file, small, large

    def small(self) -> None:
        self._file.write_text(str(self._small))

    def large(self) -> None:
        self._file.write_text(str(self._large))


@asynccontextmanager
async def open_box(provider: LocalProvider) -> AsyncIterator[Sandbox]:
    box = await provider.create(SandboxSpec())
    try:
        yield box
    finally:
        await box.aclose()


def python(source: str, limits: Limits = LIMITS, name: str = "one") -> Run:
    return Run(name, Program("fork", {"main.py": source.encode()}), limits=limits)


async def outcome_of(box: Sandbox, source: str, limits: Limits = LIMITS) -> Outcome:
    async with box.run_all([python(source, limits)]) as outcomes:
        return await anext(outcomes)


def share(outcome: Outcome) -> float:
    """What was starved of its wall time."""
    assert outcome.starved_s is not None
    return outcome.starved_s / outcome.wall_time_s


SHORT = replace(LIMITS, wall_time_s=1.5)
SPIN = "while True: pass"
SLEEP = "import time\ntime.sleep(60)"
