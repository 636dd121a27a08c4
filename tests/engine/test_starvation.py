"""A sleeper's time limit is its own, a starved program's is the machine's: for real, in boxes of a weight of their own.

The boxes' group weighs either next to nothing beside the spinning processes of this test, or so much that these and
whatever else the machine does take nothing from it: what is measured does not depend on how busy the machine is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_gym.contract import Build, Outcome, Plan, Program, Query, Run, Service, State, Status, StepOutcome
from sandbox_gym.engine import local_engine
from sandbox_gym.errors import Starved
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.plans.builds import Builds
from sandbox_gym.plans.starvation import STARVED_SHARE, QuietSlot
from sandbox_gym.plans.steps import PlanRun
from sandbox_gym.sandbox.api import Box
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.sandbox.local import LocalProvider, cgroups
from sandbox_gym.sandbox.local.provider import LocalBox
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.sandbox.pool.services import serving
from tests.conftest import make_real
from tests.e2b.servers import PoolServer

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

LIMITS = Limits(cpu_time_s=5, wall_time_s=2.0, memory_bytes=256 * MIB, processes=80, cpus=4.0)
_FILES = {1: ("cpu.shares", 100, 1 << 18), 2: ("cpu.weight", 10, 10_000)}
"""By cgroup version: the weight's file; a small one, and a large one."""


class Weight:
    """Of all boxes together."""

    def __init__(self, file: Path, small: int, large: int) -> None:
        self._file, self._small, self._large = file, small, large

    def small(self) -> None:
        self._file.write_text(str(self._small))

    def large(self) -> None:
        self._file.write_text(str(self._large))


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalProvider]:
    """Its boxes' parent is no other server's."""
    name = f"sandbox-gym-test-{os.getpid()}"
    monkeypatch.setattr(cgroups, "PARENT", name)
    provider = LocalProvider(cgroup="require")
    yield provider
    assert provider.cgroups is not None
    for parent in set(provider.cgroups._parents.values()):
        parent.rmdir()


@pytest.fixture
def weight(provider: LocalProvider) -> Weight:
    assert provider.cgroups is not None
    assert provider.cgroups.caps_cpu
    _name, small, large = _FILES[provider.cgroups.version]
    parent = provider.cgroups._parents["cpu"]
    weight = Weight(parent / _name, small, large)
    weight.large()
    return weight


@pytest.fixture
def crowd() -> Iterator[None]:
    """Two processes for each CPU that want all of it, each in a session of its own, so that the kernel groups none."""
    spin = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(spin, start_new_session=True) for _ in range(2 * (os.cpu_count() or 1))]
    yield
    for process in spinning:
        process.kill()
        process.wait()


@asynccontextmanager
async def open_box(provider: LocalProvider) -> AsyncIterator[LocalBox]:
    box = await provider.start("python")
    try:
        yield box
    finally:
        await box.aclose()


def python(source: str, limits: Limits = LIMITS, name: str = "one") -> Run:
    return Run(name, Program("fork", {"main.py": source.encode()}), limits=limits)


async def outcome_of(box: Box, source: str, limits: Limits = LIMITS) -> Outcome:
    async with box.run_all([python(source, limits)]) as outcomes:
        return await anext(outcomes)


def share(outcome: Outcome) -> float:
    """What was starved of its wall time."""
    assert outcome.starved_s is not None
    return outcome.starved_s / outcome.wall_time_s


SHORT = replace(LIMITS, wall_time_s=1.5)
SPIN = "while True: pass"
SLEEP = "import time\ntime.sleep(60)"
FAKED = {
    "sleeps": SLEEP,
    "naps": """
import time
while True: time.sleep(0.00005)
""",
    "64 processes": """
import os
for _ in range(6): os.fork()
while True: pass
""",
    "64 threads": """
import threading
def spin():
    while True: pass
for _ in range(63): threading.Thread(target=spin).start()
spin()
""",
    "forks and forks": """
import os
while True:
    pid = os.fork()
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0)
""",
    "forks that nobody reaps": """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    try:
        if os.fork() == 0:
            sum(range(10**5))
            os._exit(0)
    except BlockingIOError:
        pass
""",
    "passes a byte": """
import os
a, b = os.pipe()
c, d = os.pipe()
if os.fork() == 0:
    while True: os.write(d, os.read(a, 1))
while True:
    os.write(b, b"x")
    os.read(c, 1)
""",
    "yields": """
import os
while True: os.sched_yield()
""",
    "yields among its own": """
import os
for _ in range(3): os.fork()
while True: os.sched_yield()
""",
    "lowers itself": """
import os
os.nice(19)
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
os.fork()
while True: pass
""",
    "stops its children": """
import os, signal, time
children = []
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        while True: pass
    children.append(pid)
while True:
    for sent in (signal.SIGSTOP, signal.SIGCONT):
        for pid in children: os.kill(pid, sent)
        time.sleep(0.005)
""",
    "all on one CPU": """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for _ in range(4): os.fork()
while True: pass
""",
}


