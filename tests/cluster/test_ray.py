"""Verifies on real raylets while they are killed, stopped and drained: every reward right, or none at all."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from sandbox_gym.cluster.engine import open_cluster
from sandbox_gym.cluster.membership import Pace
from sandbox_gym.cluster.messages import Nothing, Pong, read_reply
from sandbox_gym.cluster.ray_fleet import RayFleet, RayLink, joined, pools
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.plans.runner import Caller
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from tests.cluster.machines import Machines
from tests.processes import open_files

pytestmark = pytest.mark.anyio
DOUBLE, WRONG = "print(2 * int(input()))", "print(3 * int(input()))"
ROW = {"unit_tests": {"inputs": ["1", "2"], "outputs": ["2", "4"]}}


@asynccontextmanager
async def cluster(machines: Machines, folder: Path, name: str, *, lost_s: float = 30.0) -> AsyncIterator[Engine]:
    """An engine over three nodes, all of which are up."""
    machines.ensure(3)
    settings = Settings.from_flat(
        {"state_dir": folder / name, "boxes": 4, "session_checkpoint_s": 0.3, "queue_size": 5000}
    )
    fleet, pace = RayFleet(settings, name), Pace(lost_s=lost_s)
    async with joined(machines.address), open_cluster(fleet, settings, pace=pace) as engine:
        with anyio.fail_after(120):
            while engine.stats()["nodes_up"] < 3:
                await anyio.sleep(0.1)
        yield engine


async def verdict(engine: Engine, code: str) -> Verdict:
    task = parse_task(ROW, limits=Settings().limits(), early_stop=True)
    return (await engine.verify(CodingVerifier(), task, Answer(code), caller=Caller(deadline_s=590))).verdict


async def many(engine: Engine, count: int, after: Callable[[int], None]) -> list[Verdict]:
    """`count` verdicts, every third of a wrong answer; `after` is told how many there are."""
    found: dict[int, Verdict] = {}

    async def one(number: int) -> None:
        found[number] = await verdict(engine, WRONG if number % 3 == 0 else DOUBLE)
        after(len(found))

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(one, number)
    return [found[number] for number in range(count)]


def wrong_ones(verdicts: list[Verdict]) -> list[int]:
    return [number for number, one in enumerate(verdicts) if one.reward != float(number % 3 != 0)]


def status_of(engine: Engine, node: str) -> str:
    return next((str(one["status"]) for name, one in engine.runner.nodes().items() if name.endswith(node)), "gone")


@pytest.mark.timeout(900)
async def test_a_killed_raylet_costs_no_verdict(machines: Machines, folder: Path) -> None:
    """1,000 verifies on three nodes; one raylet is SIGKILLed when 400 are through."""
    killed: list[str] = []

    def after(done: int) -> None:
        if done == 400:
            killed.append(machines.kill(1))

    async with cluster(machines, folder, "killed") as engine:
        started = time.monotonic()
        verdicts = await many(engine, 1000, after)
        took = time.monotonic() - started
        stats = engine.stats()
        tries = dict(Counter(one.attempts for one in verdicts))
        told = f"1,000 verifies, one of three nodes killed: {took:.1f} s, tries {tries}\n"
        sys.stderr.write(told)
        assert wrong_ones(verdicts) == []
        assert stats["verdicts"] == 1000
        assert stats["losses"] == 1
        assert stats["rescheduled"] >= 1
        assert status_of(engine, killed[0]) != "up"  # until Ray gives it up, another pool is tried there


@pytest.mark.timeout(600)
async def test_a_node_that_stands_still_costs_no_verdict(machines: Machines, folder: Path) -> None:
    async with cluster(machines, folder, "frozen", lost_s=6.0) as engine, anyio.create_task_group() as tasks:
        stands_still = anyio.Event()

        async def freeze() -> None:
            await stands_still.wait()
            with machines.frozen(0) as node:
                with anyio.fail_after(120):
                    while status_of(engine, node) in ("up", "silent"):
                        await anyio.sleep(0.2)
                    await finished.wait()

        finished = anyio.Event()
        tasks.start_soon(freeze)
        verdicts = await many(engine, 300, lambda done: stands_still.set() if done == 60 else None)
        finished.set()
        assert wrong_ones(verdicts) == []
        assert engine.stats()["losses"] >= 1
        assert engine.stats()["rescheduled"] >= 1


@pytest.mark.timeout(600)
async def test_a_drained_node_gets_nothing_new(machines: Machines, folder: Path) -> None:
    async with cluster(machines, folder, "drained") as engine:
        await many(engine, 30, lambda done: None)
        node = machines.ids()[2]
        (link,) = [link for name, link in pools().items() if node in name and "drained|" in name]
        read_reply(Nothing, await link.ask("drain", b""))
        with anyio.fail_after(60):
            while status_of(engine, node) != "draining":
                await anyio.sleep(0.1)
        before = await leases(link)
        assert wrong_ones(await many(engine, 60, lambda done: None)) == []
        assert await leases(link) == before
        read_reply(Nothing, await link.ask("undrain", b""))
        with anyio.fail_after(60):
            while status_of(engine, node) != "up":
                await anyio.sleep(0.1)
        assert engine.stats()["losses"] == 0


async def leases(link: RayLink) -> int:
    return read_reply(Pong, await link.ask("ping", b"")).stats["leases"]


@pytest.mark.timeout(600)
async def test_a_session_goes_on_after_its_node_was_killed(machines: Machines, folder: Path) -> None:
    """The nodes share a state folder here; the session's last checkpoint is what is left of it."""
    async with cluster(machines, folder, "sessions") as engine:
        assert engine.sessions is not None
        request = {"op": "bash", "timeout_s": 30, "output_bytes": 4096}

        async def bash(command: str) -> tuple[str, bool]:
            assert engine.sessions is not None
            done = await engine.sessions.call("s", request, command.encode(), timeout_s=30)
            return done.body.decode(), done.restored

        assert await bash("echo work >file; cat file") == ("work\n", False)
        held = folder / "sessions" / "sessions" / "sessions"
        with anyio.fail_after(60):
            while not list(held.rglob("held/*.json")):
                await anyio.sleep(0.1)
        before = {name: one["leased"] for name, one in engine.runner.nodes().items()}
        assert len(before) == 3
        machines.kill(_home(machines, next(held.rglob("held/*.json")).parent.parent))
        with anyio.fail_after(120):
            while engine.stats()["losses"] < 1:
                await anyio.sleep(0.1)
        assert await bash("cat file") == ("work\n", True)
        assert engine.sessions.stats_dict()["moved_to_another_node"] == 1


def _home(machines: Machines, home: Path) -> int:
    """The number of the node that holds the lock of a sessions folder."""
    lock = str((home / "owner.lock").resolve(strict=True))
    for number in range(3):
        if any(lock in open_files(pid) for pid in machines.workers(number)):
            return number
    raise AssertionError(f"nobody holds {home}")
