"""A box that dies in the middle of a verify costs time, never a wrong reward."""

from __future__ import annotations

import os
import signal
import subprocess

import anyio
import pytest

from sandbox_gym.contract import Answer, Run
from sandbox_gym.engine import local_engine
from sandbox_gym.errors import BoxLost, DeadlineExceeded, PoolFull, ProviderDown
from sandbox_gym.limits import Limits
from sandbox_gym.plans.runner import Caller
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.docker.provider import DockerProvider
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.local.machine import LocalMachine
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.sandbox.sandbox import Sandbox
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

pytestmark = pytest.mark.anyio

ROW = {"unit_tests": {"inputs": ["1", "2", "3", "4"], "outputs": ["2", "4", "6", "8"]}}
TASK = parse_task(ROW, limits=Limits(), early_stop=True)
SLOW = Answer("import time\nn = int(input())\ntime.sleep(0.3)\nprint(2 * n)")


class WatchedLocal(LocalProvider):
    """Remembers its boxes, so that a test can kill one."""

    async def create(self, spec: SandboxSpec) -> Sandbox:
        self.last = await super().create(spec)
        return self.last


class WatchedDocker(DockerProvider):
    async def create(self, spec: SandboxSpec) -> Sandbox:
        self.last = await super().create(spec)
        return self.last


def _pool(
    provider: LocalProvider | DockerProvider | FakeProvider,
    *,
    boxes: int = 2,
    queue_size: int = 8,
    box_max_tasks: int = 8,
) -> Pool:
    return Pool(provider, boxes=boxes, box_max_tasks=box_max_tasks, queue_size=queue_size)


async def _verify_and_kill(provider: WatchedLocal | WatchedDocker, kill: str) -> None:
    pool = _pool(provider)
    try:
        async with anyio.create_task_group() as tasks:

            async def later() -> None:
                with anyio.fail_after(30):
                    while not hasattr(provider, "last"):
                        await anyio.sleep(0.02)
                await anyio.sleep(0.6)
                box = provider.last
                if isinstance(box.machine, LocalMachine):
                    os.kill(box.machine.pid, signal.SIGKILL)
                else:
                    command = [os.environ.get("DOCKER", "docker"), kill, box.box_id]
                    await anyio.to_thread.run_sync(lambda: subprocess.run(command, check=True, capture_output=True))

            tasks.start_soon(later)
            verdict = (
                await local_engine(pool).verify(CodingVerifier(), TASK, SLOW, caller=Caller(deadline_s=60))
            ).verdict
    finally:
        await pool.aclose()
    assert (verdict.reward, verdict.attempts) == (1.0, 2)


async def test_sigkill_of_a_jail_is_retried_in_another() -> None:
    await _verify_and_kill(WatchedLocal(), "")


async def test_docker_kill_is_retried_in_another() -> None:
    await _verify_and_kill(WatchedDocker(), "kill")


async def test_boxes_that_keep_dying_are_our_fault() -> None:
    pool = _pool(FakeProvider(lambda run: Behaviour(lose_box=True)))
    with pytest.raises(BoxLost):
        await local_engine(pool).verify(CodingVerifier(), TASK, SLOW)
    assert pool.stats.started == 3, "each try had a box of its own"


async def test_a_provider_that_is_down_is_our_fault() -> None:
    with pytest.raises(ProviderDown):
        await local_engine(_pool(FakeProvider(down=True))).verify(CodingVerifier(), TASK, SLOW)


async def test_the_deadline_covers_waiting() -> None:
    pool = _pool(FakeProvider(), boxes=1)
    async with pool.lease("python"):
        with pytest.raises(DeadlineExceeded):
            await local_engine(pool).verify(CodingVerifier(), TASK, SLOW, caller=Caller(deadline_s=0.1))


async def test_a_full_queue_says_so() -> None:
    pool = _pool(FakeProvider(), boxes=1, queue_size=0)
    with pytest.raises(PoolFull):
        await local_engine(pool).verify(CodingVerifier(), TASK, SLOW)


async def test_a_clean_box_is_reused_and_a_worn_one_replaced() -> None:
    pool = _pool(FakeProvider(), boxes=1, box_max_tasks=2)
    engine = local_engine(pool)
    for _ in range(4):
        await engine.verify(CodingVerifier(), TASK, SLOW)
    assert (pool.stats.started, pool.stats.reused) == (2, 2)
    await pool.aclose()


async def test_many_at_once_lose_none() -> None:
    provider = LocalProvider()
    pool = _pool(provider, boxes=3, box_max_tasks=64, queue_size=300)
    engine, rewards = local_engine(pool), []

    async def one(index: int) -> None:
        answer = Answer("print(2 * int(input()))" if index % 2 else "print(3 * int(input()))")
        rewards.append((index % 2, (await engine.verify(CodingVerifier(), TASK, answer)).verdict.reward))

    async with anyio.create_task_group() as tasks:
        for index in range(200):
            tasks.start_soon(one, index)
    await pool.aclose()
    assert len(rewards) == 200
    assert all(float(right) == reward for right, reward in rewards)


async def test_nothing_is_left_of_local_boxes() -> None:
    provider = LocalProvider()
    boxes = [await provider.create(SandboxSpec()) for _ in range(3)]
    async with boxes[0].run_all([Run("one", TASK_PROGRAM, b"1")]) as outcomes:
        assert (await anext(outcomes)).stdout == b"2\n"
    machines = [box.machine for box in boxes if isinstance(box.machine, LocalMachine)]
    groups = [machine.group for machine in machines]
    assert len(machines) == len(boxes)
    for box in boxes:
        await box.aclose()
        await box.aclose()
    assert all(group is None or not any(path.exists() for path in group.folders.values()) for group in groups)
    for machine in machines:
        with pytest.raises(ProcessLookupError):
            os.kill(machine.pid, 0)


TASK_PROGRAM = CodingVerifier().plan(TASK, Answer("print(2 * int(input()))")).steps[0].program  # type: ignore[union-attr]
