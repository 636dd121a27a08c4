"""`sandbox-gym audit`: which rows of a dataset would reward a wrong answer, or fail a right one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import anyio
import typer
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from rich.console import Console
from rich.table import Table

from sandbox_gym.audit.audit import Audit, audit_row
from sandbox_gym.audit.findings import SEVERE, Finding, Weakness
from sandbox_gym.cli.rows import Lines, lines
from sandbox_gym.cli.terminal.options import JsonOption, ProviderOption, settings_with
from sandbox_gym.cli.terminal.progress import progress
from sandbox_gym.cli.terminal.screen import print_json, visible
from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.errors import ConfigurationError, RequestError
from sandbox_gym.server.protocol.wire import Document, loads
from sandbox_gym.server.readiness import check_ready
from sandbox_gym.server.registry import kind_of

SHOWN = 15
_OTHERS: Final = {
    "math": "only coding rows are audited: leave it out",
    "swe": "only coding rows are audited: `sandbox-gym swe validate` is for those of repositories",
}


def audit(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="JSON lines, one row each.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", dir_okay=False, help="File for the findings, one row per line.")
    ] = None,
    provider: ProviderOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Audit only this many rows.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Audit coding rows: tests that a constant or an echo passes, solutions that fail, tests in the answer's process.

    A row's own solution is its `canonical_solution`, `gold`, `solution` or `code`.

    Exit: 0 no row is weak, 1 some are weak or invalid, 2 wrong usage.
    """
    settings = settings_with({"provider": provider})
    report = Report()
    if not any(True for _ in lines(file)):
        raise ConfigurationError(f"{file} has no rows: give one JSON object a line")
    if out is not None:
        out.unlink(missing_ok=True)
    anyio.run(_audit, file, out, settings, limit, report)
    if as_json:
        print_json(report.document())
    else:
        _show(report, out)
    raise typer.Exit(1 if report.weak or report.invalid else 0)


def _show(report: Report, out: Path | None) -> None:
    console = Console()
    console.print(
        f"{report.rows} rows, {report.weak} weak, {report.invalid} invalid, {report.with_gold} with their own solution",
        highlight=False,
    )
    if report.counts:
        console.print(report.table())
    for row, finding in report.worst[:SHOWN]:
        said = f"line {row + 1}: [bold]{finding.weakness}[/]: {visible(finding.evidence)}"
        console.print(said, highlight=False, soft_wrap=True)
    if len(report.worst) > SHOWN:
        console.print(f"... and {len(report.worst) - SHOWN} more" + ("; --out has them all" if out is None else ""))


@dataclass
class Report:
    """Sums over the rows, and the severe findings."""

    rows: int = 0
    weak: int = 0
    invalid: int = 0
    """Rows that the server refuses, of which nothing else is known."""
    with_gold: int = 0
    counts: Counter[Weakness] = field(default_factory=Counter)
    worst: list[tuple[int, Finding]] = field(default_factory=list)

    def add(self, row: int, found: Audit) -> None:
        self.rows += 1
        invalid = any(finding.weakness is Weakness.INVALID for finding in found.findings)
        self.invalid += invalid
        self.weak += found.weak and not invalid
        self.with_gold += found.has_gold
        self.counts.update(finding.weakness for finding in found.findings)
        self.worst += [(row, finding) for finding in found.findings if finding.severe]
        self.worst.sort(key=lambda pair: pair[0])

    def document(self) -> Document:
        """The report as JSON."""
        return {
            "rows": self.rows,
            "weak": self.weak,
            "invalid": self.invalid,
            "with_solution": self.with_gold,
            "findings": {weakness.value: count for weakness, count in self.counts.items()},
            "severe": [
                {"row": row, "line": row + 1, "finding": found.weakness.value, "evidence": found.evidence}
                for row, found in self.worst
            ],
        }

    def table(self) -> Table:
        shown = Table()
        for column in ("finding", "rows", "kind"):
            shown.add_column(column)
        for weakness in Weakness:
            if self.counts[weakness]:
                invalid = weakness is Weakness.INVALID
                mark = "[yellow]invalid[/]" if invalid else "[red]weak[/]" if weakness in SEVERE else "note"
                shown.add_row(weakness.value, str(self.counts[weakness]), mark)
        return shown


async def _audit(file: Path, out: Path | None, settings: Settings, limit: int | None, report: Report) -> None:
    send, receive = anyio.create_memory_object_stream[tuple[int, bytes]](0)
    total = sum(1 for position, _row in enumerate(lines(file)) if limit is None or position < limit)
    await check_ready(settings, ("coding",))
    with progress("audit", total) as advance:
        async with open_engine(settings) as engine, anyio.create_task_group() as workers:
            for _ in range(settings.boxes):
                workers.start_soon(_work, engine, settings, receive.clone(), out, report, advance)
            receive.close()
            await _feed(send, file, limit)


async def _feed(send: ObjectSendStream[tuple[int, bytes]], file: Path, limit: int | None) -> None:
    async with send:
        for position, row in enumerate(lines(file)):
            if limit is None or position < limit:
                await send.send(row)


async def _work(
    engine: Engine,
    settings: Settings,
    rows: ObjectReceiveStream[tuple[int, bytes]],
    out: Path | None,
    report: Report,
    advance: Callable[[], None],
) -> None:
    async with rows:
        async for number, line in rows:
            try:
                if (kind := kind_of(row := loads(line))) != "coding":
                    raise RequestError("row", f"is one of {kind}", _OTHERS[kind])
                found = await audit_row(engine, row, settings.limits())
            except RequestError as error:
                found = Audit((Finding(Weakness.INVALID, str(error)),))
            report.add(number, found)
            advance()
            if out is not None:
                findings = [{"finding": one.weakness.value, "evidence": one.evidence} for one in found.findings]
                with Lines(out) as written:
                    written.write({"row": number, "line": number + 1, "weak": found.weak, "findings": findings})
