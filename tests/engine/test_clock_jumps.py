"""The machine's clock is corrected by days, as after a start without a network: no session and no sandbox ends before
its time, or outlives it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from sandbox_gym.e2b_server.sandboxes.housekeeping import Housekeeping
from sandbox_gym.e2b_server.sandboxes.processes import Work
from sandbox_gym.e2b_server.sandboxes.records import SandboxRecord
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.limits import MIB, Limits, Policy
from sandbox_gym.sandbox.api import SessionFolder
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.session.holding import holding
from sandbox_gym.sandbox.session.manager import Sessions

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
LIMITS = Limits(cpu_time_s=300, wall_time_s=600, memory_bytes=256 * MIB, processes=64)
DAYS_S = 30 * 24 * 3600.0
Jump = Callable[[float], None]


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Jump:
    really = time.time

    def by(seconds: float) -> None:
        monkeypatch.setattr(time, "time", lambda: really() + seconds)

    return by


async def said(sessions: Sessions, command: str) -> str:
    request = {"op": "bash", "timeout_s": 20, "output_bytes": 4000}
    return (await sessions.call("s", request, command.encode(), timeout_s=20)).body.decode()


@pytest.mark.parametrize("by_s", [DAYS_S, -DAYS_S], ids=["forward", "back"])
async def test_a_session_is_as_old_as_it_is(tmp_path: Path, jump: Jump, by_s: float) -> None:
    provider = LocalProvider(cgroup="never", sessions=SessionFolder(tmp_path / "state", LIMITS))
    async with holding(provider, tmp_path / "held", LIMITS, Policy(idle_s=1000, ttl_s=2000)) as sessions:
        await said(sessions, "V=kept")
        jump(by_s)
        (held,) = sessions.all()
        await sessions.age(held)
        assert (sessions.live, sessions.hibernated) == (1, 0)
        assert await said(sessions, "echo $V") == "kept\n"
        held.used_at -= 1500
        await sessions.age(held)
        assert (sessions.live, sessions.hibernated) == (0, 1)
        held.used_at -= 1500
        await sessions.age(held)
        assert "s" not in sessions
    await provider.aclose()


async def test_a_session_of_an_earlier_process_is_as_old_as_its_record_says(tmp_path: Path, jump: Jump) -> None:
    for ages_s, there in ((0, True), (1500, True), (2500, False)):
        provider = LocalProvider(cgroup="never", sessions=SessionFolder(tmp_path / "state", LIMITS))
        jump(ages_s)
        async with holding(provider, tmp_path / "held", LIMITS, Policy(idle_s=1000, ttl_s=2000)) as sessions:
            for held in sessions.all():
                await sessions.age(held)
            if not ages_s:
                await said(sessions, "V=kept")
            assert ("s" in sessions) == there
        await provider.aclose()


@pytest.mark.parametrize("by_s", [DAYS_S, -DAYS_S], ids=["forward", "back"])
async def test_a_sandbox_ends_when_its_time_is_up(jump: Jump, by_s: float) -> None:
    record = SandboxRecord(
        sandbox_id="i1", tenant="alice", template="base", image="python", token="", traffic_token="",
        public_traffic=True, started_at=0.0,
    )  # fmt: skip
    envd = SimpleNamespace(ended=anyio.Event())
    lasting, over = (Sandbox(record, 0.0, work=Work(cast(Any, envd))) for _ in range(2))
    killed: list[Sandbox] = []

    async def kill(sandbox: Sandbox) -> None:
        killed.append(sandbox)

    sandboxes = SimpleNamespace(running=lambda: [lasting, over], kill=kill)
    lasting.lasts(60)
    over.lasts(0)
    told = lasting.end_at
    assert lasting.end_at == told
    jump(by_s)
    async with anyio.create_task_group() as tasks:
        Housekeeping(cast(Any, sandboxes), tasks)._end_expired()
    assert killed == [over]
    assert abs(lasting.end_at - time.time() - 60) < 30, "as clients see it whose clocks are right"
