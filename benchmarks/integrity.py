"""Which graders pay for reward hacks: every payload of tests/attacks and its honest control, through ours and peers.

Run as `python -m benchmarks.integrity`; `--swe-rows FILE` adds the hostile patches, with swebench beside us.
Exit code 1 where ours accepts a payload, rejects a control or is silent.
Peers are an in-process grader of LiveCodeBench's kind, one of HumanEval's kind, and the package EvalPlus itself; each
verdict is made in a process of its own, the peers' in a jail. Some payloads were written against one of them, some
against ours, some against nobody's in particular: all see all that they have a form for.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console

from benchmarks.graders import contain, report, repositories
from benchmarks.graders.corpus import FOLDER, Attack, Job, attacks
from benchmarks.graders.report import Outcome, Result
from benchmarks.graders.verdict import ACCEPTED, REJECTED

OURS = "sandbox_gym"
EVALPLUS = "evalplus"
EVALPLUS_PACKAGES = ("--no-deps", "evalplus==0.3.1", "numpy", "psutil")
"""What `evalplus.eval` imports; its other dependencies call models."""
NEW = "new"
"""An environment is made for a peer."""
ANSWERS, REPOSITORIES = "Reward hacks, by grader", "Reward hacks in patches of repositories, by grader"
DETAIL_CHARS = 120
TABLE_CHARS = 140


@dataclass(frozen=True)
class Grader:
    name: str
    command: Callable[[Attack, str], list[str]]
    """What judges a file of an attack's folder."""
    form: Callable[[Job], Job | None] = lambda job: job
    """The job in the form of its kind, None where there is none."""
    jailed: bool = True


def ours() -> Grader:
    def command(attack: Attack, source: str) -> list[str]:
        return [sys.executable, "-m", "benchmarks.graders.ours", str(attack.folder), source]

    return Grader(OURS, command, jailed=False)


def peer(name: str, module: str, form: Callable[[Job], Job | None], python: str = sys.executable) -> Grader:
    jail = contain.jailed(python, f"benchmarks.graders.{module}")
    return Grader(name, lambda _attack, _source: jail, form)


def livecodebench_style() -> Grader:
    return peer("LiveCodeBench-style", "livecodebench_style", Job.as_cases)


def humaneval_style() -> Grader:
    return peer("HumanEval-style", "humaneval_style", Job.as_check)


def evalplus(python: str) -> Grader:
    """The package, named with its version, in the environment of `python`."""
    ask = "import importlib.metadata as m; print(m.version('evalplus'))"
    version = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True, timeout=60).stdout.strip()
    return peer(f"{EVALPLUS} {version}", "evalplus_package", Job.as_calls, python)


def install(folder: Path, *packages: str) -> str:
    """An environment of its own, so that a peer is never among our dependencies; returns its interpreter."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *packages], check=True, timeout=900)
    return python


def of_answers(
    stack: ExitStack, chosen: Sequence[Attack], evalplus_python: str, wall_s: float, jobs: int
) -> list[Result]:
    """Programs and functions, on ours and three peers; on two where no `evalplus_python` is named."""
    graders = [ours(), livecodebench_style(), humaneval_style()]
    if evalplus_python:
        graders.append(evalplus(made_or_given(stack, evalplus_python, EVALPLUS_PACKAGES)))
    return anyio.run(measure, graders, chosen, wall_s, jobs)


def of_repositories(stack: ExitStack, data: Path, swebench_python: str, only: Sequence[str]) -> list[Result]:
    """The hostile patches, on ours and on swebench's grading."""
    rows = {row["instance_id"]: row for row in map(json.loads, data.read_text().splitlines())}
    chosen = [patch for patch in repositories.patches() if not only or patch.name in only]
    python = made_or_given(stack, swebench_python or NEW, repositories.SWEBENCH_PACKAGES)
    swebench = stack.enter_context(closing(repositories.Swebench(python)))
    state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="integrity-")))
    return anyio.run(repositories.measured, rows, chosen, OURS, swebench, state)


def made_or_given(stack: ExitStack, python: str, packages: Sequence[str]) -> str:
    """The interpreter of an environment that has a peer."""
    if python != NEW:
        return python
    return install(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="integrity-"))), *packages)


