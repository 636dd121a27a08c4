"""What every real box caps: output, CPU time, wall time, memory, processes, disk. One box a test."""

from __future__ import annotations

import dataclasses

import pytest

from sandbox_gym.contract import Status
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.sandbox import Sandbox
from tests.conformance.running import LIMITS, run

pytestmark = pytest.mark.anyio


async def test_a_flood_costs_no_more_than_its_cap(box: Sandbox) -> None:
    outcome = await run(box, "import sys\nfor _ in range(100): sys.stdout.write('x' * 1000000)")
    assert outcome.status is Status.OUTPUT_LIMIT
    assert len(outcome.stdout) == LIMITS.stdout_bytes
    outcome = await run(box, "import sys\nwhile True: sys.stderr.write('x' * 10000)")
    assert outcome.status is Status.OUTPUT_LIMIT
    assert len(outcome.stderr) == LIMITS.stderr_bytes
    much = f"import sys\nsys.stderr.write('y' * {15 * LIMITS.stderr_bytes})\nprint('answer')"
    outcome = await run(box, much)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (Status.OK, b"answer\n", b"y" * LIMITS.stderr_bytes)


async def test_cpu_time_limit(box: Sandbox) -> None:
    limits = dataclasses.replace(LIMITS, cpu_time_s=0.5)
    outcome = await run(box, "import signal; signal.alarm(0)\nwhile True: pass", limits=limits)
    assert outcome.status is Status.CPU_TIME_LIMIT
    assert 0.4 < outcome.cpu_time_s < 3


async def test_cpu_time_counts_the_whole_tree(box: Sandbox) -> None:
    source = "import os\nos.fork()\nwhile True: pass"
    outcome = await run(box, source, limits=dataclasses.replace(LIMITS, cpu_time_s=0.6, wall_time_s=30))
    assert outcome.status is Status.CPU_TIME_LIMIT


async def test_wall_time_limit(box: Sandbox) -> None:
    limits = dataclasses.replace(LIMITS, wall_time_s=0.5)
    assert (await run(box, "import time; time.sleep(60)", limits=limits)).status is Status.WALL_TIME_LIMIT


async def test_memory_bomb(box: Sandbox) -> None:
    source = "kept = []\nwhile True: kept.append(b'x' * 1_000_000 + bytes([len(kept) % 256]))"
    outcome = await run(box, source)
    assert outcome.status is Status.MEMORY_LIMIT, outcome
    assert (await run(box, "print(1)")).stdout == b"1\n", "the box outlives the bomb"


async def test_memory_bomb_of_many_processes_leaves_the_box_alive(box: Sandbox) -> None:
    source = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = []
        try:
            while True: kept.append(b'x' * 1_000_000 + bytes([len(kept) % 256]))
        except MemoryError:
            time.sleep(30)
time.sleep(30)
"""
    await run(box, source, limits=dataclasses.replace(LIMITS, wall_time_s=3))
    assert (await run(box, "print(1)")).stdout == b"1\n"


async def test_fork_bomb(box: Sandbox) -> None:
    source = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    outcome = await run(box, source, limits=dataclasses.replace(LIMITS, cpu_time_s=1, wall_time_s=4))
    assert outcome.status in (Status.CPU_TIME_LIMIT, Status.WALL_TIME_LIMIT, Status.MEMORY_LIMIT)
    assert (await run(box, "print(1)")).stdout == b"1\n"
    assert await box.reset()


async def test_thread_bomb(box: Sandbox) -> None:
    source = """
import threading, time
n = 0
try:
    while True: threading.Thread(target=time.sleep, args=(30,), daemon=True).start(); n += 1
except RuntimeError: print(n < 64)
"""
    assert (await run(box, source)).stdout == b"True\n"


async def test_a_daemon_does_not_survive(box: Sandbox) -> None:
    source = """
import os, time, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for n in range(1, 32):
            try: signal.signal(n, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True: time.sleep(0.01)
    os._exit(0)
time.sleep(0.2)
print('done')
"""
    outcome = await run(box, source)
    assert (outcome.status, outcome.stdout) == (Status.OK, b"done\n")
    assert "processes_left_behind" in outcome.tamper
    assert await box.reset(), "nothing is left"


async def test_disk_fill(box: Sandbox) -> None:
    limits = dataclasses.replace(LIMITS, memory_bytes=512 * MIB, scratch_bytes=32 * MIB, file_bytes=8 * MIB)
    source = """
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
total = 0
for folder in ('.', '/tmp', '/dev/shm'):
    for i in range(64):
        try:
            with open(f'{folder}/f{i}', 'wb', buffering=0) as f:
                while True: total += f.write(b'x' * 65536)
        except OSError: pass
print(total < 300 * 2**20)
"""
    assert (await run(box, source, limits=limits)).stdout == b"True\n"
    assert (await run(box, "import os; print(os.listdir('.'), os.listdir('/tmp'))")).stdout == b"['main.py'] []\n"


async def test_inodes_are_capped(box: Sandbox) -> None:
    source = """
n = 0
try:
    while n < 100_000: open(f'f{n}', 'w').close(); n += 1
except OSError: print('capped')
"""
    assert (await run(box, source, limits=dataclasses.replace(LIMITS, scratch_inodes=2000))).stdout == b"capped\n"
