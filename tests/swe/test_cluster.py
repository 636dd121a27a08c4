"""Repositories on a cluster: built where there is room, judged where they are, built anew when that node is lost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from sandbox_gym.cluster.engine import open_cluster
from sandbox_gym.cluster.inprocess import InProcessFleet, OpenNode
from sandbox_gym.cluster.membership import Pace
from sandbox_gym.cluster.node import open_node
from sandbox_gym.config import Settings
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.protocol.wire import Document, VerifyRequest
from sandbox_gym.server.swe.server import SweResources
from sandbox_gym.swe.node_instances import InstanceBuilder

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]
ROWS = Path(__file__).parents[2] / "resources_servers" / "swe" / "data" / "example.jsonl"
EDIT = "s/number in (11, 12, 13)/number % 100 in (11, 12, 13)/"
PACE = Pace(look_s=0.1, ping_s=0.2, lost_s=30)


def node_of(settings: Settings) -> OpenNode:
    return lambda: open_node(settings, sessions="swe-1", make_builder=InstanceBuilder)


async def test_a_lost_node_costs_neither_verdicts_nor_honesty(tmp_path: Path) -> None:
    row: Document = json.loads(ROWS.read_text().splitlines()[0])
    fix = str(row.pop("answer"))
    base = Settings.from_flat({"boxes": 2, "session_checkpoint_s": 0.3})
    made: dict[str, OpenNode] = {}
    for name in ("n0", "n1"):
        (tmp_path / name).mkdir()
        made[name] = node_of(base.model_copy(update={"state_dir": tmp_path / name}))
    resources = SweResources(base)
    asked: Document = {**row, "response": {"output": []}}

    def built_on() -> list[str]:
        return [path.name for path in sorted(tmp_path.iterdir()) if list(path.rglob("instances.json"))]

    async with anyio.create_task_group() as tasks:
        fleet = InProcessFleet(tasks, made)
        async with open_cluster(fleet, base, pace=PACE) as engine:
            with anyio.fail_after(30):
                while engine.stats()["nodes_up"] < 2:
                    await anyio.sleep(0.05)

            async def rewarded(patch: str) -> float:
                return (
                    await resources.verify(engine, VerifyRequest.parse({**asked, "model_patch": patch}))
                ).fields.reward

            assert await rewarded(fix) == 1.0
            (home,) = built_on()
            assert await rewarded(fix.replace("% 100", "% 1000")) == 0.0
            assert built_on() == [home]  # once, and judged where it is

            await resources.seed(engine, "s", row)
            edit = f"cd /workspace/testbed/inflection && sed -i '{EDIT}' __init__.py && grep -c '% 100 in' __init__.py"
            told = await resources.tools["bash"](engine, ToolCall({"command": edit}, None, "s"))
            assert isinstance(told, dict)
            assert told["output"] == "1\n"

            fleet.lose(home)
            with anyio.fail_after(30):
                while engine.stats()["losses"] < 1:
                    await anyio.sleep(0.05)
            assert await rewarded(fix) == 1.0  # built by the other one
            assert len(built_on()) == 2
            work = await resources.verify(engine, replace(VerifyRequest.parse(asked), session_id="s"))
            assert (
                work.fields.reward == 1.0
            )  # the session's own edit, from its last snapshot, out of the lost node's folder
        tasks.cancel_scope.cancel()
