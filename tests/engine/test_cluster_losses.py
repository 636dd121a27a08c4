"""Nodes of a cluster that are lost, hang, drain or make no sandboxes: no verdict is wrong, none is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from sandbox_gym.cluster.engine import open_cluster
from sandbox_gym.cluster.inprocess import InProcessFleet
from sandbox_gym.cluster.membership import Pace
from sandbox_gym.cluster.node import Node
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import local_engine
from sandbox_gym.errors import Unavailable
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.sandbox.pool.pool import Pool
from tests.engine.clusters import DOUBLE, FAST, WRONG, Running, cluster, node_of, pool_stats, row, verdict
from tests.server.fakes import EchoVerifier

pytestmark = pytest.mark.anyio


async def many(running: Running, count: int, after: Callable[[int], None]) -> list[Verdict]:
    """`count` verdicts, every third of a wrong answer; `after` is told how many there are."""
    code = "import time; time.sleep(0.1); "
    found: list[Verdict | None] = [None] * count
    done = 0

    async def one(number: int) -> None:
        nonlocal done
        found[number] = await verdict(running.engine, code + (WRONG if number % 3 == 0 else DOUBLE))
        done += 1
        after(done)

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(one, number)
    return [one for one in found if one is not None]


def rewards(verdicts: list[Verdict]) -> list[float]:
    return [one.reward for one in verdicts]


def expected(count: int) -> list[float]:
    return [float(number % 3 != 0) for number in range(count)]


async def test_a_lost_node_costs_no_verdict(tmp_path: Path) -> None:
    async with cluster(tmp_path) as running:
        verdicts = await many(running, 60, lambda done: running.fleet.lose("n1") if done == 15 else None)
        assert rewards(verdicts) == expected(60)
        stats = running.engine.stats()
        assert stats["losses"] == 1
        assert stats["rescheduled"] >= 1
        assert max(one.attempts for one in verdicts) == 2
        assert running.status("n1") in ("lost", "None")


async def test_a_node_that_hangs_costs_no_verdict(tmp_path: Path) -> None:
    async with cluster(tmp_path) as running:
        verdicts = await many(running, 45, lambda done: running.fleet.hang("n2") if done == 10 else None)
        assert rewards(verdicts) == expected(45)
        assert running.engine.stats()["losses"] >= 1


async def test_a_drained_node_finishes_what_it_has_and_gets_nothing_new(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=2) as running:
        link = running.fleet.link("n0")
        begun = anyio.Event()
        long = "import time; time.sleep(1.5); " + DOUBLE
        results: list[Verdict] = []

        async def one() -> None:
            begun.set()
            results.append(await verdict(running.engine, long, row(1)))

        async with anyio.create_task_group() as tasks:
            for _ in range(4):  # every slot of both nodes
                tasks.start_soon(one)
            await begun.wait()
            with anyio.fail_after(10):
                while (await pool_stats(link))["leases"] < 2:
                    await anyio.sleep(0.02)
            await link.ask("drain", b"")
            await running.until(lambda: running.status("n0") == "draining")
            leases = (await pool_stats(link))["leases"]
        assert rewards(results) == [1.0] * 4
        assert running.engine.stats()["rescheduled"] == 0
        assert rewards(await many(running, 12, lambda done: None)) == expected(12)
        assert (await pool_stats(link))["leases"] == leases
        await link.ask("undrain", b"")
        await running.until(lambda: running.status("n0") == "up")


async def test_a_drained_node_refuses_what_was_on_its_way(tmp_path: Path) -> None:
    """Between a node's being told and the server's hearing of it a plan may be sent there; it goes elsewhere."""
    async with cluster(tmp_path, count=2, pace=Pace(look_s=0.1, ping_s=60, lost_s=3)) as running:
        await running.fleet.link("n0").ask("drain", b"")
        assert running.status("n0") == "up"
        assert rewards(await many(running, 12, lambda done: None)) == expected(12)
        assert running.status("n0") == "draining"
        assert running.engine.stats()["losses"] == 0


async def test_a_node_that_makes_no_sandboxes_is_left_alone_for_a_while(tmp_path: Path) -> None:
    """It has the most room of all, so it would get every plan first."""

    @asynccontextmanager
    async def node(provider: FakeProvider, boxes: int) -> AsyncIterator[Node]:
        pool = Pool(provider, boxes=boxes, box_max_tasks=8, queue_size=100)
        async with anyio.create_task_group() as tasks:
            yield Node(local_engine(pool, attempts=1).runner, boxes, tasks, None)
            tasks.cancel_scope.cancel()
        await pool.aclose()

    broken = FakeProvider(down=True)
    async with anyio.create_task_group() as tasks:
        fleet = InProcessFleet(tasks, {"big": lambda: node(broken, 50), "small": lambda: node(FakeProvider(), 2)})
        async with open_cluster(fleet, Settings(provider="fake"), pace=FAST) as engine:
            with anyio.fail_after(5):
                while engine.stats()["nodes_up"] < 2:
                    await anyio.sleep(0.01)
            for _ in range(20):
                assert (await engine.verify(EchoVerifier(), "", Answer("pass"))).verdict.reward == 1.0
            assert engine.stats()["rescheduled"] == 1
            assert engine.runner.nodes()["big"]["status"] == "sick"
            assert "down" in str(engine.runner.nodes()["big"]["why"])
        tasks.cancel_scope.cancel()


async def test_every_node_lost_is_no_verdict_and_a_new_one_gives_them_again(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=1) as running:
        running.fleet.lose("n0")
        with pytest.raises(Unavailable):
            await verdict(running.engine, DOUBLE, deadline_s=1.0)
        assert b'node_up{node="n0"}' not in running.engine.metrics.text()
        folder = tmp_path / "later"
        folder.mkdir()
        running.fleet.add("n7", node_of(Settings(boxes=2, state_dir=folder)))
        assert (await verdict(running.engine, DOUBLE, deadline_s=20.0)).reward == 1.0
