"""What the dashboard costs: verifies a second, and the server's CPU time for one, with nobody looking and with three
who do, interleaved in one run; what it adds to one verify; and, with --soak, whether a page that stays open makes the
server or the browser grow. On a machine that others use too the CPU time says more than the rate.

python benchmarks/dashboard.py [--provider fake] [--rounds 6] [--seconds 8] [--soak 600]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2 as httpx
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sandbox_gym.contract import Judgement, Outcome, Plan, State, Status, TestResult, TestStatus, Verdict
from sandbox_gym.journal import Entry, Source
from sandbox_gym.server.dashboard.recent import Recent
from tests.load.servers import ServerProcess
from tests.server.fakes import verify_body

TOKEN: Final = "benchmark"
HEADERS: Final = {"Authorization": f"Bearer {TOKEN}"}
CONCURRENCY: Final = 8
VIEWERS: Final = 3
TESTS: Final = 10
_say = Console(highlight=False).print


def body() -> dict[str, object]:
    inputs = [str(number) for number in range(TESTS)]
    outputs = [str(2 * number) for number in range(TESTS)]
    row = {"task_id": "doubling", "unit_tests": {"inputs": inputs, "outputs": outputs}}
    return verify_body("```python\nprint(2 * int(input()))\n```", verifier_metadata=row)


async def rate(server: ServerProcess, seconds: float, viewers: int) -> tuple[float, float]:
    """(verifies a second, CPU milliseconds of the server's own process for one) while `viewers` read the stream."""
    done, end, url = 0, time.monotonic() + seconds, server.url

    async def verify(client: httpx.AsyncClient) -> None:
        nonlocal done
        while time.monotonic() < end:
            answer = await client.post(f"{url}/verify", json=body(), headers=HEADERS)
            if answer.status_code != 200:
                raise SystemExit(f"wrong answer: {answer.text[:500]}")
            done += 1

    async def look(client: httpx.AsyncClient) -> None:
        async with client.stream("GET", f"{url}/dashboard/api/events", headers=HEADERS) as answer:
            async for _ in answer.aiter_raw():
                pass

    started, spent = time.monotonic(), cpu_s(server.process.pid)
    async with httpx.AsyncClient(timeout=120) as client, anyio.create_task_group() as around:
        for _ in range(viewers):
            around.start_soon(look, client)
        async with anyio.create_task_group() as tasks:
            for _ in range(CONCURRENCY):
                tasks.start_soon(verify, client)
        around.cancel_scope.cancel()
    return done / (time.monotonic() - started), 1000 * (cpu_s(server.process.pid) - spent) / max(1, done)


def cpu_s(process_id: int) -> float:
    """What a process has used so far, its children apart."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def added_s(tests: int) -> float:
    """CPU seconds that a verify of so many tests spends for the dashboard: counted, weighed and put into the ring."""
    outcomes = tuple(Outcome(Status.OK, stdout=b"4\n") for _ in range(tests))
    results = tuple(TestResult(index, TestStatus.PASSED, score=1.0) for index in range(tests))
    timings = {"queue": 0.001, "acquire": 0.001, "run": 0.05, "judge": 0.001}
    verdict = Verdict(1.0, results, isolation="namespace", timings_s=timings)
    row = {"task_id": "t", "unit_tests": {"inputs": ["2"] * tests, "outputs": ["4"] * tests}}
    judgement = Judgement(Plan(()), State(outcomes, "namespace", "local"), verdict)
    recent = Recent(32 << 20)
    source = Source("coding", {}, row, "answer")
    entries = [
        Entry(f"{number:032x}", "coding", "local", source, (judgement,), 0.0, 0.1, {}, 1.0, tenant="tenant")
        for number in range(max(20, 20_000 // tests))
    ]
    started = time.process_time()
    for entry in entries:
        recent.finished(entry)
    return (time.process_time() - started) / len(entries)


def memory_mb(process_id: int) -> float:
    return int(Path(f"/proc/{process_id}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def soak(server: ServerProcess, seconds: float) -> list[dict[str, float]]:
    """Every 30 s: the server's resident MB, the page's heap in MB and its number of nodes, while verifies run."""
    from playwright.sync_api import sync_playwright  # only this part wants a browser

    found: list[dict[str, float]] = []
    end = time.monotonic() + seconds
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{server.url}/dashboard/login")
        page.fill("#token", TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("#link[data-state=live]")
        client = page.context.new_cdp_session(page)
        client.send("Performance.enable")
        document, verified = body(), 0
        with httpx.Client(timeout=60, headers=HEADERS) as verifies:
            while time.monotonic() < end:
                mark = min(end, time.monotonic() + 30)
                while time.monotonic() < mark:
                    verifies.post(f"{server.url}/verify", json=document)
                    verified += 1
                    page.wait_for_timeout(20)  # the browser's events are handled while it waits
                client.send("HeapProfiler.collectGarbage")
                metrics: dict[str, Any] = {
                    one["name"]: one["value"] for one in client.send("Performance.getMetrics")["metrics"]
                }
                sample = {
                    "verifies": float(verified),
                    "server_mb": round(memory_mb(server.process.pid), 1),
                    "heap_mb": round(metrics["JSHeapUsedSize"] / 1e6, 2),
                    "nodes": metrics["Nodes"],
                    "listeners": metrics["JSEventListeners"],
                }
                found.append(sample)
                _say(json.dumps(sample))
        browser.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--provider", default="local")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--soak", type=float, default=0.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    result: dict[str, object] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sandbox-gym-dashboard-")))
        settings = {"SANDBOX_GYM_TOKEN": TOKEN}
        server = stack.enter_context(ServerProcess(options.provider, folder, settings=settings))
        if options.soak:
            result["soak"] = soak(server, options.soak)
        else:
            anyio.run(rate, server, 3.0, 0)  # warm
            rates: dict[str, list[float]] = {"alone": [], "watched": []}
            costs: dict[str, list[float]] = {"alone": [], "watched": []}
            for number in range(2 * options.rounds):
                name = ("alone", "watched", "watched", "alone")[number % 4]  # ABBA: a drift of the machine hits both
                found, cost = anyio.run(rate, server, options.seconds, VIEWERS if name == "watched" else 0)
                rates[name].append(round(found, 2))
                costs[name].append(round(cost, 3))
                _say(f"{name}: {found:.2f} verifies/s, {cost:.3f} ms CPU each")
            result["verifies_per_s"], result["cpu_ms_per_verify"] = rates, costs
            result["median_per_s"] = {name: statistics.median(each) for name, each in rates.items()}
            result["median_cpu_ms"] = {name: statistics.median(each) for name, each in costs.items()}
            result["added_us"] = {tests: round(1e6 * added_s(tests), 1) for tests in (1, 10, 100, 1000, 10_000)}
    _say(json.dumps(result, indent=1))
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
