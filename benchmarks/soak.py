"""Whether the last verifies cost what the first did: time, memory, descriptors, mounts, cgroups.

python benchmarks/soak.py --verifies 10000                      # the engine in this process
python benchmarks/soak.py --verifies 100000 --served math       # a server over HTTP, its journal on
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import anyio
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.side_by_side.systems.serving import free_port, serving
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.server.protocol.envelope import response_of
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

ROW = {"unit_tests": {"inputs": ["1", "2", "3"], "outputs": ["2", "4", "6"]}}
STEP = 1000


def state() -> list[str]:
    """Resident MB, open descriptors, threads, mounts and cgroups of ours, children."""
    rss = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    groups = [path for path in Path("/sys/fs/cgroup").glob("**/sandbox_gym/*") if path.is_dir()]
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [
        f"{rss:.0f}",
        str(len(os.listdir("/proc/self/fd"))),
        status["Threads"].strip(),
        str(len(Path("/proc/self/mountinfo").read_text().splitlines())),
        str(len(groups)),
        str(len(children)),
    ]


async def thousand(engine: Engine, settings: Settings, count: int) -> float:
    """Seconds for `count` verifies, every other one wrong, four at a time."""
    task = parse_task(ROW, limits=settings.limits(), early_stop=True)
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            source = "print(2 * int(input()))" if number % 2 else "print('no')"
            verdict = (await engine.verify(CodingVerifier(), task, Answer(source))).verdict
            if verdict.reward != float(number % 2):
                raise SystemExit(f"wrong reward: {verdict}")

    started = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(worker)
    return time.perf_counter() - started


def body(server: str, number: int) -> dict[str, object]:
    """A verify whose reward is 1, different from all others."""
    if server == "math":
        row, answer = {"question": "?", "expected_answer": str(number)}, f"\\boxed{{{number}}}"
        return {"responses_create_params": {"input": "?"}, **row, "response": response_of(answer)}
    tests = {"inputs": [str(number)], "outputs": [str(2 * number)]}
    return {
        "responses_create_params": {"input": "?"},
        "verifier_metadata": {"unit_tests": tests},
        "response": response_of("```python\nprint(2 * int(input()))\n```"),
    }


def journal_mb(folder: Path) -> float:
    """What the server has on record."""
    return sum(path.stat().st_size for path in folder.glob("journal*")) / 1e6


async def served(server: str, provider: str, verifies: int) -> None:
    """Ten lines, each of a tenth of the verifies, 16 at once."""
    port = free_port()
    command = [sys.executable, "-m", "sandbox_gym", "serve", server, "--port", str(port), "--provider", provider]
    table = Table("verifies", "s for these", "RSS MB", "fds", "journal MB", title=f"serve {server}, {provider}")
    with tempfile.TemporaryDirectory() as folder:
        environment = {"SANDBOX_GYM_STATE_DIR": folder}
        async with serving(command, port, Path(folder) / "log", environment=environment) as running:

            async def tenth(first: int, count: int) -> float:
                """Seconds that these verifies took."""
                numbers = iter(range(first, first + count))
                started = time.perf_counter()

                async def worker() -> None:
                    for number in numbers:
                        answer = await running.post("/verify", body(server, number))
                        if answer["reward"] != 1.0:
                            raise SystemExit(f"verify {number}: {answer}")

                async with anyio.create_task_group() as tasks:
                    for _ in range(16):
                        tasks.start_soon(worker)
                return time.perf_counter() - started

            for done in range(0, verifies, verifies // 10):
                took = await tenth(done, verifies // 10)
                process = Path(f"/proc/{running.pid}")
                rss = int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
                kept = journal_mb(Path(folder))
                fds = len(os.listdir(process / "fd"))
                table.add_row(str(done + verifies // 10), f"{took:.1f}", f"{rss:.0f}", str(fds), f"{kept:.0f}")
    Console().print(table)


async def main(provider: str, verifies: int) -> None:
    settings = Settings.model_validate({"provider": provider, "boxes": 4})
    table = Table(
        "verifies", "s for these", "RSS MB", "fds", "threads", "mounts", "cgroups", "children", title=provider
    )
    async with open_engine(settings) as engine:
        await thousand(engine, settings, 20)
        table.add_row("warm", "-", *state())
        for done in range(0, verifies, STEP):
            took = await thousand(engine, settings, min(STEP, verifies - done))
            table.add_row(str(done + STEP), f"{took:.1f}", *state())
    table.add_row("closed", "-", *state())
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--provider", default="local", choices=["local", "docker"])
    parser.add_argument("--verifies", type=int, default=10_000)
    parser.add_argument("--served", choices=["coding", "math"])
    arguments = parser.parse_args()
    if arguments.served:
        anyio.run(served, arguments.served, arguments.provider, arguments.verifies)
    else:
        anyio.run(main, arguments.provider, arguments.verifies)
