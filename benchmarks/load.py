"""A starved machine: verifies with known verdicts on a real server while 40 processes want each core.

python -m benchmarks.load --minutes 10 --per-core 40      (as root, so that boxes have control groups)

The load is spinning processes beside the server and the server's own boxes. Rows are Python, C++ and functions: right
ones that need little CPU, right ones that need some, and wrong ones. Counted: right verdicts, wrong ones, those that
took more than one try, and those without a verdict.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import anyio
import httpx2 as httpx
import typer
from rich.console import Console

from sandbox_gym.server.protocol.envelope import response_of
from tests.load.servers import ServerProcess

SPIN = "while True: pass"
TIME_LIMIT_S = 4
ANSWER_S = 900.0
Document = dict[str, Any]
PYTHON = "{work}print(2 * int(input()))\n# {salt}"
WORK = "total = 0\nfor n in range({steps}): total += n\n"
CPP = """#include <iostream>
#include <map>
#include <string>
#include <vector>
// {salt}
int main() {{
    long long n; std::cin >> n;
    std::map<std::string, long long> seen;
    for (int i = 0; i < {steps}; i++) seen[std::to_string(i % 1000)] += i;
    std::cout << (seen.empty() ? 0 : 2 * n) << std::endl;
}}
"""
FUNCTION = "def double(n):\n    return {result}\n# {salt}"


@dataclass(frozen=True)
class Row:
    kind: str
    body: Document
    reward: float


@dataclass
class Report:
    """`failed`: right answers with reward 0, and what was said of them; `praised`: wrong ones with reward 1."""

    right: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    praised: list[str] = field(default_factory=list)
    masked: Counter[str] = field(default_factory=Counter)
    tried_again: int = 0
    seconds: float = 0.0
    loads: list[float] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.right.total() + len(self.failed) + len(self.praised) + self.masked.total()

    @property
    def masked_share(self) -> float:
        return self.masked.total() / max(1, self.total)

    def lines(self) -> list[str]:
        load = f"{min(self.loads, default=0):.0f} to {max(self.loads, default=0):.0f}"
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(self.right.items()))
        masked = ", ".join(f"{number} {kind}" for kind, number in self.masked.most_common())
        return [
            f"{self.total} verifies in {self.seconds:.0f} s, load average {load} on {os.cpu_count()} cores",
            f"right: {self.right.total()} ({kinds})",
            f"right answers that failed: {len(self.failed)}; wrong answers that passed: {len(self.praised)}",
            f"tried again: {self.tried_again}",
            f"masked: {self.masked.total()}, {100 * self.masked_share:.1f} % ({masked})",
            *(f"  ! {one}" for one in self.failed + self.praised),
        ]


def row(number: int, chance: random.Random) -> Row:
    """One of eight kinds; no program comes twice."""
    salt, value = chance.random(), chance.randrange(1000)
    stdin = {"inputs": [str(value), str(value + 1)], "outputs": [str(2 * value), str(2 * value + 2)]}
    quick, busy = PYTHON.format(work="", salt=salt), PYTHON.format(work=WORK.format(steps=4_000_000), salt=salt)
    call = {"fn_name": "double", "inputs": [str(value + 1)], "outputs": [str(2 * value + 2)]}
    kinds: list[tuple[str, str, str, Document, float]] = [
        ("python", "python", quick, stdin, 1.0),
        ("c++", "cpp", CPP.format(salt=salt, steps=1000), stdin, 1.0),
        ("busy python", "python", busy, stdin, 1.0),
        ("function", "python", FUNCTION.format(result="2 * n", salt=salt), call, 1.0),
        ("busy c++", "cpp", CPP.format(salt=salt, steps=3_000_000), stdin, 1.0),
        ("wrong python", "python", quick.replace("2 *", "3 +"), {**stdin, "outputs": ["-1", "-1"]}, 0.0),
        ("python", "python", quick, stdin, 1.0),
        ("wrong c++", "cpp", CPP.format(salt=salt, steps=10).replace("2 * n", "-n - 1"), stdin, 0.0),
    ]
    kind, language, source, tests, reward = kinds[number % len(kinds)]
    metadata = {"unit_tests": tests, **({"language": language} if language != "python" else {})}
    return Row(
        kind,
        {
            "responses_create_params": {"input": []},
            "response": response_of(f"```{language}\n{source}\n```"),
            "verifier_metadata": metadata,
        },
        reward,
    )


@contextmanager
def spinning(count: int) -> Iterator[None]:
    """So many processes that want a core each."""
    started = [subprocess.Popen([sys.executable, "-S", "-c", SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


async def ask(client: httpx.AsyncClient, one: Row, report: Report) -> None:
    """One verify; 429 and 503 are no verdict, as a trainer would have it that asks only once."""
    reply = await client.post("/verify", json=one.body, headers={"X-Sandbox-Gym-Deadline-S": "600"})
    answer = reply.json()
    verdict = answer.get("verdict") or {}
    report.tried_again += int(verdict.get("attempts", 1)) > 1
    if answer.get("mask_sample") or reply.status_code in (429, 503):
        report.masked[str(answer.get("failure_kind"))] += 1
    elif reply.status_code != 200:
        report.failed.append(f"{one.kind}: {reply.status_code}: {reply.text[:200]}")
    elif answer["reward"] == one.reward:
        report.right[one.kind] += 1
    else:
        why = verdict.get("tests", [])[:1] or verdict.get("failure_reason")
        (report.failed if one.reward else report.praised).append(f"{one.kind}: {why}")


async def measured(url: str, *, minutes: float, at_once: int, seed: int) -> Report:
    """What came of all verifies that began within the minutes."""
    report, chance, number = Report(), random.Random(seed), iter(range(1 << 40))
    began = time.monotonic()

    async def caller(client: httpx.AsyncClient) -> None:
        while time.monotonic() - began < 60 * minutes:
            await ask(client, row(next(number), chance), report)

    async def watch() -> None:
        while True:
            await anyio.sleep(5)
            report.loads.append(os.getloadavg()[0])

    limits = httpx.Limits(max_connections=at_once)
    async with httpx.AsyncClient(base_url=url, timeout=ANSWER_S, limits=limits) as client:
        for warm in range(8):
            await ask(client, row(warm, random.Random(f"{seed} warm {warm}")), Report())
        async with anyio.create_task_group() as watching:
            watching.start_soon(watch)
            async with anyio.create_task_group() as callers:
                for _ in range(at_once):
                    callers.start_soon(caller, client)
            watching.cancel_scope.cancel()
    report.seconds = time.monotonic() - began
    return report


def under_load(minutes: float, per_core: int, seed: int, *, provider: str = "local") -> Report:
    """A server of its own, and a machine where `per_core` processes want each core: its boxes, and the rest spin."""
    cores = os.cpu_count() or 1
    boxes = 2 * cores
    settings = {"SANDBOX_GYM_TIME_LIMIT_S": str(TIME_LIMIT_S), "SANDBOX_GYM_BOXES": str(boxes)}
    with (
        tempfile.TemporaryDirectory(prefix="sg-load-") as folder,
        ServerProcess(provider, Path(folder), settings=settings) as server,
        spinning(max(0, per_core * cores - boxes)),
    ):
        return anyio.run(lambda: measured(server.url, minutes=minutes, at_once=2 * boxes, seed=seed))


def main(
    minutes: Annotated[float, typer.Option(help="how long verifies are sent")] = 10.0,
    per_core: Annotated[int, typer.Option(help="processes that want each core")] = 40,
    seed: Annotated[int, typer.Option(help="decides programs and inputs")] = 1,
    provider: Annotated[str, typer.Option(help="local or docker")] = "local",
) -> None:
    """Verify on a starved machine and print what became of right and wrong answers."""
    report = under_load(minutes, per_core, seed, provider=provider)
    Console(soft_wrap=True, markup=False, highlight=False).print("\n".join(report.lines()))
    raise typer.Exit(1 if report.failed or report.praised or report.masked_share > 0.02 else 0)


if __name__ == "__main__":
    typer.run(main)
