"""A build is made once per content, however many want it; what load or a cap ended is not kept."""

from __future__ import annotations

import anyio
import pytest

from sandbox_gym.contract import Answer, Build, Outcome, Program, Run, Status, TestStatus
from sandbox_gym.engine import local_engine
from sandbox_gym.errors import Starved
from sandbox_gym.limits import Limits
from sandbox_gym.plans.builds import Builds, build_key
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

pytestmark = pytest.mark.anyio


class Making:
    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.calls = 0

    async def __call__(self) -> Outcome:
        self.calls += 1
        await anyio.sleep(0.01)
        return self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]


async def test_many_at_once_share_one_making() -> None:
    builds, make = Builds(), Making(Outcome(Status.OK, 0, stdout=b"binary"))
    got: list[bytes] = []

    async def ask() -> None:
        got.append((await builds.outcome(b"key", make)).stdout)

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(ask)
    assert (got, make.calls, builds.made, builds.reused) == ([b"binary"] * 20, 1, 1, 19)


async def test_who_gives_up_leaves_the_making_to_the_next() -> None:
    builds, make = Builds(), Making(Outcome(Status.OK, 0))
    with anyio.move_on_after(0.001):
        await builds.outcome(b"key", make)
    assert (await builds.outcome(b"key", make)).status is Status.OK
    assert make.calls == 2


@pytest.mark.parametrize(
    ("outcome", "kept"),
    [
        (Outcome(Status.OK, 0), True),
        (Outcome(Status.RUNTIME_ERROR, 1), True),
        (Outcome(Status.RUNTIME_ERROR, None, 9), False),
        (Outcome(Status.RUNTIME_ERROR, 137, stderr=b"Killed\n"), False),
        (Outcome(Status.WALL_TIME_LIMIT), False),
        (Outcome(Status.MEMORY_LIMIT), False),
    ],
)
async def test_what_would_end_so_again_is_kept(outcome: Outcome, kept: bool) -> None:
    builds, make = Builds(), Making(outcome)
    for _ in range(2):
        await builds.outcome(b"key", make)
    assert make.calls == (1 if kept else 2)


async def test_the_oldest_go_first() -> None:
    builds = Builds(kept_bytes=5000)
    make = Making(Outcome(Status.OK, 0, stdout=b"x" * 1000))
    for key in (b"a", b"b", b"a", b"c", b"a", b"b"):
        await builds.outcome(key, make)
    assert (builds.made, builds.reused) == (4, 2)


def test_the_key_is_all_that_decides() -> None:
    def key(
        source: bytes = b"int main(){}", flag: str = "-O2", image: str = "polyglot", memory: int = 1 << 30
    ) -> bytes:
        program = Program("exec", {"main.c": source}, "main.c", ("/usr/bin/gcc", flag))
        return build_key(Build("answer", Run("compile", program, limits=Limits(memory_bytes=memory))), image, "local")

    keys = [key(), key(source=b"int main(){return 1;}"), key(flag="-O3"), key(image="other"), key(memory=1 << 29)]
    assert len(set(keys)) == len(keys)
    assert key() == keys[0]


async def test_a_failed_compile_is_every_tests_verdict_and_runs_nothing() -> None:
    names: list[str] = []

    def behave(run: Run) -> Behaviour:
        names.append(run.name)
        return Behaviour(exit_code=1, stderr=b"main.c:1: error: expected ';'")

    row = {"language": "c", "unit_tests": {"inputs": ["", ""], "outputs": ["1", "2"]}}
    task = parse_task(row, limits=Limits(), early_stop=False)
    engine = local_engine(Pool(FakeProvider(behave), boxes=1, box_max_tasks=8, queue_size=8))
    verdict = (await engine.verify(CodingVerifier(), task, Answer("```c\nint main()\n```"))).verdict
    assert len(names) == 1
    assert (verdict.reward, verdict.contest) == (0.0, "CE")
    assert {test.status for test in verdict.tests} <= {TestStatus.COMPILE_ERROR, TestStatus.SKIPPED}
    assert "expected ';'" in verdict.failure_reason + verdict.tests[0].reason


C_TASK = parse_task(
    {"unit_tests": {"inputs": ["1"], "outputs": ["2"]}, "language": "c"}, limits=Limits(), early_stop=True
)


@pytest.mark.parametrize(
    ("starved_s", "busy", "made"), [(0.0, False, 1), (0.0, True, 1), (5.0, True, 1), (None, False, 1), (None, True, 2)]
)
async def test_a_compiler_that_waits_for_ever_is_the_answers_doing(
    starved_s: float | None, busy: bool, made: int
) -> None:
    """As gcc does for `#include "/dev/ptmx"`. Where the box can't tell that from starvation it is tried once more."""
    runs = 0

    def wait(run: Run) -> Behaviour:
        nonlocal runs
        runs += 1
        return Behaviour(cpu_time_s=0.02, wall_time_s=121, starved_s=starved_s)

    pool = Pool(FakeProvider(wait), boxes=2, box_max_tasks=8, queue_size=8)
    answer = Answer('```c\n#include "/dev/ptmx"\n```')
    verdict = (await local_engine(pool, busy=lambda: busy).verify(CodingVerifier(), C_TASK, answer)).verdict
    assert (verdict.reward, verdict.tests[0].status, runs) == (0.0, TestStatus.COMPILE_ERROR, made)


@pytest.mark.parametrize("times", [1, 2])
async def test_a_starved_compiler_is_tried_again_and_never_a_compile_error(times: int) -> None:
    """That its answer was kept from the CPU twice is no verdict. Nothing of it is kept: the next one compiles anew."""
    runs: list[str] = []

    def compiled(run: Run) -> Behaviour:
        runs.append(run.name)
        starved = len(runs) <= times
        return Behaviour(stdout=b"2", cpu_time_s=2.5, wall_time_s=1e6, starved_s=100) if starved else Behaviour(b"2")

    pool = Pool(FakeProvider(compiled), boxes=2, box_max_tasks=8, queue_size=8)
    engine = local_engine(pool, busy=lambda: False)
    answer = Answer("```c\nint main;\n```")
    if times == 2:
        with pytest.raises(Starved, match=r"100\.0 s of its 360\.0 s, twice"):
            await engine.verify(CodingVerifier(), C_TASK, answer)
    assert (await engine.verify(CodingVerifier(), C_TASK, answer)).verdict.reward == 1.0
    assert len(runs) == times + 2
    assert 'sandbox_gym_doubted_runs_total{why="starved"} 1.0' in engine.metrics.text().decode()


KILLED = [
    Behaviour(exit_code=137, stderr=b"Killed\n"),
    Behaviour(exit_code=1, stderr=b"g++: fatal error: Killed signal terminated program cc1plus\n"),
    Behaviour(signal=9),
]


@pytest.mark.parametrize("how", KILLED, ids=["the shell's status", "the driver's words", "the signal"])
@pytest.mark.parametrize("times", [1, 2, 3])
async def test_a_killed_compiler_is_run_twice_more_and_nothing_of_it_is_kept(how: Behaviour, times: int) -> None:
    runs: list[str] = []

    def compiled(run: Run) -> Behaviour:
        runs.append(run.name)
        return how if len(runs) <= times else Behaviour(b"2")

    engine = local_engine(Pool(FakeProvider(compiled), boxes=1, box_max_tasks=8, queue_size=8))
    answer = Answer("```c\nint main() { return 0; }\n```")
    rewards = [(await engine.verify(CodingVerifier(), C_TASK, answer)).verdict.reward for _ in range(2)]
    assert rewards == [float(times < 3), 1.0]
