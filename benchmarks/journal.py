"""What the journal costs a verify: none, SQLite and PostgreSQL, without a key and with one.

In-process ASGI over fake boxes, so that the journal is most of what is measured; each mode is run several times in
turn and the median is shown. PostgreSQL is measured under `tests/with-postgres.sh`.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import httpx2 as httpx
import typer
from rich.console import Console
from rich.table import Table

from sandbox_gym.config import Settings
from sandbox_gym.contract import Run
from sandbox_gym.engine import Engine, local_engine
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.server import CodingResources

TESTS = 10
ROW = {
    "unit_tests": {
        "inputs": [f"{number}\n" * 50 for number in range(TESTS)],
        "outputs": [f"{number}\n" * 50 for number in range(TESTS)],
    }
}


def body(number: int) -> dict[str, object]:
    """A right answer of usual length, different from every other."""
    code = f"# rollout {number}\nimport sys\nsys.stdout.write(sys.stdin.read())\n" + "# thinking\n" * 100
    message = {"type": "message", "content": [{"type": "output_text", "text": f"```python\n{code}```"}]}
    return {"responses_create_params": {"input": []}, "response": {"output": [message]}, "verifier_metadata": ROW}


@asynccontextmanager
async def engine() -> AsyncIterator[Engine]:
    pool = Pool(FakeProvider(echo), boxes=32, box_max_tasks=1000, queue_size=1000)
    try:
        yield local_engine(pool)
    finally:
        await pool.aclose()


def echo(run: Run) -> Behaviour:
    return Behaviour(stdout=run.stdin)


async def measure(url: str | None, *, keyed: bool, verifies: int, concurrency: int) -> tuple[float, list[float]]:
    """Verifies a second, and the seconds that each took."""
    settings = Settings.model_validate({"provider": "fake"})
    app = build_app(CodingResources(settings), engine, settings, journal_url=url)
    times: list[float] = []
    limiter = anyio.CapacityLimiter(concurrency)
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://b") as client:

        async def one(number: int) -> None:
            async with limiter:
                headers = {"Idempotency-Key": uuid.uuid4().hex} if keyed else {}
                started = time.perf_counter()
                answer = await client.post("/verify", json=body(number), headers=headers)
                times.append(time.perf_counter() - started)
                assert answer.json()["reward"] == 1.0

        await one(-1)
        times.clear()
        started = time.perf_counter()
        async with anyio.create_task_group() as group:
            for number in range(verifies):
                group.start_soon(one, number)
        took_s = time.perf_counter() - started
    return verifies / took_s, times


def main(
    verifies: Annotated[int, typer.Option(help="In each run.")] = 500,
    runs: Annotated[int, typer.Option(help="Of each mode.")] = 5,
    concurrency: Annotated[int, typer.Option()] = 16,
) -> None:
    postgres = os.environ.get("SANDBOX_GYM_TEST_POSTGRES")
    with tempfile.TemporaryDirectory() as folder:
        sqlite = str(Path(folder) / "journal.sqlite")
        modes: list[tuple[str, str | None, bool]] = [
            ("no journal", None, False),
            ("SQLite", sqlite, False),
            ("SQLite, keyed", sqlite, True),
        ]
        if postgres:
            modes += [("PostgreSQL", postgres, False), ("PostgreSQL, keyed", postgres, True)]
        rates: dict[str, list[float]] = {name: [] for name, _, _ in modes}
        times: dict[str, list[float]] = {name: [] for name, _, _ in modes}
        for _ in range(runs):
            for name, url, keyed in modes:
                work = partial(measure, url, keyed=keyed, verifies=verifies, concurrency=concurrency)
                rate, each = anyio.run(work)
                rates[name].append(rate)
                times[name] += each
    shown = Table(title=f"{runs} runs of {verifies} verifies of {TESTS} tests, {concurrency} at once")
    for column in ("journal", "verifies/s (median)", "p50 ms", "p95 ms"):
        shown.add_column(column, justify="left" if column == "journal" else "right")
    for name, found in times.items():
        p50, p95 = statistics.median(found), statistics.quantiles(found, n=20)[-1]
        shown.add_row(name, f"{statistics.median(rates[name]):.0f}", f"{1000 * p50:.1f}", f"{1000 * p95:.1f}")
    Console().print(shown)


if __name__ == "__main__":
    typer.run(main)
