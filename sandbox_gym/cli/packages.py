"""`sandbox-gym check-package` and `import-package`: contest problems judged by their own submissions, and made rows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.table import Table

from sandbox_gym.cli.options import JsonLinesOption, ProviderOption
from sandbox_gym.cli.progress import progress
from sandbox_gym.cli.rows import Lines
from sandbox_gym.cli.screen import print_json, say, visible
from sandbox_gym.cli.settings import settings_with
from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.observe.inert import spelled
from sandbox_gym.packages.check import Finding, check, time_limit
from sandbox_gym.packages.package import Package, PackageError
from sandbox_gym.packages.reader import read_package
from sandbox_gym.packages.rows import package_row

Folders = Annotated[list[Path], typer.Argument(exists=True, file_okay=False, help="Package folders.")]


def check_package(
    folders: Folders,
    provider: ProviderOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Run every submission of each package; each must get a verdict that its folder names.

    Exit: 0 all agree, 1 some don't or got no verdict, 2 a folder is no package.
    """
    settings = settings_with({"provider": provider})
    agree = True
    for folder in folders:
        package = _read(folder)
        limit_s, findings = anyio.run(_check, settings, package)
        agree = agree and all(finding.agrees for finding in findings)
        if as_json:
            for finding in findings:
                print_json(_document(package, limit_s, finding))
        else:
            Console().print(_table(package, limit_s, findings))
    raise typer.Exit(0 if agree else 1)


def import_package(
    folders: Folders,
    out: Annotated[Path, typer.Option("--out", "-o", dir_okay=False, help="Rows, one a line; appended to.")],
    provider: ProviderOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Write each package as a row. A time limit that the package leaves open is measured by its accepted submissions.

    Exit: 0 done, 2 a folder is no package.
    """
    settings = settings_with({"provider": provider})
    with Lines(out) as rows:
        for folder in folders:
            package = _read(folder)
            try:
                limit_s = package.time_limit_s or anyio.run(_limit, settings, package)
                rows.write(package_row(package, time_limit_s=limit_s))
            except PackageError as error:
                raise ConfigurationError(str(error)) from None
            if as_json:
                print_json({"package": package.name, "tests": len(package.cases), "time_limit_s": limit_s})
            else:
                say(f"{visible(package.name)}: {len(package.cases)} tests, {limit_s:g} s")


def _read(folder: Path) -> Package:
    try:
        return read_package(folder)
    except PackageError as error:
        raise ConfigurationError(str(error)) from None


async def _limit(settings: Settings, package: Package) -> float:
    async with open_engine(settings) as engine:
        return await time_limit(engine, package)


async def _check(settings: Settings, package: Package) -> tuple[float, list[Finding]]:
    async with open_engine(settings) as engine:
        try:
            limit_s = await time_limit(engine, package)
            findings: list[Finding] = []
            with progress(spelled(package.name), len(package.submissions)) as advance:
                async for finding in check(engine, package, limit_s):
                    findings.append(finding)
                    advance()
            return limit_s, findings
        except PackageError as error:
            raise ConfigurationError(str(error)) from None


def _document(package: Package, limit_s: float, finding: Finding) -> dict[str, object]:
    submission = finding.submission
    return {
        **{key: value for key, value in asdict(finding).items() if key != "submission"},
        "package": package.name,
        "time_limit_s": limit_s,
        "submission": submission.path,
        "language": submission.language,
        "expected": list(submission.expected),
        "agrees": finding.agrees,
    }


def _table(package: Package, limit_s: float, findings: list[Finding]) -> Table:
    title = f"{package.name}: {len(package.cases)} tests, {limit_s:g} s of CPU time"
    shown = Table(title=visible(title), title_justify="left")
    shown.add_column("submission", overflow="fold", min_width=28)
    for column in ("expected", "verdict", "reward", "slowest"):
        shown.add_column(column, no_wrap=True)
    shown.add_column("", overflow="fold")
    for finding in findings:
        submission = finding.submission
        mark = "[green]ok[/]" if finding.agrees else f"[red]disagrees[/] {visible(finding.reason)}"
        shown.add_row(
            visible(submission.path),
            " or ".join(submission.expected),
            finding.got,
            f"{finding.reward:g}",
            f"{finding.cpu_time_s:.2f} s",
            mark,
        )
    return shown
