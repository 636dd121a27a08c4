"""Who asks under one key at once gets one run's result, whoever leaves."""

from __future__ import annotations

import anyio
import pytest

from sandbox_gym.errors import BoxLost, RequestError, Unavailable
from sandbox_gym.journal import Key
from sandbox_gym.server.protocol.single_flight import Once

pytestmark = pytest.mark.anyio
KEY = Key("k", "body")


class Work:
    """Work that waits to be let go, and counts."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun = self.cancelled = 0
        self.go = anyio.Event()
        self.error = error

    async def __call__(self) -> int:
        self.begun += 1
        try:
            await self.go.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        return self.begun


async def settle() -> None:
    await anyio.wait_all_tasks_blocked()


async def test_many_at_once_run_once() -> None:
    work, results = Work(), []
    async with anyio.create_task_group() as group:
        once = Once[int](group)

        async def ask() -> None:
            results.append(await once.run(KEY, work))

        for _ in range(20):
            group.start_soon(ask)
        await settle()
        assert len(once) == 1
        work.go.set()
    assert sorted(results) == [(1, False)] * 19 + [(1, True)]
    assert len(once) == 0


async def test_a_leader_that_leaves_takes_nobody_with_it() -> None:
    work, results = Work(), []
    async with anyio.create_task_group() as group:
        once = Once[int](group)
        leader = anyio.CancelScope()

        async def lead() -> None:
            with leader:
                await once.run(KEY, work)

        async def follow() -> None:
            results.append(await once.run(KEY, work))

        group.start_soon(lead)
        await settle()
        group.start_soon(follow)
        await settle()
        leader.cancel()
        await settle()
        work.go.set()
    assert (results, work.cancelled) == ([(1, False)], 0)


async def test_when_all_leave_the_run_ends_and_the_next_begins_anew() -> None:
    work = Work()
    async with anyio.create_task_group() as group:
        once = Once[int](group)
        async with anyio.create_task_group() as clients:
            for _ in range(3):
                clients.start_soon(once.run, KEY, work)
            await settle()
            clients.cancel_scope.cancel()
        assert len(once) == 0
        await settle()
        assert (work.begun, work.cancelled) == (1, 1)
        work.go.set()
        assert await once.run(KEY, work) == (2, True)


async def test_one_that_comes_while_a_run_is_being_cancelled_gets_its_own() -> None:
    work = Work()
    async with anyio.create_task_group() as group:
        once = Once[int](group)
        with anyio.move_on_after(0.01):
            await once.run(KEY, work)
        work.go.set()
        assert await once.run(KEY, work) == (2, True)


async def test_an_error_is_everyones_and_is_not_kept() -> None:
    failing, errors = Work(BoxLost("gone")), []
    async with anyio.create_task_group() as group:
        once = Once[int](group)

        async def ask() -> None:
            try:
                await once.run(KEY, failing)
            except BoxLost as error:
                errors.append(str(error))

        group.start_soon(ask)
        group.start_soon(ask)
        await settle()
        failing.go.set()
        await settle()
        assert errors == ["gone", "gone"]
        right = Work()
        right.go.set()
        assert await once.run(KEY, right) == (1, True)


async def test_another_body_under_a_key_in_flight_is_refused() -> None:
    work = Work()
    async with anyio.create_task_group() as group:
        once = Once[int](group)
        group.start_soon(once.run, KEY, work)
        await settle()
        with pytest.raises(RequestError, match="another body"):
            await once.run(Key("k", "other"), work)
        work.go.set()


async def test_other_keys_run_on_their_own() -> None:
    work = Work()
    work.go.set()
    async with anyio.create_task_group() as group:
        once = Once[int](group)
        assert await once.run(KEY, work) == (1, True)
        assert await once.run(Key("j", "body"), work) == (2, True)


async def test_a_server_that_stops_leaves_nobody_waiting() -> None:
    work, errors = Work(), []
    once: Once[int]

    async def ask() -> None:
        try:
            await once.run(KEY, work)
        except Unavailable as error:
            errors.append(str(error))

    async with anyio.create_task_group() as clients, anyio.create_task_group() as group:
        once = Once[int](group)
        clients.start_soon(ask)
        await settle()
        group.cancel_scope.cancel()
    assert errors == ["the server is stopping"]
