"""The reaper's order and manners, over sources that fail, hang and lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from sandbox_gym.errors import ProviderDown
from sandbox_gym.sandbox.cleanup import reaper
from sandbox_gym.sandbox.cleanup.reaper import Orphan, Reaper, reaping
from sandbox_gym.sandbox.local.sessions.slots import SlotOrphans

pytestmark = pytest.mark.anyio


def orphan(kind: str, name: str = "x") -> Orphan:
    return Orphan(kind, name, "owner", "gone")


class Source:
    """Holds what it was given; removes it unless told otherwise."""

    def __init__(self, *orphans: Orphan, fails: Exception | None = None, hangs: bool = False) -> None:
        self.left = list(orphans)
        self.order: list[str] = []
        self.fails, self.hangs = fails, hangs
        self.sweeps = 0

    async def orphans(self) -> Sequence[Orphan]:
        self.sweeps += 1
        return tuple(self.left)

    async def remove(self, orphan: Orphan) -> None:
        if self.hangs:
            await anyio.sleep_forever()
        if self.fails:
            raise self.fails
        self.order.append(orphan.kind)
        self.left.remove(orphan)


class Deaf(Source):
    async def orphans(self) -> Sequence[Orphan]:
        raise ProviderDown("no daemon")


async def test_users_of_things_go_before_the_things() -> None:
    kinds = ("lock", "scratch", "snapshot", "image", "cgroup", "mount", "container", "process")
    source = Source(*map(orphan, kinds))
    swept = await Reaper({"one": source}).sweep()
    assert source.order == ["process", "container", "mount", "cgroup", "snapshot", "image", "scratch", "lock"]
    assert len(swept.removed) == 8
    assert not source.left


async def test_a_dry_run_removes_nothing() -> None:
    source = Source(orphan("scratch"))
    swept = await Reaper({"one": source}).sweep(dry_run=True)
    assert (len(swept.found), swept.removed, len(source.left)) == (1, (), 1)


@pytest.mark.parametrize("error", [OSError("busy"), ProviderDown("gone")])
async def test_failures_are_told_and_the_rest_goes_on(error: Exception) -> None:
    good = Source(orphan("scratch"))
    swept = await Reaper({"deaf": Deaf(), "bad": Source(orphan("image"), fails=error), "good": good}).sweep()
    assert [(failure.source, failure.why) for failure in swept.failures] == [("deaf", "no daemon"), ("bad", str(error))]
    assert not good.left


async def test_a_removal_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaper, "REMOVE_S", 0.05)
    good = Source(orphan("scratch"))
    with anyio.fail_after(10):
        swept = await Reaper({"stuck": Source(orphan("image"), hangs=True), "good": good}).sweep()
    assert [failure.source for failure in swept.failures] == ["stuck"]
    assert not good.left


async def test_one_sweep_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaper, "MAX_ORPHANS", 3)
    source = Source(*(orphan("scratch", str(number)) for number in range(5)))
    sweeper = Reaper({"one": source})
    assert len((await sweeper.sweep()).removed) == 3
    assert len((await sweeper.sweep()).removed) == 2


async def test_it_keeps_sweeping_and_renews_the_lease() -> None:
    source, renewed = Source(), []

    def renew() -> None:
        renewed.append(1)
        raise OSError("read-only now")

    with anyio.move_on_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Reaper({"one": source}, renew).keep_sweeping, 0.01)
            while source.sweeps < 3:
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
    assert source.sweeps >= 3
    assert len(renewed) >= 3


async def test_the_body_of_reaping_keeps_its_own_error() -> None:
    source = Source(orphan("scratch"))
    with pytest.raises(KeyError, match="mine"):  # noqa: PT012 - the body is what is tested
        async with reaping(Reaper({"one": source})):
            while source.left:
                await anyio.sleep(0.01)
            raise KeyError("mine")


@pytest.mark.anyio
async def test_a_slot_whose_root_is_being_written_is_nobodys_orphan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is not there yet once stood for the current folder."""
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "run"
    run.mkdir()
    for name, root in (("0" * 12, b""), ("1" * 12, b"state")):
        (run / f"{name}.root").write_bytes(root)
    orphans = SlotOrphans(run)
    assert await orphans.orphans() == []
    await orphans.remove(Orphan("mount", "0" * 12, "", ""))
    assert not (tmp_path / "owner.lock").exists()
    assert len(list(run.iterdir())) == 2
