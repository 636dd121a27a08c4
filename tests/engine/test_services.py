"""A service's workers: each request has its own budget, none harms its neighbour, a lost box is another box."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncIterator, Callable

import anyio
import pytest

from sandbox_gym.contract import Outcome, Query, Service, Status
from sandbox_gym.errors import BoxLost, PoolFull, ProviderDown, ToolchainMissing
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.local.machine import LocalMachine
from sandbox_gym.sandbox.pool.services import Services, serving
from tests.conftest import make_real
from tests.e2b.servers import PoolServer

pytestmark = pytest.mark.anyio
SOURCE = b"""
import os, sys, time
import service_worker

def handle(body, say):
    say("begun")
    word = body.decode()
    if word == "spin":
        while True: pass
    if word == "sleep":
        time.sleep(60)
    if word == "hoard":
        kept = []
        while True: kept.append(bytearray(16 << 20))
    if word == "raise":
        raise KeyError("no")
    if word == "exit":
        os._exit(3)
    if word == "segv":
        os.kill(os.getpid(), 11)
    if word == "flood":
        return b"x" * (1 << 20)
    if word == "pid":
        return str(os.getpid()).encode()
    return b"<" + body + b">"

service_worker.serve(handle, int(os.environ["WORKERS"]), int(os.environ["WORKER_MEMORY_BYTES"]))
"""
TOY = Service("toy", {"main.py": SOURCE}, worker_memory_bytes=128 * MIB)
LIMITS = Limits(cpu_time_s=0.5, wall_time_s=60.0)
SHORT = Limits(cpu_time_s=0.5, wall_time_s=1.0)


@pytest.fixture(params=["local", "docker", "e2b-on-local"])
async def services(request: pytest.FixtureRequest, pools: Callable[[str], PoolServer]) -> AsyncIterator[Services]:
    provider = make_real(request.param, pools)
    async with serving(provider, workers=2, queue_size=50) as opened:
        yield opened
    await provider.aclose()


async def ask(services: Services, word: str, limits: Limits = LIMITS) -> Outcome:
    outcome, _box, _queued_s = await services.ask(Query("q", TOY, word.encode(), limits))
    return outcome


async def test_answers(services: Services) -> None:
    assert (await ask(services, "a")).stdout == b"<a>"
    many: list[bytes] = []

    async def one(number: int) -> None:
        many.append((await ask(services, str(number))).stdout)

    async with anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(one, number)
    assert sorted(many) == sorted(f"<{number}>".encode() for number in range(40))
    assert services.started == 1


@pytest.mark.parametrize(
    ("word", "status", "detail"),
    [
        ("spin", Status.CPU_TIME_LIMIT, "begun"),
        ("sleep", Status.WALL_TIME_LIMIT, "begun"),
        ("hoard", Status.MEMORY_LIMIT, "begun no more memory"),
        ("raise", Status.RUNTIME_ERROR, "begun KeyError"),
        ("exit", Status.RUNTIME_ERROR, "begun exit code 3"),
        ("segv", Status.RUNTIME_ERROR, "begun signal 11"),
        ("flood", Status.OUTPUT_LIMIT, "begun an answer of 1048576 bytes"),
    ],
)
async def test_a_bad_request_harms_nobody(services: Services, word: str, status: Status, detail: str) -> None:
    other = (await ask(services, "pid")).stdout
    found: list[Outcome] = []

    async def bad() -> None:
        found.append(await ask(services, word, SHORT if word == "sleep" else LIMITS))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bad)
        await anyio.sleep(0.05)
        answers = {(await ask(services, "pid")).stdout for _ in range(20)}
    assert (found[0].status, found[0].detail) == (status, detail)
    assert other in answers or len(answers) <= 2
    assert (await ask(services, "after")).stdout == b"<after>"
    assert services.started == 1


async def test_cpu_time_is_the_budget_not_wall_time(services: Services) -> None:
    outcome = await ask(services, "spin", Limits(cpu_time_s=0.3, wall_time_s=30))
    assert outcome.status is Status.CPU_TIME_LIMIT
    assert 0.2 < outcome.cpu_time_s < 1.0


async def test_who_gives_up_frees_the_worker(services: Services) -> None:
    patient = Limits(cpu_time_s=60, wall_time_s=60)
    for _ in range(4):
        with anyio.move_on_after(0.2):
            await ask(services, "spin", patient)
    started = time.monotonic()
    with anyio.fail_after(20):
        assert (await ask(services, "a")).stdout == b"<a>"
    assert time.monotonic() - started < 20


async def test_a_lost_box_is_ours_and_the_next_request_gets_another() -> None:
    async with serving(LocalProvider(), workers=1, queue_size=5) as services:
        await ask(services, "a")
        machine = next(iter(services._live.values())).box.machine
        assert isinstance(machine, LocalMachine)

        async def kill() -> None:
            await anyio.sleep(0.2)
            os.kill(machine.pid, signal.SIGKILL)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            with pytest.raises(BoxLost):
                await ask(services, "sleep", Limits(cpu_time_s=5, wall_time_s=20))
        assert (await ask(services, "b")).stdout == b"<b>"
        assert (services.started, services.lost) == (2, 1)


async def test_a_full_queue_is_said_at_once() -> None:
    async with serving(LocalProvider(), workers=1, queue_size=1) as services:
        await ask(services, "a")
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(ask, services, "sleep", SHORT)
                await anyio.sleep(0.05)
            with pytest.raises(PoolFull):
                await ask(services, "b")


async def test_what_can_not_start_says_why() -> None:
    async with serving(LocalProvider(), workers=1, queue_size=5) as services:
        lacks = Service("lacks", {"main.py": b"import no_such_package"}, remedy="install it")
        with pytest.raises(ToolchainMissing, match=r"no_such_package.*install it"):
            await services.ask(Query("q", lacks, b"", LIMITS))
        broken = Service("broken", {"main.py": b"raise ValueError('bad')"})
        with pytest.raises(ProviderDown, match="ValueError: bad"):
            await services.ask(Query("q", broken, b"", LIMITS))
    async with serving(FakeProvider(), workers=1, queue_size=5) as services:
        with pytest.raises(ProviderDown, match="holds no services"):
            await ask(services, "a")


@pytest.mark.parametrize("word", [b"no frame at all" * 9, b"\0\0\0\2\0\0\0\0{}", b"\xff" * 64])
async def test_a_service_that_answers_nonsense_is_lost(word: bytes) -> None:
    source = b"import os, time\nos.write(3, %r)\ntime.sleep(60)\n" % word
    async with serving(LocalProvider(), workers=1, queue_size=5) as services:
        with pytest.raises(BoxLost):
            await services.ask(Query("q", Service("liar", {"main.py": source}), b"", LIMITS))
