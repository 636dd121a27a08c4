"""Who is served next, how many at once, and what the refused are told."""

from __future__ import annotations

import random
from collections import Counter

import anyio
import anyio.lowlevel
import pytest

from sandbox_gym.errors import PoolFull
from sandbox_gym.sandbox.pool.admission import Admission
from sandbox_gym.sandbox.pressure import Governor, cpu_pressure

pytestmark = pytest.mark.anyio


async def served(admission: Admission, wanted: list[tuple[str, int]]) -> list[str]:
    """The order in which requests that all wait already are admitted."""
    order: list[str] = []

    async def one(tenant: str, count: int) -> None:
        async with admission.admitted(tenant, count):
            order.append(tenant)
            await anyio.sleep(0)

    async with anyio.create_task_group() as tasks, admission.admitted("holder", admission.slots):
        for tenant, count in wanted:
            tasks.start_soon(one, tenant, count)
        await anyio.wait_all_tasks_blocked()
    assert (admission.held, admission.waiting) == (0, 0)
    return order


async def test_a_flood_of_one_tenant_does_not_starve_another() -> None:
    order = await served(Admission(1, 100), [("flood", 1)] * 20 + [("small", 1)] * 3)
    assert [position for position, name in enumerate(order) if name == "small"][-1] <= 6


async def test_weights_are_shares() -> None:
    admission = Admission(1, 100, {"heavy": 3})
    order = await served(admission, [("heavy", 1)] * 30 + [("light", 1)] * 30)
    assert Counter(order[:20]) == {"heavy": 15, "light": 5}


async def test_a_pair_is_not_overtaken_for_ever() -> None:
    order = await served(Admission(2, 100), [("a", 1), ("pair", 2), *[("a", 1)] * 10])
    assert order.index("pair") <= 3


async def test_pairs_pass_even_where_the_limit_is_one() -> None:
    admission = Admission(4, 100)
    admission.set_limit(1)
    assert len(await served(admission, [("a", 2)] * 5)) == 5


async def test_the_queue_is_bounded_and_says_when_to_come_again() -> None:
    admission = Admission(1, 2)
    async with anyio.create_task_group() as tasks:

        async def wait() -> None:
            async with admission.admitted():
                pass

        async with admission.admitted():
            for _ in range(2):
                tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(PoolFull) as refused:
                async with admission.admitted():
                    pass
    assert refused.value.retry_after_s >= 1


async def test_who_gives_up_leaves_the_queue_and_never_had_a_slot() -> None:
    admission = Admission(1, 10)
    async with admission.admitted("a"):
        with anyio.move_on_after(0.01):
            async with admission.admitted("b"):
                raise AssertionError("was admitted")
        assert (admission.held, admission.waiting) == (1, 0)
    async with admission.admitted("b"):
        assert admission.held == 1


async def test_a_lower_limit_waits_for_what_is_held() -> None:
    admission = Admission(4, 10)
    admission.set_limit(0)
    assert admission.limit == 1
    admission.set_limit(99)
    assert admission.limit == 4


def test_the_governor_follows_pressure_within_its_bounds() -> None:
    governor = Governor(2, 6)
    assert [governor.update(p) for p in (0.95, 0.95, 0.8, 0.95, 0.95, 0.95)] == [5, 4, 4, 3, 2, 2]
    assert [governor.update(p) for p in (0.8, 0.1, 0.1, 0.1, 0.1, 0.1)] == [2, 3, 4, 5, 6, 6]


def test_pressure_is_read_from_psi_or_else_from_the_load() -> None:
    psi = "some avg10=43.21 avg60=1.00 avg300=0.00 total=1\nfull avg10=99.00 avg60=0.00 avg300=0.00 total=0\n"
    assert cpu_pressure(psi, 99.0, 2) == pytest.approx(0.4321)
    assert cpu_pressure("", 2.0, 2) == 0.0
    assert cpu_pressure("", 4.0, 2) == 0.5
    assert cpu_pressure("", 400.0, 2) == 1.0


async def test_who_waits_is_told_by_tenant() -> None:
    admission = Admission(1, 100)

    async def one(tenant: str) -> None:
        async with admission.admitted(tenant):
            pass

    async with anyio.create_task_group() as tasks, admission.admitted("holder"):
        for tenant in ("a", "b", "a"):
            tasks.start_soon(one, tenant)
        await anyio.wait_all_tasks_blocked()
        assert admission.by_tenant() == {"a": 2, "b": 1}
    assert admission.by_tenant() == {}


async def test_who_leaves_before_it_is_told_of_its_slot_gives_it_back() -> None:
    admission = Admission(1, 10)
    with anyio.CancelScope() as left:
        left.cancel()
        async with admission.admitted():
            raise AssertionError("was admitted")
    assert (admission.held, admission.waiting) == (0, 0)
    async with anyio.create_task_group() as tasks:

        async def wait() -> None:
            async with admission.admitted():
                await anyio.sleep_forever()

        async with admission.admitted():
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
        assert admission.held == 1, "its turn came"
        tasks.cancel_scope.cancel()
    assert (admission.held, admission.waiting) == (0, 0)


@pytest.mark.parametrize("seed", range(10))
async def test_slots_of_requests_that_leave_at_any_moment_are_given_back(seed: int) -> None:
    chance, admission, most = random.Random(seed), Admission(3, 1000), 0

    async def one() -> None:
        nonlocal most
        with anyio.CancelScope() as left:
            tasks.start_soon(leave, left, chance.randrange(12))
            async with admission.admitted(chance.choice("ab"), chance.choice((1, 1, 2))):
                most = max(most, admission.held)
                for _ in range(chance.randrange(4)):
                    await anyio.lowlevel.checkpoint()

    async def leave(scope: anyio.CancelScope, steps: int) -> None:
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        scope.cancel()

    async with anyio.create_task_group() as tasks:
        for _ in range(300):
            tasks.start_soon(one)
            if chance.random() < 0.7:
                await anyio.lowlevel.checkpoint()
    assert (admission.held, admission.waiting, admission.by_tenant()) == (0, 0, {})
    assert 2 <= most <= 3