DAILY = ("64 processes", "forks and forks", "passes a byte")


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=() if way in DAILY else pytest.mark.extended) for way in FAKED]
)
async def test_no_program_fakes_starvation(provider: LocalProvider, weight: Weight, crowd: None, way: str) -> None:
    """Beside a crowd that gets none of its CPU: what its threads wait is for one another."""
    async with open_box(provider) as box:
        outcome = await outcome_of(box, FAKED[way], SHORT)
    assert outcome.status in (Status.WALL_TIME_LIMIT, Status.CPU_TIME_LIMIT), outcome.stderr
    assert share(outcome) < STARVED_SHARE


async def test_its_own_quota_starves_nobody(provider: LocalProvider, weight: Weight) -> None:
    async with open_box(provider) as box:
        for source in (SPIN, FAKED["64 processes"]):
            outcome = await outcome_of(box, source, replace(SHORT, cpus=0.3))
            assert outcome.status is Status.WALL_TIME_LIMIT
            assert share(outcome) < STARVED_SHARE, source


async def test_starved_is_told_from_asleep(provider: LocalProvider, weight: Weight, crowd: None) -> None:
    async with open_box(provider) as box:
        weight.small()
        starved = await outcome_of(box, SPIN)
        asleep = await outcome_of(box, SLEEP)
        weight.large()
    assert (starved.status, asleep.status) == (Status.WALL_TIME_LIMIT, Status.WALL_TIME_LIMIT)
    assert share(starved) > 0.5
    assert share(asleep) < STARVED_SHARE


@pytest.mark.parametrize("name", ["local-rlimits", "docker", "e2b-on-local"])
async def test_starved_is_told_in_every_box(name: str, pools: Callable[[str], PoolServer], crowd: None) -> None:
    """Without a weight of its own a box gets most of a CPU's time taken, but not all of it."""
    provider = make_real(name, pools)
    box = await provider.start("python")
    try:
        starved = await outcome_of(box, SPIN)
        asleep = await outcome_of(box, SLEEP)
    finally:
        await box.aclose()
        await provider.aclose()
    assert starved.status is Status.WALL_TIME_LIMIT
    assert share(starved) > STARVED_SHARE > share(asleep)


async def test_without_a_cgroup_neither_forks_nor_sessions_fake_it(crowd: None) -> None:
    """What nobody reaps has no CPU time there, and a session of processes has a niceness of its own."""
    box = await LocalProvider(cgroup="never").start("python")
    try:
        lowered = await outcome_of(box, "open('/proc/self/autogroup', 'w').write('19')\n" + SPIN, SHORT)
        forks = await outcome_of(box, FAKED["forks that nobody reaps"], SHORT)
    finally:
        await box.aclose()
    assert (lowered.status, forks.status) == (Status.WALL_TIME_LIMIT, Status.WALL_TIME_LIMIT)
    assert max(share(lowered), share(forks)) < STARVED_SHARE


async def test_a_program_can_not_lower_itself(provider: LocalProvider, weight: Weight) -> None:
    """It is told that it could, as most that try do not look; what would raise it is refused as ever."""
    source = """
import os
param = os.sched_param(0)
os.nice(7)
os.setpriority(os.PRIO_USER, 0, 19)
for policy in (os.SCHED_IDLE, os.SCHED_BATCH, os.SCHED_BATCH | os.SCHED_RESET_ON_FORK, os.SCHED_OTHER):
    os.sched_setscheduler(0, policy, param)
for call in (lambda: os.nice(-1), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))):
    try:
        call()
        print("raised")
    except PermissionError:
        print("refused")
print(os.nice(0), os.sched_getscheduler(0))
"""
    async with open_box(provider) as box:
        outcome = await outcome_of(box, source)
    assert (outcome.stdout.decode().split(), outcome.stderr) == (["refused", "refused", "0", "0"], b"")


