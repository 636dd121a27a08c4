"""What a cluster costs and gives: verifies over Ray beside the engine in this process, and throughput by nodes.

Needs an environment with the extra `ray` (`make bench-cluster` makes one). Starts a head and three raylets on this
machine, with tokens. First one verify at a time, direct and over Ray in turns: what the way to a node and back adds.
Then verifies that sleep, many at once, on one, two and three nodes of two sandboxes each: throughput should follow.
"""

from __future__ import annotations

import argparse
import os
import secrets
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
from rich.console import Console
from rich.table import Table

from sandbox_gym.cluster.engine import open_cluster
from sandbox_gym.cluster.membership import Pace
from sandbox_gym.cluster.ray_fleet import RayFleet, joined, pools
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

PROGRAM = "print(2 * int(input()))"
SLEEPER = "import time; time.sleep(0.5); print(2 * int(input()))"
TESTS = 2
BOXES = 2
ROW = {"unit_tests": {"inputs": [str(n) for n in range(TESTS)], "outputs": [str(2 * n) for n in range(TESTS)]}}


async def verify(engine: Engine, program: str) -> dict[str, float]:
    """Seconds by phase, and `whole`."""
    task = parse_task(ROW, limits=Settings().limits(), early_stop=True)
    started = time.perf_counter()
    verdict = (await engine.verify(CodingVerifier(), task, Answer(program))).verdict
    if verdict.reward != 1.0:
        raise SystemExit(f"wrong verdict: {verdict}")
    return {**verdict.timings_s, "whole": time.perf_counter() - started}


async def until(engine: Engine, nodes: int) -> None:
    with anyio.fail_after(180):
        while engine.stats()["nodes_up"] < nodes:  # noqa: ASYNC110 - before anything is measured
            await anyio.sleep(0.1)


async def overhead(here: Engine, there: Engine, count: int) -> Table:
    """Direct and over Ray, in turns, one at a time."""
    (link,) = pools().values()

    async def empty() -> dict[str, float]:
        started = time.perf_counter()
        await link.ask("ping", b"")
        took = time.perf_counter() - started
        return {"whole": took, "cluster": took}

    systems: dict[str, Callable[[], Awaitable[dict[str, float]]]] = {
        "an empty call of Ray": empty,
        "engine in this process": lambda: verify(here, PROGRAM),
        "over Ray": lambda: verify(there, PROGRAM),
    }
    took: dict[str, list[dict[str, float]]] = {name: [] for name in systems}
    for number in range(count + 10):
        for name, work in systems.items():
            one = await work()
            if number >= 10:
                took[name].append(one)
    table = Table("system", "calls", "whole ms p50", "p95", "of it the cluster's p50", "p95")
    for name, ones in took.items():
        whole = sorted(one["whole"] * 1e3 for one in ones)
        extra = sorted(one.get("cluster", 0.0) * 1e3 for one in ones)
        cells = [f"{statistics.median(each):.1f}" for each in (whole, extra)]
        tails = [f"{each[int(len(each) * 0.95)]:.1f}" for each in (whole, extra)]
        table.add_row(name, str(count), cells[0], tails[0], cells[1], tails[1])
    return table


async def throughput(engine: Engine, count: int) -> float:
    """Verifies per second with many at once, of programs that mostly sleep."""
    started = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(verify, engine, SLEEPER)
    return count / (time.perf_counter() - started)


async def main(count: int, folder: Path) -> None:
    from ray.cluster_utils import Cluster

    console, cluster = Console(width=120), Cluster()
    settings = Settings(boxes=BOXES, state_dir=folder / "state")
    cluster.add_node(num_cpus=0, include_dashboard=False, object_store_memory=100 << 20)
    rates = Table("nodes", "slots", "verifies/s", "x one node", title="programs that sleep 2 x 0.5 s")
    try:
        first = 0.0
        for nodes in (1, 2, 3):
            cluster.add_node(num_cpus=1, object_store_memory=100 << 20, resources={"sandbox_gym": 1})
            async with (
                joined(str(cluster.address)),
                open_cluster(RayFleet(settings, "bench"), settings, pace=Pace(lost_s=60)) as there,
            ):
                await until(there, nodes)
                if nodes == 1:
                    async with open_engine(settings) as here:
                        console.print(await overhead(here, there, count))
                await throughput(there, 2 * BOXES * nodes)  # warm
                rate = await throughput(there, 8 * BOXES * nodes)
                first = first or rate
                rates.add_row(str(nodes), str(nodes * BOXES), f"{rate:.2f}", f"{rate / first:.2f}")
    finally:
        cluster.shutdown()
    console.print(rates)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32), RAY_USAGE_STATS_ENABLED="0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    with tempfile.TemporaryDirectory(prefix="sgr-", ignore_cleanup_errors=True) as folder:
        anyio.run(main, parser.parse_args().count, Path(folder))
