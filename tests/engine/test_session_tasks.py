"""Sessions over a provider that fails or hangs: housekeeping goes on, waiters are woken, burials don't queue up."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

import anyio
import pytest

from sandbox_gym.contract import Isolation
from sandbox_gym.errors import ProviderDown
from sandbox_gym.limits import Limits, Policy
from sandbox_gym.sandbox.local import LocalProvider, mounts
from sandbox_gym.sandbox.local.sessions import LocalSessions
from sandbox_gym.sandbox.session import manager as module
from sandbox_gym.sandbox.session.manager import holding
from sandbox_gym.sandbox.session.snapshots import Snapshot, SnapshotFailed

pytestmark = pytest.mark.anyio
ERRORS = [
    OSError(errno.EMFILE, "Too many open files"),
    OSError(errno.ENOENT, "no such folder"),
    RuntimeError("can't start new thread"),
    MemoryError(),
]


class Box:
    """A session's sandbox that answers at once; it closes when it may."""

    box_id = "box"
    isolation: Isolation = "none"

    def __init__(self, may_close: anyio.Event, failing: list[Exception]) -> None:
        self._may_close, self._failing = may_close, failing

    async def call(
        self, request: Mapping[str, object], body: bytes = b"", *, within_s: float
    ) -> tuple[Mapping[str, object], bytes]:
        return {"ok": True}, body

    async def snapshot(self, *, durable: bool = True, keep_globals: bool = False) -> Snapshot:
        raise SnapshotFailed("this one keeps nothing")

    async def aclose(self) -> None:
        await self._may_close.wait()
        if self._failing:
            raise self._failing.pop()


class Keeper:
    """Fails as it is told, call by call."""

    def __init__(self) -> None:
        self.opening: list[Exception] = []
        self.closing: list[Exception] = []
        self.collecting: list[Exception] = []
        self.may_close = anyio.Event()
        self.may_close.set()

    async def open_session(self, limits: Limits, snapshot_id: str | None = None) -> Box:
        if self.opening:
            raise self.opening.pop()
        return Box(self.may_close, self.closing)

    async def snapshots(self) -> Sequence[Snapshot]:
        return []

    async def delete(self, snapshot_id: str) -> None: ...

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        if self.collecting:
            raise self.collecting.pop()
        return 0

    async def aclose(self) -> None: ...


@pytest.mark.parametrize("error", ERRORS, ids=str)
async def test_a_fault_costs_one_call_or_none(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SWEEP_S", 0.01)
    keeper = Keeper()
    async with holding(keeper, tmp_path, Limits(), Policy(live=2, ttl_s=0.2)) as sessions:
        keeper.opening.append(error)
        with pytest.raises(ProviderDown):
            await sessions.call("s", {}, timeout_s=1)
        keeper.closing.append(error)
        keeper.collecting.append(error)
        await sessions.call("s", {}, timeout_s=1)
        with anyio.fail_after(30):
            while "s" in sessions:  # its time is over: the sweep goes on whatever it meets
                await anyio.sleep(0.02)
        assert (await sessions.call("t", {}, b"x", timeout_s=1)).body == b"x"


async def test_who_waits_for_room_is_woken_each_time_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_S", 1000)
    keeper, done = Keeper(), []
    async with holding(keeper, tmp_path, Limits(), Policy(live=1)) as sessions:
        busy = sessions._get("busy")
        await busy.lock.acquire()
        await sessions._awake(busy)

        async def wait(number: int) -> None:
            await sessions._make_room()
            done.append(number)

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                for number in range(5):
                    tasks.start_soon(wait, number)
                await anyio.sleep(0.1)
                assert not done
                await sessions._stop(busy)
        busy.lock.release()
    assert sorted(done) == list(range(5))


async def test_a_burial_that_hangs_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BURY_S", 0.5)
    keeper = Keeper()
    async with holding(keeper, tmp_path, Limits(), Policy(live=50)) as sessions:
        keeper.may_close = anyio.Event()
        await sessions.call("hangs", {}, timeout_s=1)
        sessions.discard("hangs")
        await anyio.sleep(0)
        keeper.may_close = anyio.Event()
        keeper.may_close.set()
        for number in range(6):
            await sessions.call(f"s{number}", {}, timeout_s=1)
            sessions.discard(f"s{number}")
        with anyio.fail_after(30):
            while sessions.stats.closed < 6:
                await anyio.sleep(0.01)


async def test_a_folder_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    keeper = LocalSessions(LocalProvider(), tmp_path / "state", Limits(), warm=0)
    async with holding(keeper, tmp_path / "state" / "held", Limits(), Policy(live=2)) as sessions:
        mounts.unmount_below(keeper.live)
        shutil.rmtree(keeper.live)
        shutil.rmtree(tmp_path / "state")
        request = {"op": "bash", "timeout_s": 60, "output_bytes": 100}
        reply = await sessions.call("s", request, b"echo here", timeout_s=60)
        assert reply.body == b"here\n"
        await sessions.checkpoint("s")
        await sessions.close("s")
