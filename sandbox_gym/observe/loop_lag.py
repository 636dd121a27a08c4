"""The event loop's lag: a task sleeps for a fixed time and measures how late it is woken.

Whatever blocks the loop, or holds the interpreter's lock, delays every verify, every heartbeat of a sandbox and every
health check; this metric shows it.
"""

from __future__ import annotations

import time
from typing import Final

import anyio

from sandbox_gym.observe.metrics import Metrics

EVERY_S: Final = 0.02


async def measure_loop(metrics: Metrics) -> None:
    """Measure until cancelled."""
    while True:
        due = time.perf_counter() + EVERY_S
        await anyio.sleep(EVERY_S)
        metrics.loop_was_late(max(0.0, time.perf_counter() - due))
