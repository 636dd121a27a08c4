"""Ours and its peers on the same work, on this machine, in one run, in turns.

Run as `make bench`, or `python -m benchmarks.side_by_side --quick`. Writes side_by_side.json, side_by_side.md and
pictures. Exit code 1 where ours gave a wrong verdict or an error; goals that are missed are told, and are no error.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.markdown import Markdown

from benchmarks.side_by_side import machine, plots, report, scale, workloads
from benchmarks.side_by_side.measure import Cell, side_by_side
from benchmarks.side_by_side.systems.bare_fork import BareFork
from benchmarks.side_by_side.systems.bare_subprocess import BareSubprocess
from benchmarks.side_by_side.systems.base import System
from benchmarks.side_by_side.systems.code_gen import CodeGen
from benchmarks.side_by_side.systems.docker_exec import DockerExec
from benchmarks.side_by_side.systems.fusion import Fusion
from benchmarks.side_by_side.systems.ours import Ours

RESULTS = Path(__file__).resolve().parents[1] / "results"
README_FROM, README_TO = "<!-- bench -->", "<!-- /bench -->"


def every_system(folder: Path, earlier: Path | None) -> list[System]:
    other = [] if earlier is None else [Ours("local", "fork", folder, checkout=earlier)]
    return [
        *other,
        Ours("local", "fork", folder),
        Ours("local", "exec", folder),
        Ours("docker", "fork", folder),
        CodeGen(folder),
        Fusion(folder),
        BareSubprocess(),
        BareFork(),
        DockerExec(),
    ]


def chosen(names: Sequence[str] | None, there: Sequence[str], what: str) -> set[str]:
    if unknown := set(names or ()) - set(there):
        raise typer.BadParameter(f"no such {what}: {', '.join(sorted(unknown))}; there are {', '.join(there)}")
    return set(names or there)


async def measured(
    work: Sequence[workloads.Workload],
    only: Sequence[str] | None,
    *,
    rounds: int,
    slice_s: float,
    seed: int,
    curves: tuple[Sequence[int], Sequence[int]],
    console: Console,
    earlier: Path | None = None,
) -> report.Report:
    """Everything, in one run."""
    began = time.monotonic()

    def say(text: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:5.0f} s[/] {text}", highlight=False)

    facts = machine.facts()
    cells: list[Cell] = []
    concurrency: list[scale.Point] = []
    tests: list[scale.Point] = []
    with tempfile.TemporaryDirectory(prefix="sandbox-gym-bench-") as made:
        systems = every_system(Path(made), earlier)
        wanted = chosen(only, [system.name for system in systems], "system")
        systems = [system for system in systems if system.name in wanted]
        async with AsyncExitStack() as stack:
            for system in systems:
                await stack.enter_async_context(system)
            for one in work:
                cells += await side_by_side(systems, one, rounds=rounds, slice_s=slice_s, seed=seed, say=say)
        if any(curves):
            async with Ours("local", "fork", Path(made) / "scale") as alone:
                concurrency = await scale.by_concurrency(alone, curves[0], say)
                tests = await scale.by_tests(alone, curves[1], say)
        settings = {"rounds": rounds, "slice_s": slice_s, "seed": seed, "took_s": round(time.monotonic() - began)}
        return report.Report(facts, settings, systems, work, cells, concurrency, tests)


def write_readme(found: report.Report, path: Path) -> None:
    """Put the short table between the README's marks, where it has them."""
    text = path.read_text()
    head, mark, rest = text.partition(README_FROM)
    if mark:
        tail = rest.partition(README_TO)[2]
        table = "\n".join(report.short_table(found))
        path.write_text(f"{head}{README_FROM}\n{table}\n{README_TO}{tail}")


def ours_is_wrong(found: report.Report) -> list[str]:
    """Cells of ours with a wrong verdict or an error."""
    bad = [
        f"{c.system}, {c.workload}, {c.concurrency} at once: {sum(s.wrong for s in c.slices)} wrong,"
        f" {sum(s.errors for s in c.slices)} errors {c.note}"
        for c in found.cells
        if c.system.startswith("ours") and any(s.wrong or s.errors for s in c.slices)
    ]
    for point in (*found.concurrency, *found.tests):
        if point.wrong or point.errors:
            bad.append(f"{point.at_once} at once, {point.tests} tests: {point.wrong} wrong, {point.errors} errors")
    return bad


def main(
    quick: Annotated[
        bool, typer.Option("--quick", help="Two minutes: short slices, fewer rounds, small curves.")
    ] = False,
    only: Annotated[list[str] | None, typer.Option(help="Names of systems; else all.")] = None,
    work: Annotated[list[str] | None, typer.Option(help="Names of workloads; else all.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1)] = None,
    slice_s: Annotated[float | None, typer.Option(help="Seconds of one turn, at least.")] = None,
    seed: Annotated[int, typer.Option(help="Of the order of turns.")] = 9,
    without_scale: Annotated[bool, typer.Option("--without-scale", help="No cost curves.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for what is written.")] = RESULTS,
    earlier: Annotated[
        Path | None, typer.Option(help="Another checkout of sandbox_gym, measured beside this one as ours-earlier.")
    ] = None,
    readme: Annotated[Path | None, typer.Option(help="Put the short table into this file, between its marks.")] = None,
) -> None:
    console = Console(width=150)
    there = workloads.every(quick=quick)
    names = chosen(work, [one.name for one in there], "workload")
    curves = ((1, 10, 100), (10, 100)) if quick else (scale.AT_ONCE, scale.TESTS)
    found = anyio.run(
        lambda: measured(
            [one for one in there if one.name in names],
            only,
            rounds=rounds or (2 if quick else 5),
            slice_s=slice_s or (0.3 if quick else 1.5),
            seed=seed,
            curves=((), ()) if without_scale else curves,
            console=console,
            earlier=earlier,
        )
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / "side_by_side.json").write_text(report.as_json(found))
    text = report.markdown(found)
    (out / "side_by_side.md").write_text(text)
    if find_spec("matplotlib") is None:
        console.print("no pictures: pip install 'sandbox-gym[bench]'")
    else:
        plots.draw(found, out)
    if readme is not None:
        write_readme(found, readme)
    console.print(Markdown(text))
    wrong = ours_is_wrong(found)
    for line in wrong:
        console.print(f"[red]{line}[/]")
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
