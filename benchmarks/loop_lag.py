"""How late the event loop is while candidates send replies of 16 MB, and what becomes of the verifies beside them.

python -m benchmarks.loop_lag --rounds 3
"""

from __future__ import annotations

import argparse
import time

import anyio
from rich.console import Console
from rich.table import Table

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

ROW = {"unit_tests": {"fn_name": "f", "inputs": ["1"], "outputs": ["1"]}}
HONEST = "def f(x):\n    return x"
FLOOD = """
import os
def f(x):
    body = ({body}).encode()
    data = len(body).to_bytes(4, "big") + body
    while data:
        data = data[os.write(3, data):]
    os._exit(0)
"""
BODIES = {
    "none": "",
    "deep brackets": '"[" * (16 << 20)',
    "tiny rows": '\'{"value":["l",[\' + \'["l",[]],\' * 1_700_000 + "1]]}"',
    "tiny rows, as many as are read": '\'{"value":["l",[\' + \'["l",[]],\' * 120_000 + "1]]}"',
    "floats, as many as are read": '\'{"value":["l",[\' + \'["f","0x1.8p-900"],\' * 160_000 + "1]]}"',
    "strings": '\'{"value":["l",[\' + \'"",\' * 5_000_000 + "1]]}"',
    "strings, as many as are read": '\'{"value":["l",[\' + \'"ab",\' * 490_000 + "1]]}"',
    "long digits": '\'{"value":\' + "9" * (15 << 20) + "}"',
    "hexadecimal digits": '\'{"value":["i","0x\' + "f" * (15 << 20) + \'"]}\'',
    "escapes": '\'{"value":"\' + r"\\n" * (7 << 20) + \'"}\'',
    "wide text": '\'{"value":"\' + chr(0x1F600) + "a" * (15 << 20) + \'"}\'',
    "slow keys": '\'{"value":["s",[\' + ",".join(\'["i","%#x"]\' % (i << 20) for i in range(160_000)) + "]]}"',
}
EVERY_S = 0.01


async def judged(engine: Engine, source: str) -> Verdict:
    task = parse_task(ROW, limits=Settings().limits(), early_stop=True)
    return (await engine.verify(CodingVerifier(), task, Answer(f"```python\n{source}\n```"))).verdict


async def main(rounds: int) -> None:
    table = Table("reply", "verify s", "lag p50 ms", "p99 ms", "max ms", "honest", "tried again")
    async with open_engine(Settings(provider="local", boxes=3)) as engine:
        for name, body in BODIES.items():
            table.add_row(name, *await measured(engine, FLOOD.format(body=body) if body else HONEST, rounds))
    Console().print(table)


async def measured(engine: Engine, source: str, rounds: int) -> list[str]:
    lags: list[float] = []
    honest: list[Verdict] = []
    took = 0.0

    async def measure() -> None:
        while True:
            due = time.perf_counter() + EVERY_S
            await anyio.sleep(EVERY_S)
            lags.append(time.perf_counter() - due)

    async def beside() -> None:
        while True:
            honest.append(await judged(engine, HONEST))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(measure)
        tasks.start_soon(beside)
        for _ in range(rounds):
            began = time.perf_counter()
            await judged(engine, source)
            took += time.perf_counter() - began
        tasks.cancel_scope.cancel()
    lags.sort()
    shown = (lags[len(lags) // 2], lags[int(len(lags) * 0.99)], lags[-1])
    right = sum(verdict.reward == 1.0 for verdict in honest)
    again = sum(verdict.attempts > 1 for verdict in honest)
    return [f"{took / rounds:.2f}", *(f"{1000 * lag:.1f}" for lag in shown), f"{right}/{len(honest)}", str(again)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    anyio.run(main, parser.parse_args().rounds)