async def judge(grader: Grader, attack: Attack, wall_s: float) -> Result:
    """The payload first, then the control, which is harmless also where the payload is not."""
    if grader.form(attack.job("payload")) is None:
        return Result(grader.name, attack.name, Outcome.OTHER_FORM, Outcome.OTHER_FORM)
    control, _ = await outcome(grader, attack, "honest", wall_s)
    if grader.jailed and attack.danger:
        return Result(grader.name, attack.name, Outcome.DANGEROUS, control, attack.danger)
    payload, tail = await outcome(grader, attack, "payload", wall_s)
    lines = tail.strip().splitlines() if payload is Outcome.CRASHED else []
    detail = "".join(char for char in lines[-1] if char.isprintable())[:DETAIL_CHARS] if lines else ""
    return Result(grader.name, attack.name, payload, control, detail)


async def outcome(grader: Grader, attack: Attack, source: str, wall_s: float) -> tuple[Outcome, str]:
    job = grader.form(attack.job(source))
    assert job is not None, "asked before"
    command = grader.command(attack, source)
    if grader.jailed:
        async with contain.capped(command) as inside:
            ended = await contain.run(inside, job.to_json(), wall_s)
    else:
        ended = await contain.run(command, "", wall_s)
    codes = {ACCEPTED: Outcome.ACCEPTED, REJECTED: Outcome.REJECTED, None: Outcome.HUNG}
    return codes.get(ended.code, Outcome.CRASHED), ended.tail


async def measure(graders: Sequence[Grader], chosen: Sequence[Attack], wall_s: float, jobs: int) -> list[Result]:
    """Every grader on every attack, `jobs` at once; sorted by attack, graders in their order."""
    found: dict[tuple[str, str], Result] = {}
    limiter = anyio.CapacityLimiter(jobs)

    async def one(grader: Grader, attack: Attack) -> None:
        async with limiter:
            found[attack.name, grader.name] = await judge(grader, attack, wall_s)

    async with anyio.create_task_group() as tasks:
        for attack in chosen:
            for grader in graders:
                tasks.start_soon(one, grader, attack)
    return [found[attack.name, grader.name] for attack in chosen for grader in graders]


def main(
    evalplus_python: Annotated[str, typer.Option(help="An interpreter with evalplus; else one is made.")] = "",
    without_evalplus: Annotated[bool, typer.Option("--without-evalplus", help="Where PyPI can't be reached.")] = False,
    swe_rows: Annotated[str, typer.Option(help="The rows that hostile patches are for; else none is run.")] = "",
    swebench_python: Annotated[str, typer.Option(help="An interpreter with swebench; else one is made.")] = "",
    folder: Annotated[Path, typer.Option("--attacks", help="Folders of row.json, payload.*, honest.*.")] = FOLDER,
    only: Annotated[list[str] | None, typer.Option(help="Names of attacks; else all.")] = None,
    wall_s: Annotated[float, typer.Option(help="For each verdict.")] = 45.0,
    jobs: Annotated[int, typer.Option(help="Verdicts at once.")] = 2,
    json_file: Annotated[Path | None, typer.Option("--json")] = None,
    markdown_file: Annotated[Path | None, typer.Option("--markdown")] = None,
) -> None:
    chosen = [attack for attack in attacks(folder) if not only or attack.name in only]
    known = {attack.name for attack in chosen} | {patch.name for patch in repositories.patches() if swe_rows}
    if unknown := set(only or ()) - known:
        raise typer.BadParameter(f"no such attack: {', '.join(sorted(unknown))}")
    with ExitStack() as stack:
        results = of_answers(stack, chosen, "" if without_evalplus else evalplus_python or NEW, wall_s, jobs)
        swe = of_repositories(stack, Path(swe_rows), swebench_python, only or ()) if swe_rows else []
    tables = [(title, found) for title, found in ((ANSWERS, results), (REPOSITORIES, swe)) if found]
    console = Console(width=TABLE_CHARS)
    for _, found in tables:
        console.print(report.table(report.tallies(found)))
    for attack in chosen:
        if attack.danger:
            console.print(f"not run by peers: {attack.name}, {attack.danger}")
    if json_file:
        json_file.write_text(report.as_json([*results, *swe]))
    if markdown_file:
        markdown_file.write_text("\n".join(report.markdown(title, found) for title, found in tables))
    wrong = report.faults(OURS, [*results, *swe])
    for line in wrong:
        console.print(f"[red]{OURS}: {line}[/]")
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
