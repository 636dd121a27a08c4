"""A plan that is left early, as at the first failing test, leaves a sandbox that is as it was."""

from __future__ import annotations

import itertools

import anyio
import pytest

from sandbox_gym.contract import Program, Run
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.anyio
PAUSES = (0, 0, 0.0005, 0.001, 0.002, 0.004)
"""Seconds after an outcome: where in its work the stop meets the supervisor."""
SOURCES = (
    "print(int(input()))",
    "import time\nprint(time.sleep(0.001))",
    "raise SystemExit(3)",
    "import os\nos._exit(0)",
)


async def test_it_is_clean_wherever_the_stop_meets_it(box: Sandbox) -> None:
    """Results, stops and resets arrive together, so that what one has closed another may still hold."""
    dirty = []
    for number, (source, pause) in enumerate(itertools.islice(itertools.cycle(itertools.product(SOURCES, PAUSES)), 64)):
        files = {"main.py": source.encode() + b"  # %d" % number, "data": b"x" * 100_000}
        program = Program("fork", files)
        runs = [Run(f"t{index}", program, b"%d\n" % index, Limits(), shared=number % 8 < 6) for index in range(10)]
        async with box.run_all(runs) as outcomes:
            for _ in range(1 + number % 3):
                await anext(outcomes)
            await anyio.sleep(pause)
        if not await box.reset():
            dirty.append((number, source, pause))
            break
    assert dirty == []
