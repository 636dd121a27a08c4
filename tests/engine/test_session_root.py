"""Root in sessions that were seeded with it, on docker: what it may, who gets it, and that no verdict begins from what
it left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Outcome, Plan, Program, Run, SnapshotRef
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.errors import RequestError, SandboxGymError
from sandbox_gym.sandbox.api import SandboxSpec, SnapshotStore
from sandbox_gym.sandbox.session.client import Command, CommandResult
from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.sandbox.snapshots import RootedSnapshot
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.tools.session_client import ToolClient, check_root
from tests.engine.clusters import cluster

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
PRINTS = Run("p", Program("exec", {}, argv=("cat", "/workspace/made")))


@asynccontextmanager
async def opened(folder: Path, *, root: bool = True, provider: str = "docker") -> AsyncIterator[Engine]:
    """Each opening of one folder goes on from the one before."""
    given = {"provider": provider, "state_dir": folder, "boxes": 2, "session_root": root}
    async with open_engine(Settings.from_flat(given), sessions="root") as engine:
        yield engine


def held(engine: Engine) -> Sessions:
    assert isinstance(engine.sessions, Sessions)
    return engine.sessions


async def ran(engine: Engine, session: str, command: str, user: str = "", **more: str) -> CommandResult:
    client = ToolClient(engine, ToolCall({}, None, session))
    return await client.exec(Command(["sh", "-c", command], 20, env=more, user=user, keep_background=True))


async def said(engine: Engine, session: str, command: str, user: str = "", **more: str) -> str:
    done = await ran(engine, session, command, user, **more)
    assert done.exit_code == 0, done
    return done.stdout.decode().strip()


async def begins(engine: Engine, snapshot_id: str) -> str:
    """What a plan's program finds in a snapshot."""
    (outcome,) = (await engine.run(Plan((PRINTS,), image=SnapshotRef(snapshot_id)))).outcomes
    assert isinstance(outcome, Outcome)
    return outcome.stdout.decode()


