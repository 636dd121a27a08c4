"""A lost box is ours until the kernel says otherwise; a frozen one is noticed long before its program's wall limit."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Outcome, Program, Run, Status, TestStatus
from sandbox_gym.engine import Engine, local_engine, open_engine
from sandbox_gym.errors import BoxLost
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.docker.machine import DockerMachine
from sandbox_gym.sandbox.docker.provider import DockerProvider
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.local.machine import LocalMachine
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.sandbox.sandbox import Sandbox
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

pytestmark = pytest.mark.anyio
TASK = parse_task({"unit_tests": {"inputs": ["1", "2"], "outputs": ["2", "4"]}}, limits=Limits(), early_stop=True)
ANSWER = Answer("print(2 * int(input()))")


def engine(behave: Callable[[Run], Behaviour]) -> Engine:
    return local_engine(Pool(FakeProvider(behave), boxes=2, box_max_tasks=8, queue_size=8))


@pytest.mark.parametrize("memory", [True, False], ids=["memory", "processes"])
async def test_two_boxes_killed_with_evidence_are_the_programs_fault_now_and_later(memory: bool) -> None:
    runs = 0

    def kill(run: Run) -> Behaviour:
        nonlocal runs
        runs += 1
        return Behaviour(lose_box=True, oom_kills=int(memory), crowded=not memory)

    opened = engine(kill)
    verdict = (await opened.verify(CodingVerifier(), TASK, ANSWER)).verdict
    assert (verdict.reward, verdict.attempts, runs) == (0.0, 2, 2)
    assert verdict.tests[0].status is (TestStatus.MEMORY_LIMIT if memory else TestStatus.TIME_LIMIT)
    assert verdict.tamper == ("sandbox_killed",)
    again = (await opened.verify(CodingVerifier(), TASK, ANSWER)).verdict
    assert (again.reward, again.attempts, runs) == (0.0, 0, 2)
    other = Answer("print(1)")
    await opened.verify(CodingVerifier(), TASK, other)
    assert runs == 4


async def test_without_evidence_it_is_ours() -> None:
    opened = engine(lambda run: Behaviour(lose_box=True))
    for _ in range(2):
        with pytest.raises(BoxLost):
            await opened.verify(CodingVerifier(), TASK, ANSWER)
    assert b'sandbox_crashes_total{cause="unexplained"} 6.0' in opened.metrics.text()


async def test_one_kill_with_evidence_and_a_run_that_lives() -> None:
    deaths = iter([True])

    def once(run: Run) -> Behaviour:
        if next(deaths, False):
            return Behaviour(lose_box=True, oom_kills=1)
        return Behaviour(stdout=str(2 * int(run.stdin)).encode())

    verdict = (await engine(once).verify(CodingVerifier(), TASK, ANSWER)).verdict
    assert (verdict.reward, verdict.attempts) == (1.0, 2)


def freeze(box: Sandbox) -> None:
    if isinstance(box.machine, LocalMachine):
        for pid in box.machine.pids():
            os.kill(pid, signal.SIGSTOP)
    else:
        assert isinstance(box.machine, DockerMachine)
        command = [os.environ.get("DOCKER", "docker"), "pause", str(box.machine.container.id)]
        subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize("make", [LocalProvider, DockerProvider])
async def test_a_frozen_box_is_lost_long_before_the_wall_limit(
    make: Callable[[], LocalProvider | DockerProvider],
) -> None:
    provider = make()
    box = await provider.create(SandboxSpec())
    limits = Limits(cpu_time_s=60, wall_time_s=120)
    program = Program("fork", {"main.py": b"import time\ntime.sleep(100)"})
    started = time.monotonic()
    try:
        async with anyio.create_task_group() as tasks:

            async def later() -> None:
                await anyio.sleep(1)
                await anyio.to_thread.run_sync(freeze, box)

            tasks.start_soon(later)
            with pytest.raises(BoxLost, match="heartbeat"):
                async with box.run_all([Run("sleeper", program, limits=limits)]) as outcomes:
                    await anext(outcomes)
        assert time.monotonic() - started < 60
    finally:
        await box.aclose()
        await provider.aclose()


@pytest.mark.parametrize("make", [LocalProvider, DockerProvider])
async def test_a_sleeping_program_is_not_a_frozen_box(make: Callable[[], LocalProvider | DockerProvider]) -> None:
    provider = make()
    box = await provider.create(SandboxSpec())
    program = Program("fork", {"main.py": b"import time\ntime.sleep(2.5)\nprint('awake')"})
    seen: list[Outcome] = []
    async with box.run_all([Run("sleeper", program, limits=Limits(wall_time_s=30))] * 2) as outcomes:
        seen = [outcome async for outcome in outcomes]
    assert [(one.status, one.stdout) for one in seen] == [(Status.OK, b"awake\n")] * 2
    await box.aclose()
    await provider.aclose()


@pytest.mark.parametrize("make", [LocalProvider, DockerProvider])
async def test_no_task_answers_for_an_earlier_ones_memory(make: Callable[[], LocalProvider | DockerProvider]) -> None:
    provider = make()
    box = await provider.create(SandboxSpec())
    hungry = Program("fork", {"main.py": b"kept = []\nwhile True: kept.append(bytes(1_000_000) + b'x')"})
    async with box.run_all([Run("hungry", hungry, limits=Limits(memory_bytes=64 << 20))]) as outcomes:
        assert (await anext(outcomes)).status is Status.MEMORY_LIMIT
    again = await box.reset()
    assert again == isinstance(box.machine, LocalMachine), (
        "an Engine's word stays as it is: such a box is for no other task"
    )
    evidence = await box.evidence()
    assert not evidence.points_at_program
    await box.aclose()
    await provider.aclose()


END_THE_BOX = """
import os
open("/proc/self/oom_score_adj", "w").write("0")
kept = [os.memfd_create(str(number), 0) for number in range(10)]
script = "".join(f"head -c 60000000 /dev/zero > /proc/self/fd/{fd}; " for fd in kept)
os.execv("/bin/sh", ["sh", "-c", script])
"""


@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_who_has_the_kernel_end_the_supervisor_is_at_fault(provider: str, tmp_path: Path) -> None:
    """Nothing of its memory is its processes' own, so that the largest process is the supervisor. Before it every box
    has had a task that went over its memory cap."""
    given = {"provider": provider, "boxes": 2, "state_dir": tmp_path}
    caps = Limits(memory_bytes=128 * MIB)
    task = parse_task({"unit_tests": {"inputs": ["1"], "outputs": ["2"]}}, limits=caps, early_stop=True)
    async with open_engine(Settings.model_validate(given)) as opened:
        for number in range(2):
            hungry = Answer(f"kept = [{number}]\nwhile True: kept.append(bytes(1_000_000) + b'x')")
            verdict = (await opened.verify(CodingVerifier(), task, hungry)).verdict
            assert (verdict.tests[0].status, verdict.attempts) == (TestStatus.MEMORY_LIMIT, 1)
        verdict = (await opened.verify(CodingVerifier(), task, Answer(END_THE_BOX))).verdict
    assert (verdict.reward, verdict.tests[0].status, verdict.attempts) == (0.0, TestStatus.MEMORY_LIMIT, 2)
