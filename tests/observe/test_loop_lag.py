"""A loop that stands still shows in the metrics, one that turns does not."""

from __future__ import annotations

import time

import anyio
import pytest
from prometheus_client.parser import text_string_to_metric_families

from sandbox_gym.observe.metrics import STALL_S, Metrics, measure_loop


def _samples(metrics: Metrics) -> dict[str, float]:
    families = text_string_to_metric_families(metrics.text().decode())
    [lag] = [family for family in families if family.name == "sandbox_gym_loop_lag_seconds"]
    return {sample.labels.get("le", sample.name): sample.value for sample in lag.samples}


@pytest.mark.anyio
async def test_a_call_that_blocks_the_loop_is_counted_with_its_length() -> None:
    metrics = Metrics()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(measure_loop, metrics)
        await anyio.sleep(0.1)
        stalls, before = metrics.loop_stalls, _samples(metrics)
        assert before["sandbox_gym_loop_lag_seconds_count"] >= 1
        time.sleep(5 * STALL_S)
        await anyio.sleep(0.1)
        tasks.cancel_scope.cancel()
    assert metrics.loop_stalls > stalls
    after = _samples(metrics)
    assert after["+Inf"] - after["0.3"] > before["+Inf"] - before["0.3"]
