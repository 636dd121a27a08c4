"""Boxes that stand still: whose places they take, and what becomes of those that can't go on."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from sandbox_gym.e2b_server.sandboxes.frozen import SHORT, Frozen, free_memory
from sandbox_gym.e2b_server.sandboxes.processes import Work
from sandbox_gym.e2b_server.sandboxes.records import SandboxRecord
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.errors import BoxLost, ProviderDown
from sandbox_gym.sandbox.session.session import Session
from sandbox_gym.server.access.accounts import Tenant

pytestmark = pytest.mark.anyio


class Box:
    """Says what it was asked for; `fails` in what is named there."""

    def __init__(self, *fails: str) -> None:
        self.asked: list[str] = []
        self.expired = "expired" in fails
        self.fails = fails

    def _do(self, what: str) -> None:
        self.asked.append(what)
        if what in self.fails:
            raise ProviderDown(f"{what} fails")

    async def freeze(self) -> bool:
        self._do("freeze")
        return "refuse" not in self.fails

    async def thaw(self) -> None:
        self._do("thaw")
        if "hang" in self.fails:
            await anyio.sleep_forever()

    async def aclose(self) -> None:
        self._do("aclose")


class Driver:
    def __init__(self, *fails: str) -> None:
        self.fails = fails
        self.ended = anyio.Event()

    async def suspend(self) -> None:
        return

    async def go_on(self) -> None:
        if "go_on" in self.fails:
            raise BoxLost("it is gone")


def sandbox(name: str, tenant: str, *fails: str) -> Sandbox:
    record = SandboxRecord(
        sandbox_id=name, tenant=tenant, template="base", image="python", token="", traffic_token="",
        public_traffic=True, started_at=0.0,
    )  # fmt: skip
    made = Sandbox(record, 0.0, box=cast(Session, Box(*fails)))
    made.work = Work(cast(Any, Driver(*fails)))
    return made


def boxes(sandboxes: Sequence[Sandbox]) -> list[Box]:
    return [cast(Box, one.box) for one in sandboxes]


async def frozen_of(frozen: Frozen, tenants: Sequence[Tenant], *names: str) -> tuple[list[Sandbox], list[Box]]:
    """Sandboxes that are frozen in turn, `tenant:name` each, and the boxes that they had."""
    made = [sandbox(*reversed(name.split(":"))) for name in names]
    had = boxes(made)
    for one in made:
        assert await frozen.freeze(next(t for t in tenants if t.name == one.record.tenant), one)
        assert not one.running
    return made, had


async def test_each_tenant_has_as_many_as_may_run_and_loses_its_own_oldest() -> None:
    frozen, tenants = Frozen(most=100), (Tenant("a", sandboxes=2), Tenant("b", sandboxes=1))
    made, had = await frozen_of(frozen, tenants, "a:1", "b:2", "a:3", "a:4", "b:5")
    assert [one.sandbox_id for one in made if frozen.has(one)] == ["3", "4", "5"]
    assert [box.asked[-1] for box in had] == ["aclose", "aclose", "freeze", "freeze", "freeze"]


async def test_room_is_made_of_the_longest_paused() -> None:
    frozen, tenants = Frozen(most=5), (Tenant("a", sandboxes=10),)
    made, had = await frozen_of(frozen, tenants, "a:1", "a:2", "a:3")
    await frozen.make_room(taken=2)
    assert all(map(frozen.has, made))
    await frozen.make_room(taken=4)
    assert [frozen.has(one) for one in made] == [False, False, True]
    await frozen.make_room(taken=6)
    assert not any(map(frozen.has, made))
    assert {box.asked[-1] for box in had} == {"aclose"}


async def test_while_memory_is_short_one_after_the_other_goes() -> None:
    left = 1.0
    frozen, tenants = Frozen(100, lambda: left), (Tenant("a", sandboxes=10),)
    made, _ = await frozen_of(frozen, tenants, "a:1", "a:2")
    await frozen.trim()
    assert all(map(frozen.has, made))
    left = SHORT / 2
    assert not await frozen.freeze(tenants[0], sandbox("3", "a")), "nor is another one kept"
    await frozen.trim()
    assert [frozen.has(one) for one in made] == [False, True]
    await frozen.trim()
    await frozen.trim()
    assert not any(map(frozen.has, made))


@pytest.mark.parametrize("fails", ["expired", "lost"])
async def test_what_is_too_old_or_lost_is_given_up(fails: str) -> None:
    frozen, one = Frozen(100), sandbox("1", "a", fails)
    box, work = cast(Box, one.box), one.work
    assert await frozen.freeze(Tenant("a"), one)
    if fails == "lost":
        assert work is not None
        work.envd.ended.set()
    await frozen.trim()
    assert not frozen.has(one)
    assert box.asked == ["freeze", "aclose"]
    assert not await frozen.thaw(one)


@pytest.mark.parametrize("fails", ["freeze", "refuse"])
async def test_a_box_that_does_not_freeze_stays_its_sandbox_s(fails: str) -> None:
    frozen, one = Frozen(100), sandbox("1", "a", fails)
    assert not await frozen.freeze(Tenant("a"), one)
    assert one.running
    assert not frozen.has(one)


@pytest.mark.parametrize("fails", ["thaw", "go_on", "hang"])
async def test_a_box_that_does_not_go_on_is_ended(fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox_gym.e2b_server.sandboxes.frozen.THAW_S", 0.05)
    frozen, one = Frozen(100), sandbox("1", "a", fails)
    box = cast(Box, one.box)
    assert await frozen.freeze(Tenant("a"), one)
    assert not await frozen.thaw(one)
    assert not one.running
    assert box.asked[-1] == "aclose"
    assert not await frozen.thaw(one), "and is not there any more"


async def test_who_goes_on_is_as_before() -> None:
    frozen, one = Frozen(100), sandbox("1", "a")
    before = SimpleNamespace(box=one.box, work=one.work)
    assert await frozen.freeze(Tenant("a"), one)
    assert await frozen.thaw(one)
    assert (one.box, one.work) == (before.box, before.work)
    await frozen.aclose()
    assert "aclose" not in cast(Box, one.box).asked


async def test_one_whose_end_fails_costs_no_other() -> None:
    frozen, made = Frozen(100), [sandbox("1", "a", "aclose"), sandbox("2", "a")]
    had = boxes(made)
    for one in made:
        assert await frozen.freeze(Tenant("a"), one)
    await frozen.aclose()
    assert [box.asked[-1] for box in had] == ["aclose", "aclose"]


def test_this_machine_s_memory() -> None:
    assert 0 < free_memory() <= 1
