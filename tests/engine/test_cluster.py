"""Verdicts of a cluster are those of one machine. Its code over nodes in this process, with real local sandboxes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from fastapi.testclient import TestClient

from sandbox_gym.cluster.engine import open_cluster
from sandbox_gym.cluster.inprocess import InProcessFleet
from sandbox_gym.cluster.membership import Pace
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Query, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.errors import ConfigurationError, DeadlineExceeded
from sandbox_gym.server.app import build_app
from sandbox_gym.verifiers.math import MathTask, MathVerifier
from tests.engine.clusters import DOUBLE, FAST, WRONG, cluster, node_of, pool_stats, row, verdict
from tests.server.fakes import EchoResources, verify_body

pytestmark = pytest.mark.anyio


def shape(one: Verdict) -> tuple[object, ...]:
    return (
        one.reward,
        one.failure_reason,
        one.isolation,
        one.provider,
        [(test.index, test.status) for test in one.tests],
    )


async def test_verdicts_are_those_of_one_machine(tmp_path: Path) -> None:
    slow = "import time\nn = int(input())\ntime.sleep(0.15)\nprint(2 * n if n != 3 else 0)"
    cases = [
        (DOUBLE, row(5)),
        (WRONG, row(5)),
        (slow, row(8)),  # the third fails, long before the last has run
        (slow, row(8, early_stop=False)),
        ("no code at all", row()),
        ("raise SystemExit(3)", row()),
        ("while True: pass", row(1, time_limit_s=0.3)),
        ("print('x' * 10**8)", row(1)),
        ("def double(n): return 2 * n", {"unit_tests": {"fn_name": "double", "inputs": ["1"], "outputs": ["2"]}}),
        (
            "def double(n):\n    return 2 * n",
            {"test": "def check(candidate):\n    assert candidate(2) == 4\n", "entry_point": "double"},
        ),
        (
            "def double(n):\n    return 2 * n",
            {"test": "def check(candidate):\n    if True: assert candidate(2) == 4\n", "entry_point": "double"},
        ),
    ]
    async with cluster(tmp_path) as running, open_engine(Settings(state_dir=tmp_path)) as here:
        for code, metadata in cases:
            there = await verdict(running.engine, code, metadata)
            assert shape(there) == shape(await verdict(here, code, metadata)), (code, metadata)
            assert set(there.timings_s) >= {"queue", "judge"}
        for engine in (running.engine, here):
            assert f"sandbox_gym_verify_seconds_count {len(cases)}.0\n".encode() in engine.metrics.text()


async def test_a_failed_test_ends_the_run_at_the_node(tmp_path: Path) -> None:
    """The expected outputs are here, the program there: the word that it failed gets there before the tests end."""
    async with cluster(tmp_path, count=1) as running:
        slow = "import time; n = int(input()); time.sleep(0.3); print(2 * n if n > 1 else 0)"
        failed = await verdict(running.engine, slow, row(40))
        assert failed.reward == 0.0
        assert [test.status.value for test in failed.tests][:2] == ["wrong_answer", "skipped"]
        assert failed.timings_s["run"] < 20 * 0.3


async def test_without_an_answer_in_time_there_is_no_verdict(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=1, provider="fake", pace=Pace(lost_s=60)) as running:
        running.fleet.hang("n0")
        with pytest.raises(DeadlineExceeded):
            await verdict(running.engine, DOUBLE, deadline_s=0.5)
        assert running.engine.stats()["leased"] == 0


async def test_a_client_that_leaves_frees_the_nodes_slot(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=1) as running:
        with anyio.move_on_after(0.7):
            await verdict(running.engine, "import time; time.sleep(9)", row(1))
        link = running.fleet.link("n0")
        with anyio.fail_after(5):
            while (await pool_stats(link))["leased"]:
                await anyio.sleep(0.05)


async def test_no_node_that_works_is_an_error_at_the_start(tmp_path: Path) -> None:
    broken = Settings.from_flat({"state_dir": tmp_path, "local_python": "/nowhere/python3"})

    async def start() -> None:
        async with anyio.create_task_group() as tasks:
            fleet = InProcessFleet(tasks, {"n0": node_of(broken)})
            async with open_cluster(fleet, broken, pace=FAST):
                raise AssertionError("it started")

    with pytest.raises(BaseExceptionGroup) as caught:
        await start()
    assert caught.group_contains(ConfigurationError, match="no node of the cluster can hold sandboxes: n0: ")


async def test_math_is_judged_by_services_on_the_nodes(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=2) as running:
        for answer, reward in (("\\boxed{2\\sin(x)\\cos(x)}", 1.0), ("\\boxed{3\\sin(x)\\cos(x)}", 0.0)):
            task = MathTask("$\\sin(2x)$")
            found = await running.engine.verify(MathVerifier(), task, Answer(answer))
            (judgement,) = found.judgements
            assert (found.verdict.reward, found.verdict.isolation) == (reward, "namespace")
            assert isinstance(judgement.plan.steps[0], Query)
            assert judgement.state is not None


def test_the_server_shows_its_nodes(tmp_path: Path) -> None:
    @asynccontextmanager
    async def engine() -> AsyncIterator[Engine]:
        async with cluster(tmp_path, count=2, provider="fake") as running:
            yield running.engine

    with TestClient(
        build_app(EchoResources(), engine, Settings(provider="fake")), base_url="http://localhost"
    ) as client:
        assert client.post("/verify", json=verify_body()).json()["reward"] == 1.0
        health = client.get("/health").json()
        assert {name: node["status"] for name, node in health["nodes"].items()} == {"n0": "up", "n1": "up"}
        assert health["stats"]["slots"] == 4
        metrics = client.get("/metrics").text
        assert 'sandbox_gym_node_up{node="n0"} 1.0' in metrics
        assert 'sandbox_gym_node_slots{node="n1"} 2.0' in metrics
        assert "sandbox_gym_cluster_nodes_up 2.0" in metrics
