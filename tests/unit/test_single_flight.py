"""Work that outlives its callers: it goes on without them, and the next one finds it further on."""

from __future__ import annotations

import anyio
import pytest

from sandbox_gym.errors import BoxLost, Unavailable
from sandbox_gym.single_flight import SingleFlight

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("outlives", "begun"), [(True, 1), (False, 2)])
async def test_work_goes_on_without_its_callers_where_it_is_to(outlives: bool, begun: int) -> None:
    go, calls = anyio.Event(), 0

    async def work() -> int:
        nonlocal calls
        calls += 1
        await go.wait()
        return calls

    async with anyio.create_task_group() as group:
        flights = SingleFlight[int](group, outlives=outlives)
        with anyio.move_on_after(0.01) as left:
            await flights.run("k", work)
        assert left.cancelled_caught
        assert ("k" in flights) is outlives
        go.set()
        assert await flights.run("k", work) == (begun, not outlives)
    assert len(flights) == 0


async def test_a_failure_that_nobody_waits_for_ends_nothing_else() -> None:
    async def work() -> int:
        await anyio.sleep(0.01)
        raise BoxLost("x")

    async with anyio.create_task_group() as group:
        flights = SingleFlight[int](group, outlives=True)
        with anyio.move_on_after(0.001):
            await flights.run("k", work)
        while len(flights):
            await anyio.sleep(0.005)
        with pytest.raises(BoxLost):
            await flights.run("k", work)


async def test_who_waits_is_told_when_the_server_stops() -> None:
    told: list[str] = []
    async with anyio.create_task_group() as callers, anyio.create_task_group() as group:
        flights = SingleFlight[None](group, outlives=True)

        async def ask() -> None:
            try:
                await flights.run("k", anyio.sleep_forever)
            except Unavailable as error:
                told.append(str(error))

        callers.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert told == ["the server is stopping"]
