"""A time limit that a busy machine may have caused is tried once more on a quiet slot; nothing else is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sandbox_gym.contract import Answer, Run, TestStatus, Verdict
from sandbox_gym.engine import local_engine
from sandbox_gym.errors import Starved
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from sandbox_gym.verifiers.coding.task import CodingTask

pytestmark = pytest.mark.anyio
LIMITS = Limits(cpu_time_s=2.0, wall_time_s=8.0)
TASK = parse_task({"unit_tests": {"inputs": ["1", "2"], "outputs": ["2", "4"]}}, limits=LIMITS, early_stop=True)
ANSWER = Answer("```python\nprint(2 * int(input()))\n```")


class Program:
    """Right answers; the first run of input 1 takes the times it is told to, the next ones none."""

    def __init__(self, cpu_time_s: float, wall_time_s: float, starved_s: float | None = 0.0, times: int = 1) -> None:
        self._slow = [(cpu_time_s, wall_time_s, starved_s)] * times
        self.runs = 0

    def __call__(self, run: Run) -> Behaviour:
        self.runs += 1
        right = str(2 * int(run.stdin)).encode()
        if run.stdin == b"1" and self._slow:
            cpu, wall, starved = self._slow.pop()
            return Behaviour(stdout=right, cpu_time_s=cpu, wall_time_s=wall, starved_s=starved)
        return Behaviour(stdout=right)


async def verify(program: Program, *, busy: bool) -> tuple[float, TestStatus]:
    pool = Pool(FakeProvider(program), boxes=2, box_max_tasks=8, queue_size=8)
    verdict = (await local_engine(pool, busy=lambda: busy).verify(CodingVerifier(), TASK, ANSWER)).verdict
    return verdict.reward, verdict.tests[0].status


async def test_a_little_late_on_a_busy_machine_is_tried_again() -> None:
    program = Program(cpu_time_s=2.2, wall_time_s=2.5)
    assert await verify(program, busy=True) == (1.0, TestStatus.PASSED)
    assert program.runs == 3


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("cpu_time_s", [0.0, 0.1, 1.9])
async def test_starved_is_tried_again(cpu_time_s: float, busy: bool) -> None:
    """However little CPU it got; what the machine looks like now does not matter where it was measured."""
    assert await verify(Program(cpu_time_s, 9.0, starved_s=6.0), busy=busy) == (1.0, TestStatus.PASSED)


async def test_starved_twice_is_no_verdict() -> None:
    program = Program(0.1, 99.0, starved_s=6.0, times=2)
    with pytest.raises(Starved, match=r"6\.0 s of its 24\.0 s, twice"):
        await verify(program, busy=True)
    assert program.runs == 2


@pytest.mark.parametrize(("starved_s", "status"), [(14.0, TestStatus.PASSED), (5.0, TestStatus.TIME_LIMIT)])
async def test_the_second_try_is_patient_and_what_it_took_beyond_starvation_counts(
    starved_s: float, status: TestStatus
) -> None:
    """Twenty seconds of a limit of eight: fourteen of them others', or five."""
    waits = [(9.0, 6.0), (20.0, starved_s)]

    def behave(run: Run) -> Behaviour:
        wall_s, waited_s = waits.pop(0) if run.stdin == b"1" and waits else (0.1, 0.0)
        return Behaviour(str(2 * int(run.stdin)).encode(), wall_time_s=wall_s, starved_s=waited_s)

    verdict = await verify_checked(TASK, behave)
    assert verdict.tests[0].status is status


async def test_where_starvation_is_not_measured_a_busy_machine_gets_the_doubt_once() -> None:
    assert await verify(Program(0.01, 9.0, starved_s=None), busy=True) == (1.0, TestStatus.PASSED)
    twice = Program(0.01, 9.0, starved_s=None, times=2)
    assert await verify(twice, busy=True) == (0.0, TestStatus.TIME_LIMIT)
    assert await verify(Program(0.01, 9.0, starved_s=None), busy=False) == (0.0, TestStatus.TIME_LIMIT)


