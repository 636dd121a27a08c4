"""Whatever the machine refuses, at whichever call: a right verdict or an explicit none, and it serves again after."""

from __future__ import annotations

import errno
import gc
import itertools
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import Process

from sandbox_gym.contract import Answer, Outcome, Run
from sandbox_gym.engine import Engine, local_engine
from sandbox_gym.errors import BoxLost, ProviderDown, Unavailable
from sandbox_gym.faults import SHORTAGES, as_provider_down, is_shortage
from sandbox_gym.plans.runner import Caller
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.channel.outcomes import quantity
from sandbox_gym.sandbox.channel.socket_stream import RawSocketStream
from sandbox_gym.sandbox.fake import FakeMachine, FakeProvider, silent
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.local.cgroups import Cgroups
from sandbox_gym.sandbox.pool import pool as pool_module
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.sandbox.pool.services import _outcome
from tests.processes import children, text_of
from tests.server.fakes import EchoVerifier

pytestmark = pytest.mark.anyio

ERRORS = [
    *(OSError(number, os.strerror(number)) for number in sorted(SHORTAGES)),
    TimeoutError("below"),
    RuntimeError("can't start new thread"),
    MemoryError(),
    subprocess.TimeoutExpired("mount", 1),
]
CALLS = ["start", "run", "reset", "destroy"]


class FaultyMachine(FakeMachine):
    """Raises at one of its calls, once for each error that is left."""

    def __init__(self, call: str, errors: Iterator[Exception]) -> None:
        super().__init__(silent)
        self._call, self._errors = call, errors

    def fail(self, call: str) -> None:
        error = next(self._errors, None) if call == self._call else None
        if error is not None:
            raise error

    @asynccontextmanager
    async def run_all(self, runs: Sequence[Run]) -> AsyncIterator[AsyncIterator[Outcome]]:
        self.fail("run")
        async with super().run_all(runs) as outcomes:
            yield outcomes

    async def reset(self) -> bool:
        self.fail("reset")
        return await super().reset()

    async def destroy(self) -> None:
        await super().destroy()
        self.fail("destroy")


class FaultyProvider(FakeProvider):
    """A fake one that a machine's errors reach."""

    def __init__(self, call: str, *errors: Exception) -> None:
        super().__init__()
        self._call, self._left = call, iter(errors)

    def make_machine(self) -> FakeMachine:
        machine = FaultyMachine(self._call, self._left)
        machine.fail("start")
        return machine


@asynccontextmanager
async def engine_over(provider: FakeProvider, *, attempts: int = 3) -> AsyncIterator[tuple[Engine, Pool]]:
    pool = Pool(provider, boxes=2, box_max_tasks=2, queue_size=10)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pool.run)
        yield local_engine(pool, attempts=attempts), pool
        tasks.cancel_scope.cancel()
    await pool.aclose()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: str(error)[:24])
async def test_one_fault_costs_no_verdict(call: str, error: Exception) -> None:
    async with engine_over(FaultyProvider(call, error)) as (engine, pool):
        for _ in range(3):
            verdict = (await engine.verify(EchoVerifier(), "", Answer("x"), caller=Caller(deadline_s=30))).verdict
            assert verdict.reward == 1.0
        assert pool.stats_dict()["leased"] == 0


@pytest.mark.parametrize("call", ["start", "run"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: str(error)[:24])
async def test_a_fault_that_stays_is_explicit_and_ours_and_then_it_serves_again(call: str, error: Exception) -> None:
    async with engine_over(FaultyProvider(call, *[error] * 2), attempts=2) as (engine, _pool):
        with pytest.raises(ProviderDown):
            await engine.verify(EchoVerifier(), "", Answer("x"), caller=Caller(deadline_s=30))
        assert (
            await engine.verify(EchoVerifier(), "", Answer("x"), caller=Caller(deadline_s=30))
        ).verdict.reward == 1.0


async def test_housekeeping_outlives_what_no_provider_should_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "HOUSEKEEPING_S", 0.01)
    provider = FaultyProvider("start", ERRORS[0], ValueError("a bug"))
    pool = Pool(provider, boxes=2, box_max_tasks=2, queue_size=10)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pool.run)
        with anyio.fail_after(60):
            while not pool.warm_boxes:  # the hint lives on until it could be followed
                pool.prefetch("python", 1)
                await anyio.sleep(0.05)
        tasks.cancel_scope.cancel()
    await pool.aclose()


