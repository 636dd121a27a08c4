"""A cluster of nodes in this process, and verdicts of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from sandbox_gym.cluster.engine import open_cluster
from sandbox_gym.cluster.inprocess import InProcessFleet, OpenNode
from sandbox_gym.cluster.membership import NodeLink, Pace
from sandbox_gym.cluster.messages import Pong, read_reply
from sandbox_gym.cluster.node import open_node
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.plans.runner import Caller
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

FAST = Pace(look_s=0.1, ping_s=0.1, lost_s=3.0)
DOUBLE, WRONG = "print(2 * int(input()))", "print(3 * int(input()))"


def node_of(settings: Settings, sessions: str = "") -> OpenNode:
    return lambda: open_node(settings, sessions=sessions)


@dataclass
class Running:
    engine: Engine
    fleet: InProcessFleet
    folders: dict[str, Path]

    def status(self, node: str) -> str:
        return str(self.engine.runner.nodes().get(node, {}).get("status"))

    async def until(self, true: Callable[[], bool]) -> None:
        with anyio.fail_after(20):
            while not true():
                await anyio.sleep(0.02)


@asynccontextmanager
async def cluster(
    tmp_path: Path,
    *,
    count: int = 3,
    provider: str = "local",
    sessions: str = "",
    pace: Pace = FAST,
    boxes: int = 2,
    **more: object,
) -> AsyncIterator[Running]:
    folders = {f"n{number}": tmp_path / f"n{number}" for number in range(count)}
    made: dict[str, OpenNode] = {}
    base = Settings.from_flat({"provider": provider, "boxes": boxes, "session_checkpoint_s": 0.2, **more})
    for name, folder in folders.items():
        folder.mkdir()
        made[name] = node_of(base.model_copy(update={"state_dir": folder}), sessions)
    async with anyio.create_task_group() as tasks:
        fleet = InProcessFleet(tasks, made)
        async with open_cluster(fleet, base, pace=pace) as engine:
            running = Running(engine, fleet, folders)
            await running.until(lambda: engine.stats()["nodes_up"] == count)
            yield running
        tasks.cancel_scope.cancel()


def row(tests: int = 2, **more: object) -> dict[str, object]:
    numbers = [str(number) for number in range(1, tests + 1)]
    return {"unit_tests": {"inputs": numbers, "outputs": [str(2 * int(n)) for n in numbers]}, **more}


async def verdict(engine: Engine, code: str, metadata: object = None, **caller: float) -> Verdict:
    task = parse_task(metadata or row(), limits=Settings().limits(), early_stop=True)
    asks = Caller(deadline_s=caller.get("deadline_s"))
    return (await engine.verify(CodingVerifier(), task, Answer(code), caller=asks)).verdict


async def pool_stats(link: NodeLink) -> Mapping[str, int]:
    """What a node says of its pool."""
    return read_reply(Pong, await link.ask("ping", b"")).stats
