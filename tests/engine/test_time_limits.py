"""A time limit that a busy machine may have caused is tried once more on a quiet slot; nothing else is."""

from __future__ import annotations

import pytest

from sandbox_gym.contract import Answer, Run, TestStatus
from sandbox_gym.engine import Engine
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.sandbox.pool import Pool
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

pytestmark = pytest.mark.anyio
LIMITS = Limits(cpu_time_s=2.0, wall_time_s=8.0)
TASK = parse_task({"unit_tests": {"inputs": ["1", "2"], "outputs": ["2", "4"]}}, limits=LIMITS, early_stop=True)
ANSWER = Answer("```python\nprint(2 * int(input()))\n```")


class Program:
    """Right answers; the first run of input 1 takes the times it is told to, the next ones none."""

    def __init__(self, cpu_time_s: float, wall_time_s: float) -> None:
        self._slow = [(cpu_time_s, wall_time_s)]
        self.runs = 0

    def __call__(self, run: Run) -> Behaviour:
        self.runs += 1
        right = str(2 * int(run.stdin)).encode()
        if run.stdin == b"1" and self._slow:
            cpu, wall = self._slow.pop()
            return Behaviour(stdout=right, cpu_time_s=cpu, wall_time_s=wall)
        return Behaviour(stdout=right)


async def verify(program: Program, *, busy: bool) -> tuple[float, TestStatus]:
    pool = Pool(FakeProvider(program), boxes=2, box_max_tasks=8, queue_size=8)
    verdict = await Engine(pool, busy=lambda: busy).verify(CodingVerifier(), TASK, ANSWER)
    return verdict.reward, verdict.tests[0].status


async def test_a_little_late_on_a_busy_machine_is_tried_again() -> None:
    program = Program(cpu_time_s=2.2, wall_time_s=2.5)
    assert await verify(program, busy=True) == (1.0, TestStatus.PASSED)
    assert program.runs == 3


async def test_starved_on_a_busy_machine_is_tried_again() -> None:
    assert await verify(Program(cpu_time_s=1.0, wall_time_s=9.0), busy=True) == (1.0, TestStatus.PASSED)


@pytest.mark.parametrize(
    ("cpu_time_s", "wall_time_s", "busy"),
    [
        pytest.param(2.2, 2.5, False, id="a little late on an idle machine"),
        pytest.param(5.0, 5.5, True, id="far too late"),
        pytest.param(0.01, 9.0, True, id="asleep"),
    ],
)
async def test_what_is_no_doubt_counts_at_once(cpu_time_s: float, wall_time_s: float, busy: bool) -> None:
    program = Program(cpu_time_s, wall_time_s)
    assert await verify(program, busy=busy) == (0.0, TestStatus.TIME_LIMIT)
    assert program.runs == 1


async def test_late_twice_is_late() -> None:
    def late(run: Run) -> Behaviour:
        return Behaviour(stdout=str(2 * int(run.stdin)).encode(), cpu_time_s=2.3, wall_time_s=2.5)

    pool = Pool(FakeProvider(late), boxes=2, box_max_tasks=8, queue_size=8)
    verdict = await Engine(pool, busy=lambda: True).verify(CodingVerifier(), TASK, ANSWER)
    assert (verdict.reward, verdict.contest) == (0.0, "TLE")