@pytest.mark.parametrize(
    ("cpu_time_s", "wall_time_s", "starved_s", "busy"),
    [
        pytest.param(2.2, 2.5, 0.0, False, id="a little late on an idle machine"),
        pytest.param(5.0, 5.5, 0.0, True, id="far too late"),
        pytest.param(5.0, 5.5, 5.0, True, id="far too late, though starved"),
        pytest.param(0.01, 9.0, 0.2, True, id="asleep"),
        pytest.param(1.5, 9.0, 0.2, True, id="asleep after much work"),
    ],
)
async def test_what_is_no_doubt_counts_at_once(
    cpu_time_s: float, wall_time_s: float, starved_s: float, busy: bool
) -> None:
    program = Program(cpu_time_s, wall_time_s, starved_s)
    assert await verify(program, busy=busy) == (0.0, TestStatus.TIME_LIMIT)
    assert program.runs == 1


async def test_late_twice_is_late() -> None:
    def late(run: Run) -> Behaviour:
        return Behaviour(stdout=str(2 * int(run.stdin)).encode(), cpu_time_s=2.3, wall_time_s=2.5)

    pool = Pool(FakeProvider(late), boxes=2, box_max_tasks=8, queue_size=8)
    verdict = (await local_engine(pool, busy=lambda: True).verify(CodingVerifier(), TASK, ANSWER)).verdict
    assert (verdict.reward, verdict.contest) == (0.0, "TLE")


# -- the row's own programs

CHECKER = {"type": "program", "source": "import sys\nsys.exit(42)"}
CHECKED = parse_task(
    {"unit_tests": {"inputs": ["1"], "outputs": ["2"]}, "checker": CHECKER}, limits=LIMITS, early_stop=True
)
TALKING = parse_task(
    {"unit_tests": {"inputs": ["1"], "outputs": ["2"]}, "checker": {**CHECKER, "interactive": True}},
    limits=LIMITS,
    early_stop=True,
)


async def verify_checked(task: CodingTask, behave: Callable[[Run], Behaviour]) -> Verdict:
    pool = Pool(FakeProvider(behave), boxes=2, box_max_tasks=8, queue_size=8)
    return (await local_engine(pool, busy=lambda: False).verify(CodingVerifier(), task, ANSWER)).verdict


@pytest.mark.parametrize("task", [CHECKED, TALKING], ids=["checker", "interactor"])
@pytest.mark.parametrize("times", [1, 2])
async def test_a_starved_checker_is_tried_again_and_then_no_verdict(task: CodingTask, times: int) -> None:
    tries = 0

    def behave(run: Run) -> Behaviour:
        nonlocal tries
        if not run.name.endswith("checker"):
            return Behaviour()
        tries += 1
        if tries <= times:
            return Behaviour(cpu_time_s=3.0, wall_time_s=1e6, starved_s=50.0)
        return Behaviour(exit_code=42)

    if times == 1:
        assert (await verify_checked(task, behave)).reward == 1.0
    else:
        with pytest.raises(Starved):
            await verify_checked(task, behave)
    assert tries == 2


@pytest.mark.parametrize("task", [CHECKED, TALKING], ids=["checker", "interactor"])
async def test_a_checker_that_hangs_by_itself_is_not_starved(task: CodingTask) -> None:
    """It is told what it is worth by its run without the answer, as ever."""
    ran: list[str] = []

    def behave(run: Run) -> Behaviour:
        ran.append(run.name)
        return Behaviour(cpu_time_s=0.1, wall_time_s=1e6) if run.name.endswith("checker") else Behaviour()

    verdict = await verify_checked(task, behave)
    assert (verdict.reward, verdict.contest in ("JE", "WA")) == (0.0, True)


@pytest.mark.parametrize(("partner_s", "tries"), [(0.0, 1), (6.0, 2)])
async def test_who_waits_for_a_starved_interactor_is_tried_again(partner_s: float, tries: int) -> None:
    """The program itself wants nothing, and meets its wall time limit before the interactor meets its own."""
    ran: list[str] = []

    def behave(run: Run) -> Behaviour:
        ran.append(run.name)
        if run.name.endswith("checker"):
            return Behaviour(exit_code=43, starved_s=partner_s if ran.count("test-0-checker") == 1 else 0.0)
        return Behaviour(wall_time_s=1e6 if ran.count("test-0-checker") == 1 else 0.1)

    await verify_checked(TALKING, behave)
    assert ran.count("test-0-checker") == tries