async def test_only_our_own_deadline_is_the_deadline() -> None:
    async with engine_over(FaultyProvider("run", *[OSError(errno.ETIMEDOUT, "timed out")] * 9)) as (engine, _pool):
        with pytest.raises(Unavailable) as caught:
            await engine.verify(EchoVerifier(), "", Answer("x"), caller=Caller(deadline_s=60))
    assert caught.value.failure_kind == "provider_down"


def test_what_is_a_shortage() -> None:
    assert all(
        is_shortage(error) for error in ERRORS if not isinstance(error, TimeoutError | subprocess.TimeoutExpired)
    )
    assert not any(is_shortage(error) for error in (ValueError(), RecursionError(), OSError(errno.ENOENT, "x")))
    with pytest.raises(RecursionError), as_provider_down("x"):
        raise RecursionError
    with pytest.raises(BoxLost), as_provider_down("x"):
        raise BoxLost


@pytest.mark.parametrize("value", [10**400, -1, float("nan"), float("inf"), True, "1", None, [1], 1e300])
def test_a_number_of_a_box_is_bounded_or_no_number(value: object) -> None:
    with pytest.raises(TypeError):
        quantity(value)
    with pytest.raises(BoxLost):
        _outcome({"status": "ok", "cpu_s": value, "wall_s": 1, "phase": "", "detail": ""}, b"", "box")


# -- the local provider: every call of the kernel that it makes for a box


@contextmanager
def failing_at(monkeypatch: pytest.MonkeyPatch, place: object, name: str, at: int, error: Exception) -> Iterator[None]:
    """The `at`-th call of `place.name` raises."""
    before: Callable[..., object] = getattr(place, name)
    calls = itertools.count()

    def call(*given: object, **named: object) -> object:
        if next(calls) == at:
            raise error
        return before(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(place, name, call)
        yield


def _left() -> tuple[int, set[str], int]:
    """Descriptors and children of this process, and groups of its boxes."""
    groups = {str(path) for path in Path("/sys/fs/cgroup").glob("**/sandbox_gym/*") if f"-{os.getpid()}-" in path.name}
    return len(os.listdir("/proc/self/fd")), groups, len(children(os.getpid()))


@pytest.mark.parametrize(
    ("place", "name", "at"),
    [
        (socket, "socketpair", 0),
        (os, "memfd_create", 0),
        (os, "memfd_create", 2),
        (os, "pidfd_open", 0),
        (anyio, "open_process", 0),
        (RawSocketStream, "__init__", 0),
        (Cgroups, "make", 0),
        (Path, "mkdir", 0),
        (Path, "mkdir", 1),
    ],
)
async def test_a_jail_that_can_t_be_made_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: object, name: str, at: int
) -> None:
    provider = LocalProvider()
    warm = await provider.create(SandboxSpec())  # what a first box alone makes is there
    await warm.aclose()
    before = _left()
    error = OSError(errno.EMFILE, "Too many open files")
    with failing_at(monkeypatch, place, name, at, error), pytest.raises(ProviderDown):
        await provider.jails.start("python", work=tmp_path, home="/home/user")
    with anyio.fail_after(20):
        while _left() != before:
            await anyio.sleep(0.05)
    box = await provider.create(SandboxSpec())
    await box.aclose()


@pytest.mark.parametrize("grouped", [True, False])
async def test_a_sandbox_that_is_given_up_while_its_jail_starts_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, grouped: bool
) -> None:
    provider, begun = LocalProvider(), anyio.Event()
    if not grouped:
        provider.jails.cgroups = None
    warm = await provider.create(SandboxSpec())
    await warm.aclose()
    await anyio.wait_all_tasks_blocked()  # its pipe is closed
    before, really = _left(), anyio.open_process

    async def observed(*args: Any, **options: Any) -> Process:
        begun.set()
        return await really(*args, **options)

    async def begin() -> None:
        await (await provider.create(SandboxSpec())).aclose()

    monkeypatch.setattr(anyio, "open_process", observed)
    for moment in range(60):
        begun = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(begin)
            await begun.wait()
            for _ in range(min(moment, 10)):
                await anyio.lowlevel.checkpoint()
            await anyio.sleep(max(0, moment - 10) / 4000)
            group.cancel_scope.cancel()
    gc.collect()  # a pipe that was left warns, and a warning is a failure
    with anyio.fail_after(20):
        while _left() != before:
            await anyio.sleep(0.05)
    assert not [pid for pid in Path("/proc").glob("[0-9]*") if f"-{os.getpid()}-" in text_of(int(pid.name), "environ")]
