"""What a pool on another machine costs: a verify of 10 tests, and a call of an agent's tool in a held session, through
provider e2b beside the provider itself, in turns.

python benchmarks/e2b.py --beneath local docker --verifies 60 --calls 60

Starts `sandbox-gym serve pool` on loopback for each. Also the time to create a sandbox through the unmodified SDK
while the pool keeps some warm. Overhead is the difference of the medians of what took turns in one run.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

sys.path.pop(0)  # this folder: this file's name is the SDK's
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import anyio
from e2b import AsyncSandbox
from rich.console import Console
from rich.table import Table

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.limits import Policy
from sandbox_gym.sandbox.api import SessionFolder
from sandbox_gym.sandbox.registry import make_provider
from sandbox_gym.sandbox.session.holding import holding
from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

PROGRAM = "print(int(input()) * 2)"
TESTS = 10
ROW = {"unit_tests": {"inputs": [str(n) for n in range(TESTS)], "outputs": [str(2 * n) for n in range(TESTS)]}}
START_S = 60.0
PAUSE_S = 0.5
"""Between creates: how long the pool has to make the next warm sandbox."""


@contextmanager
def pool(beneath: str, folder: Path) -> Iterator[str]:
    """A pool server's address."""
    log = folder / "pool.log"
    command = [sys.executable, "-m", "sandbox_gym", "serve", "pool", "--port", "0", "--provider", beneath]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + START_S
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text("utf-8", "replace"))):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the pool does not start: {log.read_text('utf-8', 'replace')[-500:]}")
            time.sleep(0.1)
        yield found[0]
    finally:
        process.terminate()
        process.wait(60)


async def verify_s(engine: Engine) -> float:
    """Seconds of one verify."""
    task = parse_task(ROW, limits=Settings().limits(), early_stop=True)
    started = time.perf_counter()
    verdict = (await engine.verify(CodingVerifier(), task, Answer(PROGRAM))).verdict
    if verdict.reward != 1.0:
        raise SystemExit(f"wrong verdict: {verdict}")
    return time.perf_counter() - started


async def verifies(beneath: str, url: str, count: int) -> tuple[list[float], list[float]]:
    """Seconds of `count` verifies, straight and through the pool, in turns."""
    given = {"provider": "e2b", "e2b_api_url": url, "e2b_api_key": "any", "e2b_creates_per_s": 100}
    remote_settings = Settings.from_flat(given)
    straight: list[float] = []
    remote: list[float] = []
    async with (
        open_engine(Settings.from_flat({"provider": beneath})) as here,
        open_engine(remote_settings) as there,
    ):
        for _ in range(5):
            await verify_s(here)
            await verify_s(there)
        for _ in range(count):
            straight.append(await verify_s(here))
            remote.append(await verify_s(there))
    return straight, remote


async def bash_s(sessions: Sessions) -> float:
    """Seconds of one call in a session that is awake."""
    request = {"op": "bash", "timeout_s": 30, "output_bytes": 4000}
    started = time.perf_counter()
    answer = await sessions.call("bench", request, b"echo $((6 * 7))", timeout_s=30)
    if answer.body != b"42\n" or answer.lost:
        raise SystemExit(f"wrong answer: {answer}")
    return time.perf_counter() - started


async def wake_s(sessions: Sessions) -> float:
    """Seconds of a call in a session that hibernates: from its snapshot."""
    await sessions.hibernate("bench")
    return await bash_s(sessions)


async def calls(beneath: str, url: str, folder: Path, count: int) -> dict[str, tuple[list[float], list[float]]]:
    """Seconds of `count` calls and of a few wakes, straight and through the pool, in turns."""
    given = {"provider": "e2b", "e2b_api_url": url, "e2b_api_key": "any", "e2b_creates_per_s": 100}
    found: dict[str, tuple[list[float], list[float]]] = {"call": ([], []), "wake": ([], [])}
    async with (
        _holding(Settings.from_flat({"provider": beneath}), folder / "here") as here,
        _holding(Settings.from_flat(given), folder / "there") as there,
    ):
        for held in (here, there):
            for _ in range(3):
                await bash_s(held)
        for _ in range(count):
            found["call"][0].append(await bash_s(here))
            found["call"][1].append(await bash_s(there))
        for _ in range(max(3, count // 6)):
            found["wake"][0].append(await wake_s(here))
            found["wake"][1].append(await wake_s(there))
        for held in (here, there):
            await held.close("bench")
    return found


@asynccontextmanager
async def _holding(settings: Settings, folder: Path) -> AsyncIterator[Sessions]:
    provider = make_provider(settings, SessionFolder(folder / "kept", settings.session_limits()))
    if provider.snapshots is None:
        raise SystemExit(f"provider {settings.provider} holds no sessions")
    try:
        policy = Policy(idle_s=1e6, checkpoint_s=1e6)
        async with holding(provider, folder / "held", settings.session_limits(), policy) as sessions:
            yield sessions
    finally:
        await provider.aclose()


async def creates(url: str, count: int) -> list[float]:
    """Seconds that the SDK takes to create a sandbox, one at a time."""
    took = []
    for _ in range(count):
        started = time.perf_counter()
        sandbox = await AsyncSandbox.create(timeout=60, api_key="any", api_url=url, sandbox_url=url)
        took.append(time.perf_counter() - started)
        await sandbox.kill()
        await anyio.sleep(PAUSE_S)
    return took[1:]  # the first one opens the connection


def row(name: str, seconds: list[float], versus: list[float] | None = None) -> list[str]:
    cuts = statistics.quantiles(seconds, n=20)
    p50 = statistics.median(seconds)
    over = f"{1000 * (p50 - statistics.median(versus)):+.1f}" if versus is not None else ""
    return [name, str(len(seconds)), f"{1000 * p50:.1f}", f"{1000 * cuts[18]:.1f}", over]


async def measure(beneath: str, verify_count: int, create_count: int, call_count: int, table: Table) -> None:
    with tempfile.TemporaryDirectory() as folder, pool(beneath, Path(folder)) as url:
        straight, remote = await verifies(beneath, url, verify_count)
        created = await creates(url, create_count)
        called = await calls(beneath, url, Path(folder), call_count)
    table.add_row(*row(f"verify, {beneath}", straight))
    table.add_row(*row(f"verify, e2b over a pool on {beneath}", remote, straight))
    for name, (here, there) in called.items():
        table.add_row(*row(f"session {name}, {beneath}", here))
        table.add_row(*row(f"session {name}, e2b over a pool on {beneath}", there, here))
    table.add_row(*row(f"create, pool on {beneath}, warm", created))


async def main(beneath: list[str], verify_count: int, create_count: int, call_count: int) -> None:
    table = Table("what", "count", "p50 ms", "p95 ms", "over direct, p50 ms")
    for name in beneath:
        await measure(name, verify_count, create_count, call_count, table)
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--beneath", nargs="+", default=["local"], choices=["local", "docker"])
    parser.add_argument("--verifies", type=int, default=60)
    parser.add_argument("--creates", type=int, default=20)
    parser.add_argument("--calls", type=int, default=60)
    arguments = parser.parse_args()
    anyio.run(main, arguments.beneath, arguments.verifies, arguments.creates, arguments.calls)
