"""Held sessions: hibernation, crashes, restarts and closing, on real sandboxes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import pytest
from e2b import AsyncSandbox

from sandbox_gym.errors import DeadlineExceeded, PoolFull, SessionClosed
from sandbox_gym.limits import MIB, Limits, Policy
from sandbox_gym.sandbox.api import SandboxSpec, SessionFolder
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.docker.machine import DockerMachine
from sandbox_gym.sandbox.docker.provider import DockerProvider
from sandbox_gym.sandbox.e2b.provider import E2bProvider
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.local.machine import LocalMachine
from sandbox_gym.sandbox.local.sessions.slots import SlotOrphans
from sandbox_gym.sandbox.session.holding import holding
from sandbox_gym.sandbox.session.manager import Sessions, ToolReply
from sandbox_gym.sandbox.session.session import open_session
from tests.conftest import e2b_options
from tests.e2b.servers import PoolServer

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
LIMITS = Limits(cpu_time_s=300, wall_time_s=600, memory_bytes=256 * MIB, processes=64)
Hold = Callable[..., AbstractAsyncContextManager[Sessions]]


@pytest.fixture(params=["local", "docker", "e2b-on-local", "e2b-on-docker"])
def hold(request: pytest.FixtureRequest, tmp_path: Path, pools: Callable[[str], PoolServer]) -> Hold:
    """Opens held sessions; each opening of one test goes on from the one before."""

    @asynccontextmanager
    async def opened(**policy: object) -> AsyncIterator[Sessions]:
        chosen = Policy(**{"idle_s": 1000, "checkpoint_s": 1000, **policy})  # type: ignore[arg-type]
        folder = SessionFolder(tmp_path / "state", LIMITS)
        provider: LocalProvider | DockerProvider | E2bProvider
        if request.param == "local":
            provider = LocalProvider(sessions=folder)
        elif request.param.startswith("e2b-on-"):
            options = e2b_options(pools(request.param.removeprefix("e2b-on-")))
            provider = E2bProvider(options, sessions=folder)
        else:
            provider = DockerProvider(sessions=folder)
        try:
            async with holding(provider, tmp_path / "held", LIMITS, chosen) as sessions:
                yield sessions
            assert provider.doctor.costs().get("running", 0) == 0
        finally:
            await provider.aclose()

    return opened


async def bash(sessions: Sessions, session_id: str, command: str) -> ToolReply:
    request = {"op": "bash", "timeout_s": 20, "output_bytes": 4000}
    return await sessions.call(session_id, request, command.encode(), timeout_s=20)


async def text(sessions: Sessions, session_id: str, command: str) -> str:
    return (await bash(sessions, session_id, command)).body.decode()


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not condition():
            await anyio.sleep(0.02)


async def close_all(sessions: Sessions, *ids: str) -> None:
    for session_id in ids:
        await sessions.close(session_id)


async def kill(sessions: Sessions, session_id: str) -> None:
    box = sessions._sessions[session_id].box
    assert box is not None
    machine = box.sandbox.machine
    if isinstance(machine, LocalMachine):
        os.kill(machine.pid, signal.SIGKILL)
    elif isinstance(machine, DockerMachine):
        machine.container.kill()
    else:
        assert isinstance(sessions.provider, E2bProvider)
        api = sessions.provider.account.api
        assert await AsyncSandbox.kill(box.box_id, **api)


async def test_an_idle_session_hibernates_and_wakes_where_it_was(hold: Hold) -> None:
    async with hold(idle_s=0.5) as sessions:
        await bash(sessions, "s", "mkdir d; cd d; echo 1 > f; export V=x")
        assert (sessions.live, sessions.hibernated) == (1, 0)
        await until(lambda: sessions.live == 0)
        assert sessions.hibernated == 1
        assert await text(sessions, "s", "pwd; cat f; echo $V") == "/workspace/d\n1\nx\n"
        assert sessions.stats.woken == 1
        await close_all(sessions, "s")


async def test_more_sessions_than_sandboxes(hold: Hold) -> None:
    async with hold(live=2) as sessions:
        names = [f"s{number}" for number in range(5)]
        for name in names:
            await bash(sessions, name, f"echo {name} > me")
        assert sessions.live == 2
        for name in names:
            assert await text(sessions, name, "cat me") == f"{name}\n"
        assert (sessions.live, sessions.hibernated, sessions.stats.lost) == (2, 3, 0)
        await close_all(sessions, *names)
        assert (sessions.live, sessions.hibernated) == (0, 0)


async def test_a_lost_sandbox_goes_on_from_its_last_snapshot_and_says_so(hold: Hold) -> None:
    async with hold() as sessions:
        await bash(sessions, "s", "echo kept > f")
        await sessions.checkpoint("s")
        await bash(sessions, "s", "echo gone > g")
        await kill(sessions, "s")
        lost = await bash(sessions, "s", "sleep 10")
        assert lost.lost
        again = await bash(sessions, "s", "ls; cat f")
        assert (again.body, again.restored, again.lost) == (b"f\nkept\n", True, False)
        assert again.stale, "g is gone, which an answered call had made"
        after = await bash(sessions, "s", "true")
        assert (after.restored, after.stale) == (False, False)
        await sessions.checkpoint("s")
        await kill(sessions, "s")
        assert (await bash(sessions, "s", "sleep 10")).lost
        again = await bash(sessions, "s", "ls")
        assert (again.body, again.restored, again.stale) == (b"f\n", True, False), "nothing but that call was lost"
        await close_all(sessions, "s")


async def test_a_checkpoint_is_taken_without_being_asked_for(hold: Hold) -> None:
    async with hold(checkpoint_s=0.2) as sessions:
        await bash(sessions, "s", "echo kept > f")
        await until(lambda: sessions.stats.checkpoints == 1)
        await kill(sessions, "s")
        await bash(sessions, "s", "sleep 10")
        assert await text(sessions, "s", "cat f") == "kept\n"
        await close_all(sessions, "s")


async def test_sessions_outlive_the_process_that_held_them(hold: Hold) -> None:
    async with hold() as sessions:
        await bash(sessions, "s", "echo 1 > f; cd /tmp")
    async with hold() as sessions:
        assert sessions.hibernated == 1
        again = await bash(sessions, "s", "pwd; cat /workspace/f")
        assert (again.body, again.restored, again.stale) == (b"/tmp\n1\n", True, False)
        await close_all(sessions, "s")
    async with hold() as sessions:
        assert sessions.hibernated == 0


async def test_closed_is_closed(hold: Hold) -> None:
    async with hold() as sessions:
        await bash(sessions, "s", "echo 1 > f")
        await sessions.checkpoint("s")
        await sessions.close("s")
        await sessions.close("s")
        await sessions.close("never opened")
        for name in ("s", "never opened"):
            with pytest.raises(SessionClosed):
                await bash(sessions, name, "true")
        assert (sessions.live, sessions.hibernated) == (0, 0)
        await sessions.budget.collect()
        assert sessions.budget.used_bytes == 0


async def test_a_close_ends_the_call_that_is_under_way(hold: Hold) -> None:
    async with hold() as sessions, anyio.create_task_group() as tasks:
        replies: list[ToolReply] = []

        async def slow() -> None:
            replies.append(await bash(sessions, "s", "sleep 15"))

        tasks.start_soon(slow)
        await until(lambda: sessions.live == 1 and sessions._sessions["s"].calls == 1)
        await anyio.sleep(0.5)
        with anyio.fail_after(10):
            await sessions.close("s")
            await until(lambda: bool(replies))
        assert replies[0].lost


async def test_a_discarded_session_starts_anew(hold: Hold) -> None:
    async with hold() as sessions:
        await bash(sessions, "s", "echo 1 > f")
        sessions.discard("s")
        sessions.discard("never opened")
        assert await text(sessions, "s", "ls") == ""
        await until(lambda: sessions.live == 1)
        await close_all(sessions, "s")


async def test_nobody_called_for_a_session(hold: Hold) -> None:
    async with hold(ttl_s=0.5) as sessions:
        await bash(sessions, "s", "true")
        await until(lambda: "s" not in sessions)
        with pytest.raises(SessionClosed):
            await bash(sessions, "s", "true")


async def test_as_many_as_may_be_held(hold: Hold) -> None:
    async with hold(held=1) as sessions:
        await bash(sessions, "a", "true")
        with pytest.raises(PoolFull):
            await bash(sessions, "b", "true")
        assert await text(sessions, "a", "echo fine") == "fine\n"
        await close_all(sessions, "a")


async def test_a_cancelled_call_costs_the_sandbox_and_not_the_session(hold: Hold) -> None:
    async with hold() as sessions:
        await bash(sessions, "s", "echo kept > f")
        await sessions.checkpoint("s")
        request = {"op": "bash", "timeout_s": 20, "output_bytes": 4000}
        with pytest.raises(DeadlineExceeded):
            await sessions.call("s", request, b"sleep 15", timeout_s=20, deadline_s=0.5)
        assert await text(sessions, "s", "cat f") == "kept\n"
        await close_all(sessions, "s")


async def test_the_disk_budget_holds(hold: Hold) -> None:
    async with hold(disk_bytes=300_000) as sessions:
        await bash(sessions, "a", "head -c 400000 /dev/urandom > f")
        await sessions.hibernate("a")  # the last one that fits begins below the budget
        assert sessions.live == 0
        await bash(sessions, "b", "head -c 400000 /dev/urandom > f")
        await sessions.hibernate("b")
        assert sessions.live == 1
        assert sessions.stats.snapshot_failures == 1
        assert await text(sessions, "b", "stat -c %s f") == "400000\n"
        assert await text(sessions, "a", "stat -c %s f") == "400000\n"
        await close_all(sessions, "a", "b")


async def test_slots_of_a_killed_owner_are_removed_and_a_living_ones_are_not(tmp_path: Path) -> None:
    """The owner holds its lock in another process, which is killed with a session mounted."""
    script = f"""