async def test_commands_as_root_and_as_users_that_it_makes(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        held(engine).grant_root("s")
        before = await said(engine, "s", "id -u; stat -c %u /root /workspace")
        assert await said(engine, "s", "id -un; echo $HOME $USER; pwd", "root") == "root\n/root root\n/workspace"
        assert await said(engine, "s", "id -u; stat -c %u /root /workspace") == before, "the session's own stays so"
        await said(engine, "s", "adduser --disabled-password --comment '' other && groupadd more", "root")
        await said(engine, "s", "usermod -aG more other", "root")
        wanted = "other other more\n/home/other other"
        assert await said(engine, "s", "echo $(id -un) $(id -Gn | tr -d '\n'); echo $HOME $USER", "other") in (
            wanted,
            wanted.replace("other other more", "other other users more"),
        )
        number = await said(engine, "s", "id -u other")
        assert await said(engine, "s", "id -un >/dev/stdout; echo $V >&1", number, V="$x") == "other\n$x"
        assert (await ran(engine, "s", "echo 1 >/etc/mine", "other")).exit_code != 0
        assert (await ran(engine, "s", "echo 1 >/etc/mine")).exit_code != 0
        status = await said(engine, "s", "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status", "other")
        assert [int(word, 16) for word in status.split()[1::2]] == [0, 1]
        for nobody in ("nonexistent", "99999999999999999999", "-1"):
            with pytest.raises(RequestError, match=f"(?s)^user: '{nobody}': the sandbox has no user"):
                await ran(engine, "s", "id", nobody)
        await held(engine).close("s")


async def test_no_verdict_begins_from_what_root_left(tmp_path: Path) -> None:
    """Not after hibernation, nor in a fork, nor in another server's time; and no fork has root."""
    async with opened(tmp_path) as engine:
        sessions = held(engine)
        sessions.grant_root("s")
        await said(engine, "s", "echo plain")
        refused = [await sessions.checkpoint("s")]
        with pytest.raises(RootedSnapshot, match="of a session that had root"):
            await begins(engine, refused[0])
        await said(engine, "s", "echo root >/workspace/made; chmod 600 /workspace/made", "root")
        kept = await sessions.checkpoint("s")
        sessions.begin("fork", kept)
        with pytest.raises(RequestError, match="not seeded with root"):
            await ran(engine, "fork", "id", "root")
        assert (await ran(engine, "fork", "cat /workspace/made")).exit_code != 0
        refused = [kept, await sessions.checkpoint("fork")]
        await sessions.hibernate("s")
        assert await said(engine, "s", "cat /workspace/made", "root") == "root"
        clean = await _clean(engine)
        assert await begins(engine, clean) == "clean\n", "what never had root is judged as before"
        for snapshot_id in refused:
            with pytest.raises(RootedSnapshot):
                await begins(engine, snapshot_id)
    async with opened(tmp_path) as engine:
        sessions = held(engine)
        assert await said(engine, "s", "cat /workspace/made", "root") == "root", "it has root still"
        refused.append(await sessions.checkpoint("s"))
        assert {one.snapshot_id for one in await sessions.store.all() if one.rooted} >= set(refused[1:])
        for snapshot_id in refused[1:]:
            with pytest.raises(RootedSnapshot):
                await begins(engine, snapshot_id)
            with pytest.raises(RootedSnapshot):
                await sessions.provider.create(SandboxSpec(SnapshotRef(snapshot_id), "builder"))
    async with opened(tmp_path, root=False) as engine:
        with pytest.raises(RequestError, match="not seeded with root"):
            await ran(engine, "s", "id", "root")
        assert await said(engine, "s", "echo on") == "on"
        for session_id in ("s", "fork", "clean"):
            await held(engine).close(session_id)


async def _clean(engine: Engine) -> str:
    """A snapshot of a session without root."""
    await said(engine, "clean", "echo clean >made")
    snapshot_id = await held(engine).checkpoint("clean")
    store: SnapshotStore = held(engine).store
    assert not (await store.find(snapshot_id)).rooted
    return snapshot_id


async def test_root_that_ends_everything_costs_its_session_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        held(engine).grant_root("s")
        await said(engine, "s", "echo kept >/workspace/made", "root")
        await held(engine).checkpoint("s")
        with pytest.raises(SandboxGymError, match="lost"):
            await ran(engine, "s", "kill -9 -1; kill -9 $PPID; sleep 30", "root")
        assert await said(engine, "s", "cat /workspace/made", "root") == "kept"
        assert await said(engine, "other", "echo on") == "on"
        for session_id in ("s", "other"):
            await held(engine).close(session_id)


@pytest.mark.parametrize(("provider", "root"), [("local", True), ("docker", False)])
async def test_root_is_for_servers_that_allow_and_have_it(tmp_path: Path, provider: str, root: bool) -> None:
    async with opened(tmp_path, provider=provider, root=root) as engine:
        with pytest.raises(RequestError, match=r"^root: .*provider docker and SANDBOX_GYM_SESSION_ROOT=true"):
            check_root(engine)
        held(engine).grant_root("s")
        with pytest.raises(RequestError, match=r"^user: 'root': the session was not seeded with root"):
            await ran(engine, "s", "id", "root")
        await held(engine).close("s")


async def test_a_node_gives_root_to_sessions_that_its_server_seeded_with_it(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=1, provider="docker", sessions="root", session_root=True) as running:
        engine = running.engine
        assert engine.sessions is not None
        check_root(engine)
        engine.sessions.grant_root("s")
        assert await said(engine, "s", "id -un", "root") == "root"
        with pytest.raises(RequestError, match=r"^user: 'root': the session was not seeded with root"):
            await ran(engine, "other", "id", "root")
        for session_id in ("s", "other"):
            await engine.sessions.close(session_id)
