"""Verifies per second beside a bare `python3 -I -S` subprocess per test, interleaved in one run.

A trivial program with 10 tests, at 1, 8 and 32 concurrent verifies, on the local and docker providers. Prints a table;
ratios are what counts, the machine's noise cancels out of them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable

import anyio
from rich.console import Console
from rich.table import Table

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

PROGRAM = "print(int(input()) * 2)"
TESTS = 10
ROW = {"unit_tests": {"inputs": [str(n) for n in range(TESTS)], "outputs": [str(2 * n) for n in range(TESTS)]}}


async def bare() -> None:
    """The same ten tests, each a fresh interpreter without any isolation."""
    for n in range(TESTS):
        done = await anyio.run_process(["/usr/bin/python3", "-I", "-S", "-c", PROGRAM], input=str(n).encode())
        if done.stdout != f"{2 * n}\n".encode():
            raise SystemExit(f"the bare subprocess answered {done.stdout!r}")


async def measure(work: Callable[[], Awaitable[None]], concurrency: int, count: int) -> list[float]:
    """Seconds of each of `count` calls, and last the seconds of all."""
    took: list[float] = []
    left = count

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            started = time.perf_counter()
            await work()
            took.append(time.perf_counter() - started)

    started = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(concurrency):
            tasks.start_soon(worker)
    return [*took, time.perf_counter() - started]


async def main(rounds: int) -> None:
    table = Table("system", "concurrency", "verifies/s", "tests/s", "p50 ms", "p95 ms", "x bare")
    task = parse_task(ROW, limits=Settings().limits(), early_stop=True)
    async with (
        open_engine(Settings(provider="local")) as local,
        open_engine(Settings(provider="docker")) as docker,
    ):

        async def verify(engine: object) -> None:
            verdict = (await engine.verify(CodingVerifier(), task, Answer(PROGRAM))).verdict  # type: ignore[attr-defined]
            if verdict.reward != 1.0:
                raise SystemExit(f"wrong verdict: {verdict}")

        systems = {"bare subprocess": bare, "local": lambda: verify(local), "docker": lambda: verify(docker)}
        for concurrency in (1, 8, 32):
            samples: dict[str, list[float]] = {name: [] for name in systems}
            rates: dict[str, list[float]] = {name: [] for name in systems}
            for name in ("local", "docker"):
                await measure(systems[name], min(concurrency, 4), 8)  # warm
            for _ in range(rounds):
                for name, work in systems.items():
                    count = max(2 * concurrency, 16)
                    *took, total = await measure(work, concurrency, count)
                    samples[name] += took
                    rates[name].append(count / total)
            base = statistics.median(rates["bare subprocess"])
            for name in systems:
                rate, took = statistics.median(rates[name]), sorted(samples[name])
                p50, p95 = took[len(took) // 2], took[int(len(took) * 0.95)]
                cells = [f"{rate:.1f}", f"{rate * TESTS:.0f}", f"{p50 * 1e3:.0f}", f"{p95 * 1e3:.0f}"]
                table.add_row(name, str(concurrency), *cells, f"{rate / base:.2f}")
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    subprocess.run(["/usr/bin/python3", "--version"], check=True, capture_output=True)
    anyio.run(main, parser.parse_args().rounds)