import anyio
from pathlib import Path
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.api import SandboxSpec, SessionFolder
from sandbox_gym.sandbox.session.session import open_session

async def main():
    provider = LocalProvider(sessions=SessionFolder(Path({str(tmp_path)!r}) / "dead"))
    await open_session(provider, SandboxSpec(role="session"))
    print(provider.slots, flush=True)
    await anyio.sleep(100)

anyio.run(main)
"""
    async with await anyio.open_process([sys.executable, "-c", script], stdin=subprocess.DEVNULL) as owner:
        assert owner.stdout is not None
        live = Path((await owner.stdout.receive()).decode().strip())
        living = LocalProvider(sessions=SessionFolder(tmp_path / "living", LIMITS))
        session = await open_session(living, SandboxSpec("python", "session", LIMITS))
        mine = living.slots
        assert mine is not None
        orphans = SlotOrphans()
        assert {one.name for one in await orphans.orphans()}.isdisjoint({live.name, mine.name})
        owner.kill()
        await owner.wait()
        found = {one.name: one for one in await orphans.orphans()}
        assert live.name in found
        assert mine.name not in found
        for one in found.values():
            await orphans.remove(one)
        mounted = await anyio.Path("/proc/self/mountinfo").read_text()
        assert str(live) not in mounted
        assert str(mine) in mounted
        assert not await anyio.Path(live).exists()
        await orphans.remove(Orphan("mount", mine.name, "", ""))
        await orphans.remove(Orphan("mount", "../../etc", "", ""))
        request = {"op": "bash", "timeout_s": 5, "output_bytes": 100}
        assert (await session.call(request, b"echo here; pwd", within_s=20))[1] == b"here\n/workspace\n"
        await session.aclose()
        await living.aclose()
