"""Whoever leaves, at whichever moment: nothing stays behind, nothing is lost, and no reply is taken for another's."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sandbox_gym.errors import BoxLost
from sandbox_gym.limits import MIB, Limits, Policy
from sandbox_gym.sandbox import prepared_compilers
from sandbox_gym.sandbox.api import SandboxSpec, SessionFolder
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.session.holding import holding
from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.sandbox.session.session import open_session
from sandbox_gym.sandbox.users import RUN
from tests.processes import open_files

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
LIMITS = Limits(cpu_time_s=300, wall_time_s=600, memory_bytes=256 * MIB, processes=64)
BUSY = Policy(idle_s=1000, checkpoint_s=1000)
MOMENTS = [*range(12), *(12 + number * 3 for number in range(1, 14))]
"""Turns of the event loop, then thirds of a millisecond."""


async def given_up_at(moment: int, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(call)
        for _ in range(min(moment, 12)):
            await anyio.lowlevel.checkpoint()
        await anyio.sleep(max(0, moment - 12) / 3000)
        group.cancel_scope.cancel()


async def text(sessions: Sessions, session_id: str, command: str) -> str:
    request = {"op": "bash", "timeout_s": 20, "output_bytes": 4000}
    reply = await sessions.call(session_id, request, command.encode(), timeout_s=20)
    assert (reply.restored, reply.stale, reply.lost) == (False, False, False)
    return reply.body.decode()


async def test_an_opening_keeps_no_user(tmp_path: Path) -> None:
    provider = LocalProvider(sessions=SessionFolder(tmp_path, LIMITS), prepared=0)

    async def begin() -> None:
        await (await open_session(provider, SandboxSpec("python", "session", LIMITS))).aclose()

    await begin()
    for moment in range(8):
        await given_up_at(moment, begin)
    assert str(RUN / "uids") not in open_files(os.getpid())
    await provider.aclose()


@pytest.mark.parametrize("what", ["checkpoint", "hibernate", "another's call"])
async def test_a_session_that_is_being_kept_loses_nothing(tmp_path: Path, what: str) -> None:
    """A caller who leaves gives up no session: for a place of its own it often waits for another's to be kept."""
    provider = LocalProvider(sessions=SessionFolder(tmp_path / "state", LIMITS))
    policy = Policy(idle_s=1000, checkpoint_s=1000, live=1) if what == "another's call" else BUSY
    async with holding(provider, tmp_path / "held", LIMITS, policy) as sessions:

        async def keep() -> None:
            if what == "checkpoint":
                await sessions.checkpoint("s")
            elif what == "hibernate":
                await sessions.hibernate("s")
            else:
                await sessions.call("t", {"op": "ping"}, timeout_s=20)

        for moment in MOMENTS:
            assert await text(sessions, "s", f"echo {moment} > n; export N={moment}; echo done") == "done\n"
            await given_up_at(moment, keep)
            assert await text(sessions, "s", "cat n; echo $N") == f"{moment}\n{moment}\n", moment
        for session_id in ("s", "t"):
            await sessions.close(session_id)
    assert provider.snapshots is not None
    assert not await provider.snapshots.all(), "one that no session names stays"
    await provider.aclose()


async def test_a_driver_whose_call_was_given_up_answers_none_after(tmp_path: Path) -> None:
    """Its reply would be the next call's."""
    provider = LocalProvider(sessions=SessionFolder(tmp_path, LIMITS), prepared=0)
    session = await open_session(provider, SandboxSpec("python", "session", LIMITS))
    request = {"op": "bash", "timeout_s": 20, "output_bytes": 99}

    async def first() -> None:
        await session.call(request, b"sleep 3; echo first", within_s=20)

    await given_up_at(13, first)
    with pytest.raises(BoxLost, match="given up"):
        await session.call(request, b"echo second", within_s=20)
    await session.aclose()
    await provider.aclose()


@pytest.mark.parametrize("make", [prepared_compilers.java, prepared_compilers.kotlin, prepared_compilers.typescript])
async def test_what_prepares_compilers_may_be_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    """All that it writes is in the folder that is removed then."""
    written: list[Path] = []

    def killed(folder: Path, *_argv: str, stdin: str = "") -> str:
        written.extend(folder.iterdir())
        raise prepared_compilers.NotMade("killed")

    monkeypatch.setattr(prepared_compilers, "run", killed)
    with pytest.raises(prepared_compilers.NotMade):
        make(tmp_path)
    assert written
    assert all(file.is_relative_to(tmp_path) for file in written)
