"""What happens around a sandbox is never its program's fault: memory and processes short above it, a killed init."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import pytest

from sandbox_gym.contract import Answer, Outcome, Plan, Program, Run, Status, TestStatus
from sandbox_gym.engine import Engine, local_engine
from sandbox_gym.errors import BoxLost
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.local.cgroups import Cgroups
from sandbox_gym.sandbox.local.machine import LocalMachine
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.sandbox.sandbox import Sandbox
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from tests.processes import text_of

pytestmark = pytest.mark.anyio
TASK = parse_task({"unit_tests": {"inputs": ["1"], "outputs": ["2"]}}, limits=Limits(), early_stop=True)
HUNGRY = Answer("held = bytearray(200_000_000)\nprint(2 * int(input()))")
GREEDY = Answer("held = []\nwhile True: held.append(bytearray(10_000_000))")
THREADS = Answer(
    "import threading, time\n"
    "all = [threading.Thread(target=time.sleep, args=(0.3,)) for _ in range(20)]\n"
    "for one in all: one.start()\n"
    "for one in all: one.join()\n"
    "print(2 * int(input()))"
)
SLEEPER = Answer("import time\ntime.sleep(1.5)\nprint(2 * int(input()))")


@contextmanager
def above(tmp_path: Path) -> Iterator[tuple[Cgroups, Path, Path]]:
    """Groups below one of the test's own: (them, the memory group above, the pids group above)."""
    root, name = Path("/sys/fs/cgroup"), f"sandbox-gym-test-{os.getpid()}"
    if (root / "cgroup.controllers").exists():
        folders = {"": root / name}
        folders[""].mkdir()
        cgroups = Cgroups(folders[""])
    else:
        folders = {controller: root / controller / name for controller in ("memory", "pids", "cpuacct")}
        for controller, folder in folders.items():
            folder.mkdir()
            (tmp_path / controller).symlink_to(folder)
        cgroups = Cgroups(tmp_path)
    try:
        yield cgroups, folders.get("memory", folders.get("", root)), folders.get("pids", folders.get("", root))
    finally:
        for folder in folders.values():
            remove(folder / "sandbox_gym")
            folder.rmdir()


def remove(folder: Path) -> None:
    """A group, and those below it, once their last processes have left."""
    deadline = time.monotonic() + 30
    for below in [*(one for one in folder.iterdir() if one.is_dir()), folder]:
        while below.exists():
            try:
                below.rmdir()
            except OSError:
                assert time.monotonic() < deadline, f"{below} is busy"
                time.sleep(0.05)


def set_limit(folder: Path, v1: str, v2: str, value: int) -> None:
    name = v1 if (folder / v1).exists() else v2
    (folder / name).write_text(str(value))


@asynccontextmanager
async def engine(provider: LocalProvider) -> AsyncIterator[Engine]:
    pool = Pool(provider, boxes=2, box_max_tasks=8, queue_size=8)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pool.run)
        try:
            yield local_engine(pool)
        finally:
            with anyio.CancelScope(shield=True):
                await pool.aclose()
            tasks.cancel_scope.cancel()


async def test_memory_that_is_short_above_the_sandboxes_is_no_verdict(tmp_path: Path) -> None:
    with above(tmp_path) as (groups, memory, _pids):
        provider = LocalProvider()
        provider.jails.cgroups = groups
        async with engine(provider) as opened:
            set_limit(memory, "memory.limit_in_bytes", "memory.max", 150 * MIB)
            with pytest.raises(BoxLost, match="short of memory"):
                await opened.verify(CodingVerifier(), TASK, HUNGRY)
            set_limit(memory, "memory.limit_in_bytes", "memory.max", 4096 * MIB)
            assert (await opened.verify(CodingVerifier(), TASK, HUNGRY)).verdict.reward == 1.0
            verdict = (await opened.verify(CodingVerifier(), TASK, GREEDY)).verdict
            assert (verdict.reward, verdict.tests[0].status) == (0.0, TestStatus.MEMORY_LIMIT)


