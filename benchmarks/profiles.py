"""Flame graphs of a server under load, of a supervisor, and of the zygote with the inits and programs below it.

python -m benchmarks.profiles --seconds 20      (py-spy, of the extra `bench`; as root, or with ptrace allowed)
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console

from benchmarks.side_by_side import cpu
from benchmarks.side_by_side.measure import Cell, slice_of
from benchmarks.side_by_side.systems.ours import Ours
from benchmarks.side_by_side.workloads import REPOSITORY, stdin_row

RESULTS = Path(__file__).resolve().parent / "results"
AT_ONCE = 8
RATE_HZ = 200
TRIES = 5


def below(pid: int, name: str) -> list[int]:
    """Every process of that name below `pid`, parents first."""
    found = []
    for child in cpu.children_of(pid):
        found += [child] if cpu.name_of(child) == name else []
        found += below(child, name)
    return found


def record(pid: int, path: Path, seconds: int, *, all_below: bool) -> None:
    """A flame graph of the process as SVG, without this machine's folders. Raises CalledProcessError."""
    py_spy = shutil.which("py-spy") or str(Path(sys.executable).with_name("py-spy"))
    command = [py_spy, "record", "--pid", str(pid), "--duration", str(seconds), "--rate", str(RATE_HZ), "--function"]
    command += ["--subprocesses"] if all_below else []
    subprocess.run([*command, "--output", str(path)], check=True, capture_output=True, timeout=seconds + 60)
    text = path.read_text()
    for folder in (path.resolve().parent, Path(py_spy).parent, Path(sys.prefix), REPOSITORY):
        text = text.replace(f"{folder}/", "")
    path.write_text(text)


async def main(seconds: int, out: Path) -> None:
    work = stdin_row(10)
    with tempfile.TemporaryDirectory(prefix="sandbox-gym-bench-") as made:
        async with Ours("local", "fork", Path(made)) as system:
            await system.prepare(work)
            cell = Cell(system.name, work.name, AT_ONCE, 10)
            await slice_of(system, work, AT_ONCE, at_least_s=2.0, cell=cell)
            for name in ("server", "supervisor", "runs"):
                path = out / f"profile_{name}.svg"
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_load, system, seconds + 3.0)
                    await anyio.to_thread.run_sync(_recorded, name, system.pids()[0], path, seconds)
                Console().print(f"wrote {path}")


def _recorded(name: str, server: int, path: Path, seconds: int) -> None:
    """Of what runs just now: a sandbox is replaced after so many tasks, and then another one's turn is taken."""
    for attempt in range(1, TRIES + 1):
        try:
            inside = below(server, "python3")
            pid = {"server": server, "supervisor": inside[0], "runs": below(inside[0], "python3")[0]}[name]
            return record(pid, path, seconds, all_below=name == "runs")
        except (IndexError, subprocess.CalledProcessError):
            if attempt == TRIES:
                raise
            time.sleep(0.2)


async def _load(system: Ours, seconds: float) -> None:
    work = stdin_row(10)
    await slice_of(system, work, AT_ONCE, at_least_s=seconds, cell=Cell(system.name, work.name, AT_ONCE, 10))


def command(
    seconds: Annotated[int, typer.Option(help="Of each recording.")] = 20,
    out: Annotated[Path, typer.Option(help="Folder for the SVG files.")] = RESULTS,
) -> None:
    anyio.run(main, seconds, out)


if __name__ == "__main__":
    typer.run(command)
