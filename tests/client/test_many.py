"""verify_many: order, bounds, progress, and readers that leave early."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import AsyncIterator, Iterator

import anyio
import pytest

from sandbox_gym.client import AsyncClient, Client, NoVerdict, Progress
from tests.client.scripted import RIGHT, Told, scripted

ROW = {"expected_answer": "1"}


def test_in_order_or_as_they_come() -> None:
    rows = [(ROW, str(number)) for number in range(30)]
    others = threading.Semaphore(0)

    def late(number: int, body: dict[str, object]) -> Told:
        """Row 0 waits for ten others."""
        for _ in range(0 if body["answer"] != "0" else 10):
            others.acquire(timeout=30)
        others.release()
        return Told()

    for ordered in (True, False):
        with scripted(late) as server, Client(server.url) as client:
            indexes = [found.index for found in client.verify_many(rows, at_once=4, ordered=ordered)]
        assert sorted(indexes) == list(range(30))
        assert (indexes[0] == 0) is ordered
        others = threading.Semaphore(0)


def test_rows_are_read_as_there_is_room_and_no_more_are_open() -> None:
    open_now, most, read = 0, 0, 0
    lock = threading.Lock()

    def count(number: int, body: object) -> Told:
        nonlocal open_now, most
        with lock:
            open_now += 1
            most = max(most, open_now)
        time.sleep(0.01)
        with lock:
            open_now -= 1
        return Told()

    def rows() -> Iterator[tuple[dict[str, object], str]]:
        nonlocal read
        for number in range(100):
            read += 1
            yield dict(ROW), str(number)

    with scripted(count) as server, Client(server.url) as client:
        for done, _ in enumerate(client.verify_many(rows(), at_once=3)):
            assert read <= done + 1 + 3 * 4 + 2
    assert read == 100
    assert 2 <= most <= 3


def test_keys_and_progress() -> None:
    told: list[Progress] = []
    broken = {"mask_sample": True, "failure_kind": "x:checker_failed"}

    def script(number: int, body: dict[str, object]) -> Told:
        again = Told(503, {}, {"Retry-After": "0"})
        return Told(200, broken if body["answer"] == "2" else RIGHT) if number else again

    with scripted(script) as server, Client(server.url) as client:
        rows = [{**ROW, "answer": str(number)} for number in range(5)]
        found = list(client.verify_many(rows, at_once=1, key_prefix="run7", progress=told.append))
    assert [each.reward for each in found] == [1.0, 1.0, None, 1.0, 1.0]
    assert sorted(set(server.keys)) == [f"run7/{number}" for number in range(5)]
    assert [one.done for one in told] == [1, 2, 3, 4, 5]
    assert (told[-1].without_verdict, told[-1].requests) == (1, 6)


def test_the_first_without_a_verdict_ends_all_where_it_is_to() -> None:
    with scripted(lambda number, body: Told(200, {"mask_sample": True, "failure_kind": "x:y"})) as server:
        with Client(server.url) as client, pytest.raises(NoVerdict):
            list(client.verify_many([(ROW, "x")] * 500, at_once=2, on_no_verdict="raise"))
        assert len(server.asked) < 50


def test_what_goes_wrong_around_it_is_raised() -> None:
    def rows() -> Iterator[tuple[dict[str, object], str]]:
        yield dict(ROW), "x"
        raise LookupError("no more")

    def progress(told: Progress) -> None:
        raise LookupError("no progress")

    with scripted(lambda number, body: Told()) as server, Client(server.url) as client:
        with pytest.raises(LookupError, match="no more"):
            list(client.verify_many(rows()))
        with pytest.raises(LookupError, match="no progress"):
            list(client.verify_many([(ROW, "x")], progress=progress))
        assert client.verify(ROW, "x").reward == 1.0


def test_who_leaves_early_ends_the_rest() -> None:
    with scripted(lambda number, body: Told()) as server, Client(server.url) as client:
        for _ in client.verify_many([(ROW, "x")] * 1000, at_once=2, ordered=False):
            break
        before = len(server.asked)
        assert client.verify(ROW, "y").reward == 1.0
        assert len(server.asked) - before <= 2 * 2 + 1


@pytest.mark.anyio
async def test_from_one_task_to_another_and_out_of_a_scope() -> None:
    async def rows() -> AsyncIterator[tuple[dict[str, object], str]]:
        for number in range(50):
            await anyio.sleep(0)
            yield dict(ROW), str(number)

    with scripted(lambda number, body: Told()) as server:
        async with AsyncClient(server.url) as client:
            many = client.verify_many(rows(), at_once=2)
            with anyio.move_on_after(5):
                assert (await anext(many)).index == 0

            async def another() -> None:
                assert (await anext(many)).index == 1

            async with anyio.create_task_group() as group:
                group.start_soon(another)
            assert (await anext(many)).index == 2
            await many.aclose()
            assert (await client.verify(ROW, "x")).reward == 1.0


def test_threads_share_a_client_and_a_child_has_its_own() -> None:
    with scripted(lambda number, body: Told()) as server:
        client = Client(server.url)
        rewards: list[float] = []
        threads = [threading.Thread(target=lambda: rewards.append(client.verify(ROW, "x").reward)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert rewards == [1.0] * 8
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # there are threads, as in a trainer
            child = os.fork()
        if not child:
            os._exit(int(client.verify(ROW, "x", deadline_s=20).reward))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        client.close()
        client.close()
        assert client.verify(ROW, "x").reward == 1.0
        client.close()
