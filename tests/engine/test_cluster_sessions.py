"""Sessions of a cluster: each at one node, and what becomes of them when it is lost."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import anyio
import pytest

from sandbox_gym.cluster.engine import open_cluster
from sandbox_gym.cluster.inprocess import InProcessFleet
from sandbox_gym.cluster.messages import NodeLost
from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.errors import SessionClosed
from tests.engine.clusters import FAST, Running, cluster, node_of

pytestmark = pytest.mark.anyio


async def bash(engine: Engine, session: str, command: str) -> tuple[str, bool, bool]:
    """What it printed; whether the session was restored before it, or lost in it."""
    assert engine.sessions is not None
    request = {"op": "bash", "timeout_s": 20, "output_bytes": 4096}
    done = await engine.sessions.call(session, request, command.encode(), timeout_s=20)
    return done.body.decode(), done.restored, done.lost


def home_of(running: Running, session: str) -> str:
    """The node whose folder has the session's record."""
    found = [
        name for name, folder in running.folders.items() for path in folder.rglob("held/*.json")
        if json.loads(path.read_text())["session_id"].startswith(f"{session}#")
    ]  # fmt: skip
    return found[0] if found else ""


async def test_sessions_stay_on_their_node_and_nodes_share_them(tmp_path: Path) -> None:
    async with cluster(tmp_path, sessions="coding-1") as running:
        for number in range(6):
            assert (await bash(running.engine, f"s{number}", f"echo {number} >kept; cat kept"))[0] == f"{number}\n"
        for number in range(6):
            assert await bash(running.engine, f"s{number}", "cat kept") == (f"{number}\n", False, False)
        await running.until(lambda: all(home_of(running, f"s{number}") for number in range(6)))
        assert Counter(home_of(running, f"s{n}") for n in range(6)) == {"n0": 2, "n1": 2, "n2": 2}


async def test_a_lost_nodes_session_goes_on_where_its_folder_can_be_read(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=2, sessions="coding-1") as running:
        await bash(running.engine, "s", "mkdir -p deep/er && echo work >deep/er/file && export WORD=kept")
        await running.until(lambda: home_of(running, "s") != "")
        running.fleet.lose(home_of(running, "s"))
        await running.until(lambda: running.engine.stats()["losses"] == 1)
        output, restored, lost = await bash(running.engine, "s", "cat deep/er/file; echo $WORD")
        assert (output, restored, lost) == ("work\nkept\n", True, False)
        assert not list(running.folders["n0"].rglob("held/*.json")) or not list(
            running.folders["n1"].rglob("held/*.json")
        )
        assert running.engine.sessions is not None
        assert running.engine.sessions.stats_dict()["moved_to_another_node"] == 1


async def test_a_session_whose_folder_is_gone_says_so_until_it_begins_anew(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=2, sessions="coding-1") as running:
        await bash(running.engine, "s", "echo work >file")
        await running.until(lambda: home_of(running, "s") != "")
        home = home_of(running, "s")
        running.fleet.lose(home)
        await running.until(lambda: running.engine.stats()["losses"] == 1)
        await running.until(lambda: not list(running.folders[home].rglob("owners/*.lock")))
        shutil.rmtree(running.folders[home])  # a machine's own disk, of which nobody else has anything
        for _ in range(2):
            with pytest.raises(NodeLost, match="seed it again"):
                await bash(running.engine, "s", "cat file")
        assert running.engine.sessions is not None
        running.engine.sessions.discard("s")
        assert (await bash(running.engine, "s", "ls"))[0] == ""
        await running.engine.sessions.close("s")
        with pytest.raises(SessionClosed):
            await bash(running.engine, "s", "ls")


async def test_a_new_server_finds_the_sessions_of_the_old_one(tmp_path: Path) -> None:
    for name in ("n0", "n1"):
        (tmp_path / name).mkdir()
    base = Settings.from_flat({"boxes": 2, "session_checkpoint_s": 0.2})
    made = {n: node_of(base.model_copy(update={"state_dir": tmp_path / n}), "coding-1") for n in ("n0", "n1")}
    for word, seen in (("first", ""), ("second", "first\n")):
        async with anyio.create_task_group() as tasks:
            async with open_cluster(InProcessFleet(tasks, made), base, pace=FAST) as engine:
                with anyio.fail_after(20):
                    while engine.stats()["nodes_up"] < 2:
                        await anyio.sleep(0.02)
                assert (await bash(engine, "s", f"cat kept; echo {word} >kept"))[0].endswith(seen)
            tasks.cancel_scope.cancel()


async def test_a_session_that_nobody_calls_is_forgotten(tmp_path: Path) -> None:
    made = {"n0": node_of(Settings(boxes=2, state_dir=tmp_path), "coding-1")}
    async with anyio.create_task_group() as tasks:
        async with open_cluster(
            InProcessFleet(tasks, made), Settings.from_flat({"session_ttl_s": 1.0}), pace=FAST
        ) as engine:
            await bash(engine, "a", "true")
            await bash(engine, "b", "true")
            assert engine.sessions is not None
            await anyio.sleep(1.2)
            assert (await bash(engine, "c", "true"))[0] == ""
            assert "a" not in engine.sessions
            assert engine.sessions.stats_dict()["bound"] == 1
        tasks.cancel_scope.cancel()
