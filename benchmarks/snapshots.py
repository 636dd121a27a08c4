"""Fork of a sandbox with 10,000 dirtied files, beside `cp -a` of the files and `docker commit`, interleaved in one run.

python benchmarks/snapshots.py --rounds 10
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import anyio
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import SessionFolder
from sandbox_gym.sandbox.docker.provider import DockerProvider
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.session.session import Session
from tests.keeper import Keeper

FILES = 10_000
LIMITS = Limits(cpu_time_s=3600, wall_time_s=24 * 3600, memory_bytes=256 * MIB, processes=64)
DIRTY = "mkdir -p d; for i in $(seq 10000); do echo $RANDOM $i > d/f$i; done"


async def bash(box: Session, command: str) -> str:
    request = {"op": "bash", "timeout_s": 60, "output_bytes": 4000}
    reply, body = await box.call(request, command.encode(), within_s=75)
    assert reply.get("exit_code") == 0, reply
    return body.decode()


async def main(rounds: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="sandbox-gym-bench-"))
    took: dict[str, list[float]] = defaultdict(list)
    local = Keeper(LocalProvider(sessions=SessionFolder(folder / "local", LIMITS)))
    docker = Keeper(DockerProvider(sessions=SessionFolder(folder, LIMITS)))
    try:
        box, container = await local.open_session(LIMITS), await docker.open_session(LIMITS)
        for number in range(rounds):
            await bash(box, DIRTY)
            await bash(container, DIRTY)
            await local.provider.prepare()  # a server does this between requests
            started = time.perf_counter()
            [one] = await local.fork(box, 1, LIMITS)
            took["local: fork, to a live sandbox"].append(time.perf_counter() - started)
            assert await bash(one, "ls d | wc -l") == f"{FILES}\n"
            await one.aclose()
            started = time.perf_counter()
            await box.snapshot()
            took["local: durable snapshot"].append(time.perf_counter() - started)
            plain = folder / f"plain{number}"
            plain.mkdir()
            for index in range(FILES):
                (plain / f"f{index}").write_text(f"{number} {index}\n")
            started = time.perf_counter()
            await anyio.run_process(["cp", "-a", str(plain), str(folder / f"copy{number}")])
            took["cp -a of the files"].append(time.perf_counter() - started)
            started = time.perf_counter()
            kept = await container.snapshot()
            took["docker: commit"].append(time.perf_counter() - started)
            started = time.perf_counter()
            again = await docker.open_session(LIMITS, kept.snapshot_id)
            took["docker: start from the commit"].append(time.perf_counter() - started)
            await again.aclose()
            await docker.delete(kept.snapshot_id)
        await box.aclose()
        await container.aclose()
    finally:
        await local.aclose()
        await docker.collect(budget_bytes=0, pinned=set())
        await docker.aclose()
        shutil.rmtree(folder, ignore_errors=True)
    table = Table("what", "p50 ms", "worst ms", title=f"{FILES} dirtied files, {rounds} rounds")
    for name, seconds in took.items():
        table.add_row(name, f"{statistics.median(seconds) * 1000:.1f}", f"{max(seconds) * 1000:.1f}")
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    anyio.run(main, parser.parse_args().rounds)
