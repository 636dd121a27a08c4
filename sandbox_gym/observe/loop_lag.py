"""How late the event loop is: a task that asks to be woken regularly, and counts by how much it was not.

Whatever blocks the loop, or keeps the interpreter's lock from it, holds up every verify, every heartbeat of a sandbox
and every health check alike; this is where it shows.
"""

from __future__ import annotations

import time
from typing import Final

import anyio

from sandbox_gym.observe.metrics import Metrics

EVERY_S: Final = 0.02


async def measure_loop(metrics: Metrics) -> None:
    """Runs until it is cancelled."""
    while True:
        due = time.perf_counter() + EVERY_S
        await anyio.sleep(EVERY_S)
        metrics.loop_was_late(max(0.0, time.perf_counter() - due))
