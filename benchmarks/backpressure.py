"""2,000 verifies at once against a queue of 200: what is refused, what obeying clients get in the end, and memory.

python benchmarks/backpressure.py --verifies 2000 --queue 200
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import anyio
import httpx2 as httpx
from rich.console import Console
from rich.table import Table


def body(number: int) -> dict[str, object]:
    """A verify whose reward is 1.0 for odd numbers and 0.0 for even ones."""
    source = "print(2 * int(input()))" if number % 2 else "print('no')"
    text = {"type": "output_text", "annotations": [], "text": f"```python\n{source}\n```"}
    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    response = {
        "id": "r", "created_at": 0, "model": "m", "object": "response", "parallel_tool_calls": False,
        "tool_choice": "auto", "tools": [], "output": [message],
    }  # fmt: skip
    tests = {"inputs": [str(number)], "outputs": [str(2 * number)]}
    return {
        "responses_create_params": {"input": "Double it."},
        "response": response,
        "verifier_metadata": {"unit_tests": tests},
    }


def rss_mb(pid: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(verifies: int, queue: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SANDBOX_GYM_QUEUE_SIZE": str(queue), "SANDBOX_GYM_STATE_DIR": folder}
        log = Path(folder) / "log"
        command = [sys.executable, "-m", "sandbox_gym", "serve", "coding", "--port", "0"]
        with log.open("wb") as output:
            server = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        try:
            anyio.run(flood, server.pid, address(log), verifies)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)


def address(log: Path) -> str:
    """Where the server listens, once it says so."""
    for _ in range(600):
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
        if found:
            return found[0]
        time.sleep(0.1)
    raise SystemExit(log.read_text())


async def flood(pid: int, url: str, verifies: int) -> None:
    statuses: Counter[int] = Counter()
    rewards: dict[int, float] = {}
    no_retry_after = 0
    before, peak = rss_mb(pid), 0.0
    started = time.perf_counter()

    async def one(number: int) -> None:
        nonlocal no_retry_after
        while number not in rewards:
            reply = await client.post("/verify", json=body(number))
            statuses[reply.status_code] += 1
            if reply.status_code == 200:
                rewards[number] = reply.json()["reward"]
                return
            no_retry_after += "Retry-After" not in reply.headers
            await anyio.sleep(float(reply.headers.get("Retry-After", 1)))

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, rss_mb(pid))
            await anyio.sleep(0.1)

    limits = httpx.Limits(max_connections=None)
    async with (
        httpx.AsyncClient(base_url=url, timeout=600, limits=limits) as client,
        anyio.create_task_group() as outer,
    ):
        outer.start_soon(watch)
        async with anyio.create_task_group() as tasks:
            for number in range(verifies):
                tasks.start_soon(one, number)
        outer.cancel_scope.cancel()
    wrong = [number for number, reward in rewards.items() if reward != float(number % 2)]
    table = Table("what", "figure", title=f"{verifies} verifies at once")
    table.add_row("answered 200", str(statuses[200]))
    table.add_row("refused 429", str(statuses[429]))
    table.add_row("any other status", str(sum(statuses.values()) - statuses[200] - statuses[429]))
    table.add_row("refused without Retry-After", str(no_retry_after))
    table.add_row("wrong rewards", str(len(wrong)))
    table.add_row("seconds", f"{time.perf_counter() - started:.1f}")
    table.add_row("server memory before / peak / after, MB", f"{before:.0f} / {peak:.0f} / {rss_mb(pid):.0f}")
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verifies", type=int, default=2000)
    parser.add_argument("--queue", type=int, default=200)
    arguments = parser.parse_args()
    main(arguments.verifies, arguments.queue)