async def test_processes_that_are_short_above_the_sandboxes_are_no_verdict(tmp_path: Path) -> None:
    with above(tmp_path) as (groups, _memory, pids):
        provider = LocalProvider()
        provider.jails.cgroups = groups
        async with engine(provider) as opened:
            set_limit(pids, "pids.max", "pids.max", 24)
            with pytest.raises(BoxLost, match="process cap above"):
                await opened.verify(CodingVerifier(), TASK, THREADS)
            set_limit(pids, "pids.max", "pids.max", 500)
            assert (await opened.verify(CodingVerifier(), TASK, THREADS)).verdict.reward == 1.0


def inits_of(box: LocalMachine) -> set[int]:
    """PID 1 of a namespace that lies in another of the box's: its runs' init."""
    found = set()
    for pid in box.pids():
        numbers = re.search(r"^NSpid:(.*)", text_of(pid, "status"), re.MULTILINE)
        if numbers and len(numbers[1].split()) >= 4 and numbers[1].split()[-1] == "1":
            found.add(pid)
    return found


async def test_a_killed_init_is_tried_again() -> None:
    class Watched(LocalProvider):
        machines: list[LocalMachine] = []

        async def create(self, spec: SandboxSpec) -> Sandbox:
            box = await super().create(spec)
            assert isinstance(box.machine, LocalMachine)
            self.machines.append(box.machine)
            return box

    provider = Watched()
    async with engine(provider) as opened, anyio.create_task_group() as tasks:

        async def kill() -> None:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                for machine in provider.machines:
                    for pid in inits_of(machine):
                        os.kill(pid, signal.SIGKILL)
                        return
                await anyio.sleep(0.05)

        tasks.start_soon(kill)
        verdict = (await opened.verify(CodingVerifier(), TASK, SLEEPER)).verdict
    assert (verdict.reward, verdict.attempts, verdict.tamper) == (1.0, 2, ())


async def test_an_unexplained_kill_is_tried_again_where_the_place_is_as_it_was() -> None:
    """A run that works in its own place changes it, so that the same box would run another thing."""
    for workdir, boxes in (("", 1), ("/workspace", 2)):
        ran: list[Run] = []

        def behave(run: Run, ran: list[Run] = ran) -> Behaviour:
            ran.append(run)
            return Behaviour(signal=signal.SIGKILL) if len(ran) == 1 else Behaviour(stdout=b"done")

        provider = FakeProvider(behave)
        opened = local_engine(Pool(provider, boxes=2, box_max_tasks=8, queue_size=8))
        program = Program("exec", {}, argv=("tests",), workdir=workdir)
        state = await opened.run(Plan((Run("tests", program),)))
        outcome = state.outcomes[0]
        assert isinstance(outcome, Outcome)
        assert (outcome.status, outcome.stdout, len(ran)) == (Status.OK, b"done", 2)
        assert opened.stats()["crashes"] == boxes - 1


@pytest.mark.parametrize("attempts", [1, 2, 3])
async def test_a_program_that_kills_itself_each_time_is_its_own_fault(attempts: int) -> None:
    """However few tries there are: no verdict would be a way out."""
    for workdir in ("", "/workspace"):
        provider = FakeProvider(lambda run: Behaviour(signal=signal.SIGKILL))
        opened = local_engine(Pool(provider, boxes=2, box_max_tasks=8, queue_size=8), attempts=attempts)
        state = await opened.run(Plan((Run("tests", Program("exec", {}, argv=("tests",), workdir=workdir)),)))
        outcome = state.outcomes[0]
        assert isinstance(outcome, Outcome)
        assert (outcome.status, outcome.signal) == (Status.RUNTIME_ERROR, signal.SIGKILL)


async def test_a_box_lost_between_two_doubts_leaves_no_way_out() -> None:
    ends = iter([Behaviour(signal=signal.SIGKILL), Behaviour(lose_box=True), Behaviour(signal=signal.SIGKILL)])
    opened = local_engine(
        Pool(FakeProvider(lambda run: next(ends)), boxes=2, box_max_tasks=8, queue_size=8), attempts=3
    )
    state = await opened.run(Plan((Run("tests", Program("exec", {}, argv=("tests",), workdir="/workspace")),)))
    outcome = state.outcomes[0]
    assert isinstance(outcome, Outcome)
    assert outcome.signal == signal.SIGKILL
