"""Sessions over a provider that fails or hangs: housekeeping goes on, waiters are woken, no session waits for another's
end."""

from __future__ import annotations

import errno
import shutil
from collections import deque
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Literal

import anyio
import pytest

from sandbox_gym.contract import Run
from sandbox_gym.errors import BoxLost, ProviderDown
from sandbox_gym.guest.protocol import frames
from sandbox_gym.limits import Limits, Policy
from sandbox_gym.sandbox import sandbox
from sandbox_gym.sandbox.api import SandboxSpec, SessionFolder
from sandbox_gym.sandbox.fake import FakeMachine, FakeProvider, silent
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.local.sessions import mounts
from sandbox_gym.sandbox.sandbox import Sandbox, SessionParts
from sandbox_gym.sandbox.session import discarded, lifecycle
from sandbox_gym.sandbox.session import holding as holding_module
from sandbox_gym.sandbox.session.holding import holding
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot, Saving, Snapshot, SnapshotFailed

pytestmark = pytest.mark.anyio
ERRORS = [
    OSError(errno.EMFILE, "Too many open files"),
    OSError(errno.ENOENT, "no such folder"),
    RuntimeError("can't start new thread"),
    MemoryError(),
]


class Link:
    """A driver that answers every request at once, with what was sent along."""

    broken = False

    def __init__(self) -> None:
        self._reader = frames.FrameReader(max_header=1 << 20, max_body=1 << 20)
        self._replies: deque[bytes] = deque()

    def lost(self, why: object) -> BoxLost:
        return BoxLost(str(why))

    async def send_run(self, run: Run, run_id: int, channel: Literal["", "relay", "stdio"] = "") -> None: ...

    async def send(self, header: Mapping[str, object], body: bytes = b"") -> None:
        self._reader.feed(body)
        while (frame := self._reader.next()) is not None:
            self._replies.append(frames.pack({"ok": True}, frame[1]))

    async def receive_patiently(self, within_s: float) -> tuple[Mapping[str, object], bytes]:
        return {"op": "chan"}, self._replies.popleft()


class Machine(FakeMachine):
    """It is destroyed when it may be."""

    def __init__(self, may_close: anyio.Event, failing: list[Exception]) -> None:
        super().__init__(silent)
        self._may_close, self._failing = may_close, failing

    async def destroy(self) -> None:
        await self._may_close.wait()
        if self._failing:
            raise self._failing.pop()


class Store:
    """Keeps nothing, and fails as it is told."""

    def __init__(self) -> None:
        self.collecting: list[Exception] = []

    async def find(self, snapshot_id: str) -> Snapshot:
        raise NoSuchSnapshot(snapshot_id)

    async def all(self) -> Sequence[Snapshot]:
        return []

    async def delete(self, snapshot_id: str) -> None: ...

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        if self.collecting:
            raise self.collecting.pop()
        return 0

    async def adopt(self, folder: Path, snapshot_id: str) -> None: ...


async def keep_nothing(saving: Saving) -> Snapshot:
    raise SnapshotFailed("this one keeps nothing")


class Keeper(FakeProvider):
    """A provider of sessions that fails as it is told, call by call."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.opening: list[Exception] = []
        self.closing: list[Exception] = []
        self.may_close = anyio.Event()
        self.may_close.set()

    @property
    def snapshots(self) -> Store:
        return self.store

    async def create(self, spec: SandboxSpec) -> Sandbox:
        if self.opening:
            raise self.opening.pop()
        return Sandbox(Machine(self.may_close, self.closing), None, session=SessionParts(Link(), keep_nothing))


@pytest.mark.parametrize("error", ERRORS, ids=str)
async def test_a_fault_costs_one_call_or_none(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding_module, "SWEEP_S", 0.01)
    keeper = Keeper()
    async with holding(keeper, tmp_path, Limits(), Policy(live=2, ttl_s=0.2)) as sessions:
        keeper.opening.append(error)
        with pytest.raises(ProviderDown):
            await sessions.call("s", {}, timeout_s=1)
        keeper.closing.append(error)
        keeper.store.collecting.append(error)
        await sessions.call("s", {}, timeout_s=1)
        with anyio.fail_after(30):
            while "s" in sessions:  # its time is over: the sweep goes on whatever it meets
                await anyio.sleep(0.02)
        assert (await sessions.call("t", {}, b"x", timeout_s=1)).body == b"x"


async def test_who_waits_for_room_is_woken_each_time_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "LOOK_S", 1000)
    keeper, done = Keeper(), []
    async with holding(keeper, tmp_path, Limits(), Policy(live=1)) as sessions:
        busy = sessions._get("busy")
        await busy.lock.acquire()
        await sessions._ensure_running(busy)

        async def wait(number: int) -> None:
            await sessions.lifecycle.make_room()
            done.append(number)

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                for number in range(5):
                    tasks.start_soon(wait, number)
                await anyio.sleep(0.1)
                assert not done
                await sessions.lifecycle.stop(busy)
        busy.lock.release()
    assert sorted(done) == list(range(5))


async def test_a_discarded_session_that_hangs_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discarded, "END_S", 0.5)
    monkeypatch.setattr(sandbox, "DESTROY_S", 0.5)
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
    provider = LocalProvider(sessions=SessionFolder(tmp_path / "state"), prepared=0)
    async with holding(provider, tmp_path / "state" / "held", Limits(), Policy(live=2)) as sessions:
        live = provider.slots
        assert live is not None
        mounts.unmount_below(live)
        shutil.rmtree(live)
        shutil.rmtree(tmp_path / "state")
        request = {"op": "bash", "timeout_s": 60, "output_bytes": 100}
        reply = await sessions.call("s", request, b"echo here", timeout_s=60)
        assert reply.body == b"here\n"
        await sessions.checkpoint("s")
        await sessions.close("s")
    await provider.aclose()
