"""Stateful sessions held on one machine: time and memory to hold them, to wake one, to call a tool in one.

python benchmarks/sessions.py --held 100 1000 --live 50
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio
import anyio.to_thread
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sandbox_gym.limits import MIB, Limits, Policy
from sandbox_gym.sandbox.api import SessionFolder
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.local.machine import LocalMachine
from sandbox_gym.sandbox.session.holding import holding
from sandbox_gym.sandbox.session.manager import Sessions

LIMITS = Limits(cpu_time_s=3600, wall_time_s=24 * 3600, memory_bytes=256 * MIB, processes=64)
WORKERS = 4
SAMPLES = 200


async def bash(sessions: Sessions, session_id: str, command: str) -> float:
    """Seconds that one tool call takes."""
    started = time.perf_counter()
    request = {"op": "bash", "timeout_s": 30, "output_bytes": 4000}
    answer = await sessions.call(session_id, request, command.encode(), timeout_s=30)
    assert not answer.lost, answer.reply
    assert not answer.restored, answer.reply
    return time.perf_counter() - started


async def hold(sessions: Sessions, first: int, last: int) -> None:
    """Sessions `first` to `last`, each with a few small files; the pool hibernates what is over `live`."""
    numbers = iter(range(first, last))

    async def worker() -> None:
        for number in numbers:
            await bash(sessions, f"s{number}", f"mkdir src; echo {number} > src/a.py; echo x > notes; cd src")

    async with anyio.create_task_group() as tasks:
        for _ in range(WORKERS):
            tasks.start_soon(worker)


def own_rss() -> int:
    """Resident bytes of this process, which is the server here."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def private_bytes(machine: LocalMachine) -> int:
    """Memory that is a live session's alone: private pages of all its processes."""
    total = 0
    for pid in machine.pids():
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024
    return total


def disk_bytes(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def pair(seconds: list[float]) -> str:
    cuts = statistics.quantiles(seconds, n=20)
    return f"{statistics.median(seconds) * 1000:.1f} / {cuts[18] * 1000:.1f}"


async def measure(sessions: Sessions, held: int, live: int, table: Table, built_s: float, rss: int, disk: Path) -> None:
    awake = [name for name, one in sessions._sessions.items() if one.box is not None]
    asleep = [name for name, one in sessions._sessions.items() if one.box is None]
    machines = [one.box.sandbox.machine for one in sessions.all() if one.box is not None]
    boxes = [machine for machine in machines if isinstance(machine, LocalMachine)]
    private = statistics.median(private_bytes(box) for box in boxes)
    calls = [await bash(sessions, random.choice(awake), "cat a.py") for _ in range(SAMPLES)]
    wakes = []
    for name in random.sample(asleep, min(SAMPLES, len(asleep))):
        await sessions.lifecycle.make_room()  # what a server does in its idle seconds
        wakes.append(await bash(sessions, name, "cat a.py"))
    used = await anyio.to_thread.run_sync(disk_bytes, disk)
    table.add_row(
        str(held),
        str(live),
        f"{built_s:.0f}",
        f"{built_s / held * 1000:.0f}",
        pair(calls),
        pair(wakes) if wakes else "-",
        f"{private / 1e6:.1f}",
        f"{(own_rss() - rss) / held / 1024:.1f}",
        f"{used / held / 1024:.1f}",
    )


async def main(counts: list[int], live: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="sandbox-gym-bench-"))
    table = Table(title="sessions held on local, 2 small files each")
    for column in ("held", "live", "built s", "ms each", "call p50/p95 ms", "wake p50/p95 ms"):
        table.add_column(column)
    for column in ("private MB a live one", "server KiB each", "disk KiB each"):
        table.add_column(column)
    try:
        provider = LocalProvider(sessions=SessionFolder(folder / "local", LIMITS))
        policy = Policy(idle_s=1e6, checkpoint_s=1e6, live=live, held=max(counts))
        async with holding(provider, folder / "held", LIMITS, policy) as sessions:
            rss, done, spent = own_rss(), 0, 0.0
            for count in sorted(counts):
                started = time.perf_counter()
                await hold(sessions, done, count)
                spent += time.perf_counter() - started
                done = count
                await measure(sessions, count, live, table, spent, rss, folder)
                Console().print(table)
        await provider.aclose()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--live", type=int, default=50)
    arguments = parser.parse_args()
    anyio.run(main, arguments.held, arguments.live)
