"""A sleeper's time limit is its own, a starved program's is the machine's: for real, in boxes of a weight of their own.

The boxes' group weighs either next to nothing beside the spinning processes of this test, or so much that these and
whatever else the machine does take nothing from it: what is measured does not depend on how busy the machine is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sandbox_gym.contract import Status
from sandbox_gym.limits import STARVED_SHARE
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.local import LocalProvider
from tests.conftest import make_real
from tests.e2b.servers import PoolServer
from tests.engine.starvation.boxes import LIMITS, SHORT, SLEEP, SPIN, Weight, open_box, outcome_of, share

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
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
        await outcome_of(box, "pass")  # what the guest loads at its first run it would load on the same quota
        for source in (SPIN, FAKED["64 processes"]):
            outcome = await outcome_of(box, source, replace(SHORT, cpus=0.3))
            assert outcome.status is Status.WALL_TIME_LIMIT
            assert share(outcome) < STARVED_SHARE, source


@pytest.mark.parametrize("name", ["local", "docker"])
async def test_a_program_that_takes_its_quota_from_its_guest_has_a_verdict(name: str) -> None:
    """The guest is late with its heartbeats for seconds, but its box is not lost."""
    provider = make_real(name)
    box = await provider.create(SandboxSpec())
    try:
        await outcome_of(box, "pass")
        outcome = await outcome_of(box, FAKED["64 processes"], replace(LIMITS, wall_time_s=4.0, cpus=0.1))
        assert outcome.status is Status.WALL_TIME_LIMIT
        assert (await outcome_of(box, "print('after it')")).stdout == b"after it\n"
    finally:
        await box.aclose()
        await provider.aclose()


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
    box = await provider.create(SandboxSpec())
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
    box = await LocalProvider(cgroup="never").create(SandboxSpec())
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