# -- what becomes of it

WORK = "import time\nwhile time.process_time() < 1: pass\nprint('well')"
"""A second of CPU: some twenty seconds for a starved program, whose limit is one and a half, then four and a half."""


async def _go_on(index: int, outcome: StepOutcome) -> bool:
    return True


async def run_plan(box: LocalBox, weight: Weight, plan: Plan, *, slot_is_quiet: bool) -> State:
    """On a machine that starves the plan's first try; `slot_is_quiet`: the quiet slot ends that."""

    @asynccontextmanager
    async def slot() -> AsyncIterator[None]:
        if slot_is_quiet:
            weight.large()
        yield

    weight.small()
    try:
        return await PlanRun(plan, [box], Builds(), QuietSlot(lambda: False, slot), _go_on).state("local")
    finally:
        weight.large()


PLANS = {
    "program": Plan((python(WORK, SHORT),)),
    "compiler": Plan((python("print('well')"),), builds=(Build("answer", python(WORK, SHORT, "compile")),)),
}


@pytest.mark.parametrize("what", PLANS)
async def test_starved_is_tried_again_on_a_quiet_slot(
    provider: LocalProvider, weight: Weight, crowd: None, what: str
) -> None:
    async with open_box(provider) as box:
        state = await run_plan(box, weight, PLANS[what], slot_is_quiet=True)
    (outcome,) = (*state.builds, *state.outcomes)[:1]
    assert isinstance(outcome, Outcome)
    assert (outcome.status, outcome.stdout) == (Status.OK, b"well\n")


@pytest.mark.parametrize("what", ["program", pytest.param("compiler", marks=pytest.mark.extended)])
async def test_starved_twice_is_no_verdict(provider: LocalProvider, weight: Weight, crowd: None, what: str) -> None:
    async with open_box(provider) as box:
        with pytest.raises(Starved, match="twice"):
            await run_plan(box, weight, PLANS[what], slot_is_quiet=False)


async def test_a_sleeper_is_over_its_limit_at_once_on_the_same_machine(
    provider: LocalProvider, weight: Weight, crowd: None
) -> None:
    patient = replace(LIMITS, wall_time_s=4.0)  # it waits before it sleeps, too
    async with open_box(provider) as box:
        state = await run_plan(box, weight, Plan((python(SLEEP, patient),)), slot_is_quiet=False)
    assert isinstance(state.outcomes[0], Outcome)
    assert state.outcomes[0].status is Status.WALL_TIME_LIMIT


SERVICE = b"""
import os, time, service_worker

def handle(body, say):
    if body == b"sleep":
        time.sleep(60)
    end = time.process_time() + 0.5
    while time.process_time() < end: pass
    return b"well"

service_worker.serve(handle, int(os.environ["WORKERS"]), int(os.environ["WORKER_MEMORY_BYTES"]))
"""


async def test_a_services_worker_that_starves_twice_is_no_verdict(
    provider: LocalProvider, weight: Weight, crowd: None
) -> None:
    service = Service("toy", {"main.py": SERVICE}, worker_memory_bytes=128 * MIB)
    async with serving(provider, workers=2, queue_size=5) as services:
        engine = local_engine(Pool(FakeProvider(), boxes=1, box_max_tasks=8, queue_size=8), services=services)

        async def ask(word: bytes) -> Outcome:
            state = await engine.run(Plan((Query("q", service, word, LIMITS),)))
            assert isinstance(state.outcomes[0], Outcome)
            return state.outcomes[0]

        assert (await ask(b"work")).stdout == b"well"
        weight.small()
        with pytest.raises(Starved, match=r"toy wanted CPU .* twice"):
            await ask(b"work")
        weight.large()
        asleep = await ask(b"sleep")
        assert asleep.status is Status.WALL_TIME_LIMIT
        assert share(asleep) < STARVED_SHARE
        assert (await ask(b"work")).stdout == b"well"
