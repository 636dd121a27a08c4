"""CPU time is the run's whole, whoever reaps its processes or nobody, and of that run alone."""

from __future__ import annotations

import dataclasses

import pytest

from sandbox_gym.contract import Outcome, Program, Run, Status
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.docker.machine import DockerMachine
from sandbox_gym.sandbox.local.machine import LocalMachine
from sandbox_gym.sandbox.podman.machine import PodmanMachine
from sandbox_gym.sandbox.sandbox import Sandbox

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

LIMITS = Limits(cpu_time_s=10, wall_time_s=60, memory_bytes=128 * MIB, processes=16)
UNREAPED = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range({times}):
    if os.fork() == 0:
        while time.process_time() < {each_s}: pass
        os._exit(0)
    try:
        os.wait()
    except ChildProcessError:
        pass  # it is gone, and its time with it
print("well")
"""
SPIN = "import time\nwhile time.process_time() < %f: pass"


async def outcomes_of(box: Sandbox, *sources: str, limits: Limits = LIMITS) -> list[Outcome]:
    runs = [Run("one", Program("fork", {"main.py": text.encode()}), limits=limits) for text in sources]
    async with box.run_all(runs) as outcomes:
        return [outcome async for outcome in outcomes]


async def test_a_child_that_nobody_reaps_counts(box: Sandbox) -> None:
    limits = dataclasses.replace(LIMITS, cpu_time_s=0.9)
    (outcome,) = await outcomes_of(box, UNREAPED.format(times=1, each_s=1.0), limits=limits)
    assert outcome.status is Status.CPU_TIME_LIMIT
    assert outcome.cpu_time_s > 0.9


async def test_children_as_short_as_one_likes_count_where_there_is_a_cgroup(box: Sandbox) -> None:
    """Elsewhere docs/guides/operator/caps.md says that looks at /proc miss them."""
    limits = dataclasses.replace(LIMITS, cpu_time_s=0.7)
    (outcome,) = await outcomes_of(box, UNREAPED.format(times=40, each_s=0.02), limits=limits)
    machine = box.machine
    in_container = isinstance(machine, DockerMachine | PodmanMachine)
    counted = in_container or (isinstance(machine, LocalMachine) and bool(machine.pids()))
    assert outcome.cpu_time_s > 0.7 or not counted
    assert outcome.status is (Status.CPU_TIME_LIMIT if outcome.cpu_time_s > 0.7 else Status.OK)


async def test_a_run_pays_for_itself_alone(box: Sandbox) -> None:
    """Neither for the runs before it in its box, nor for those of the init that it shares or begins."""
    first, idle, second, again = await outcomes_of(
        box, SPIN % 0.8, "pass", UNREAPED.format(times=1, each_s=0.5), "pass"
    )
    assert {run.status for run in (first, idle, second, again)} == {Status.OK}
    assert idle.cpu_time_s < first.cpu_time_s / 4
    assert again.cpu_time_s < second.cpu_time_s / 4
    assert 0.8 <= first.cpu_time_s < 1.2
    assert 0.4 < second.cpu_time_s < 0.9
