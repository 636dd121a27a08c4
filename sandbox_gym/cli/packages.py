"""`sandbox-gym check-package` and `import-package`: check contest packages; turn them into rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, TypeVar

import anyio
import typer
from rich.console import Console
from rich.table import Table

from sandbox_gym.cli.rows import Lines
from sandbox_gym.cli.terminal.options import JsonLinesOption, ProviderOption, settings_with
from sandbox_gym.cli.terminal.progress import progress
from sandbox_gym.cli.terminal.screen import print_json, say, visible
from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.observe.sanitize import spelled
from sandbox_gym.packages.check import SubmissionResult, check, time_limit
from sandbox_gym.packages.files import plain
from sandbox_gym.packages.package import Package, PackageError, Submission
from sandbox_gym.packages.reader import read_package
from sandbox_gym.packages.rows import package_row
from sandbox_gym.server.readiness import check_ready

T = TypeVar("T")
Folders = Annotated[list[Path], typer.Argument(exists=True, file_okay=False, help="Package folders.")]
_AGREE: Final = 0
_DISAGREE: Final = 1
_NO_PACKAGE: Final = 2
_SOME_REFUSED: Final = 3


def check_package(folders: Folders, provider: ProviderOption = None, as_json: JsonLinesOption = False) -> None:
    """Run every submission of each package; each must get a verdict that its folder names.

    A submission that can't be run here, or a folder that is not a package, is refused; the rest is judged.
    Exit: 0 all agree, 1 some don't or got no verdict, 2 a folder is not a package that can be judged here, 3 all that
    were judged agree, some were refused.
    """
    settings = settings_with({"provider": provider})
    anyio.run(check_ready, settings, ("coding",))
    codes = {_checked(settings, folder, as_json=as_json) for folder in folders}
    raise typer.Exit(next(code for code in (_NO_PACKAGE, _DISAGREE, _SOME_REFUSED, _AGREE) if code in codes))


def _checked(settings: Settings, folder: Path, *, as_json: bool) -> int:
    try:
        package = read_package(folder)
        limit_s, findings = _unless_refused(anyio.run(_check, settings, package))
    except PackageError as error:
        _refuse(folder, error, as_json=as_json)
        return _NO_PACKAGE
    if as_json:
        for finding in findings:
            print_json(_document(package, limit_s, finding))
    else:
        Console().print(_table(package, limit_s, findings))
    found = {finding.status for finding in findings}
    return _DISAGREE if "disagrees" in found else _SOME_REFUSED if "refused" in found else _AGREE


def import_package(
    folders: Folders,
    out: Annotated[Path, typer.Option("--out", "-o", dir_okay=False, help="File of rows to append to, one per line.")],
    provider: ProviderOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Write each package as a row. A missing time limit is measured with the package's accepted submissions.

    Exit: 0 done, 2 a folder is not a package that can be judged here; the others are written.
    """
    settings = settings_with({"provider": provider})
    refused = False
    with Lines(out) as rows:
        for folder in folders:
            try:
                package = read_package(folder)
                limit_s = package.time_limit_s or _unless_refused(anyio.run(_limit, settings, package))
                rows.write(package_row(package, time_limit_s=limit_s))
            except PackageError as error:
                _refuse(folder, error, as_json=as_json)
                refused = True
                continue
            if as_json:
                print_json({"package": package.name, "tests": len(package.cases), "time_limit_s": limit_s})
            else:
                say(f"{visible(package.name)}: {len(package.cases)} tests, {limit_s:g} s")
    raise typer.Exit(_NO_PACKAGE if refused else 0)


def _refuse(folder: Path, error: PackageError, *, as_json: bool) -> None:
    """Say that a whole package is refused, and why."""
    name, why = plain(folder.resolve().name), plain(str(error))
    if as_json:
        print_json({"package": name, "refused": why})
    say(f"[red]refused:[/] {visible(why if name in why else f'{name}: {why}')}")


def _unless_refused(result: T | PackageError) -> T:
    """The result. Raises the PackageError of a failed check, which the engine would have wrapped in a group."""
    if isinstance(result, PackageError):
        raise result
    return result


async def _limit(settings: Settings, package: Package) -> float | PackageError:
    async with open_engine(settings) as engine:
        try:
            return await time_limit(engine, package)
        except PackageError as error:
            return error


async def _check(settings: Settings, package: Package) -> tuple[float, list[SubmissionResult]] | PackageError:
    async with open_engine(settings) as engine:
        try:
            limit_s = await time_limit(engine, package)
            findings: list[SubmissionResult] = []
            with progress(spelled(package.name), len(package.submissions)) as advance:
                async for finding in check(engine, package, limit_s):
                    findings.append(finding)
                    advance()
        except PackageError as error:
            return error
    return limit_s, findings


def _document(package: Package, limit_s: float, finding: SubmissionResult) -> dict[str, object]:
    """`agrees` is null where the submission was refused, and `refused` says why."""
    submission, refused = finding.submission, finding.status == "refused"
    return {
        "package": package.name,
        "time_limit_s": limit_s,
        "submission": submission.path,
        "language": submission.language,
        "files": 1 + len(submission.files),
        "expected": list(submission.expected),
        "got": finding.got,
        "reward": finding.reward,
        "cpu_time_s": finding.cpu_time_s,
        "reason": finding.reason,
        "agrees": None if refused else finding.agrees,
        "refused": finding.reason if refused else "",
    }


def _table(package: Package, limit_s: float, findings: list[SubmissionResult]) -> Table:
    title = f"{package.name}: {len(package.cases)} tests, {limit_s:g} s of CPU time"
    shown = Table(title=visible(title), title_justify="left")
    shown.add_column("submission", overflow="fold", min_width=20)
    shown.add_column("expected", overflow="fold", min_width=8)
    for column in ("verdict", "reward"):
        shown.add_column(column, no_wrap=True)
    shown.add_column("slowest, CPU", justify="right")
    shown.add_column("as filed", overflow="fold", min_width=8)
    for finding in findings:
        submission, judged = finding.submission, finding.status != "refused"
        shown.add_row(
            visible(submission.path),
            _expected(submission),
            finding.got,
            f"{finding.reward:g}" if judged else "",
            f"{finding.cpu_time_s:.2f} s" if judged else "",
            _mark(finding),
        )
    return shown


def _expected(submission: Submission) -> str:
    return "submissions.yaml" if submission.rules else " or ".join(submission.expected)


def _mark(finding: SubmissionResult) -> str:
    if finding.agrees:
        return "[green]ok[/]"
    mark = "[yellow]refused[/]" if finding.status == "refused" else "[red]disagrees[/]"
    return f"{mark} {visible(finding.reason)}"
