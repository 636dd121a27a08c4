"""`sandbox-gym load`: how many of the user's own rows this machine judges a second, and which settings follow."""

from __future__ import annotations

import math
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import anyio
import typer
from rich.console import Console
from rich.table import Table

from sandbox_gym.cli.tally import Tally, percentile
from sandbox_gym.cli.terminal.options import JsonOption, ProviderOption, settings_with
from sandbox_gym.cli.terminal.screen import print_json, say
from sandbox_gym.cli.terminal.signals import interrupted_code
from sandbox_gym.cli.verify import VerifyRun, verify_file
from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.pressure import machine_pressure
from sandbox_gym.server.nemo_gym.verify_recorder import VerifyRecorder
from sandbox_gym.server.protocol.wire import Document, VerifyFields
from sandbox_gym.server.readiness import check_ready
from sandbox_gym.server.registry import SERVERS, kind_of

ENOUGH: Final = 0.95
"""The fewest sandboxes that give so much of the best rate are the ones to have."""
BUSY: Final = 0.7
"""A server process at work for more of the time than this keeps its sandboxes waiting."""

OTHERS: Final = 0.2
"""The pressure for CPU before the measure from which others' work spoils it."""


def load(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="Rows with answers, as for `verify`.")
    ],
    provider: ProviderOption = None,
    at_once: Annotated[
        list[int] | None, typer.Option(min=1, help="Verifies at once; repeatable. By default half to thrice the CPUs.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="How long each number is measured at most.")] = 20.0,
    as_json: JsonOption = False,
) -> None:
    """Measure your rows on this machine, which should have nothing else to do, and print what to set.

    Rows are not repeated, since a server keeps what it has built: give some hundred. CPU is the whole machine's.

    Exit: 0 measured, 1 some row got no verdict, 2 wrong usage, 130 or 143 interrupted.
    """
    settings = settings_with({"provider": provider, "journal_url": "off"})
    steps = [LoadStep.of(file, each, seconds) for each in sorted(set(at_once or _ladder(os.cpu_count() or 1)))]
    if machine_pressure() > OTHERS:
        say("[yellow]This machine has other work: the figures are too low.[/]")
    if anyio.run(_measure, steps, settings):
        raise typer.Exit(interrupted_code())
    best = _best(steps)
    advice = _advice(best, settings)
    if as_json:
        print_json({"steps": [step.document() for step in steps], "settings": advice})
    else:
        _show(Console(), steps, advice)
    if best.tally.rows < 3 * best.concurrency:
        say(f"[yellow]Only {best.tally.rows} rows were measured: give more for figures that hold.[/]")
    raise typer.Exit(0 if all(step.tally.clean for step in steps) else 1)


def _ladder(cpus: int) -> list[int]:
    return [max(1, cpus // 2), cpus, 2 * cpus, 3 * cpus]


class PeakTally(Tally):
    """A tally of the programs' peaks too."""

    def __init__(self) -> None:
        super().__init__()
        self.peaks: list[int] = []

    def add(self, fields: VerifyFields, wall_time_s: float) -> None:
        super().add(fields, wall_time_s)
        if fields.verdict is not None and fields.verdict["tests"]:
            self.peaks.append(max(test["peak_memory_bytes"] for test in fields.verdict["tests"]))


@dataclass
class LoadStep(VerifyRun):
    """One number of verifies at once, measured until the rows or the time are over."""

    seconds: float = math.inf
    tally: PeakTally = field(default_factory=PeakTally)
    wall_s: float = 0.0
    cpu_s: float = 0.0
    server_cpu_s: float = 0.0
    _ends_at: float = math.inf

    @classmethod
    def of(cls, file: Path, concurrency: int, seconds: float) -> LoadStep:
        return cls(file, Path(os.devnull), set(), concurrency, seconds=seconds)

    def rows(self) -> Iterator[tuple[int, bytes]]:
        for row in super().rows():
            if time.monotonic() > self._ends_at:
                return
            yield row

    @asynccontextmanager
    async def engine(self, settings: Settings, sessions: str) -> AsyncIterator[Engine]:
        """An engine whose sandboxes have started, and the measure of what is done with it."""
        settings = settings.replaced({"boxes": max(2, self.concurrency)})
        async with open_engine(settings, sessions=sessions) as engine:
            async with anyio.create_task_group() as tasks:
                for _ in range(self.concurrency):
                    tasks.start_soon(engine.check)
            began, cpu, server = time.monotonic(), machine_cpu_s(), time.process_time()
            self._ends_at = began + self.seconds
            yield engine
            self.wall_s, self.cpu_s = time.monotonic() - began, machine_cpu_s() - cpu
            self.server_cpu_s = time.process_time() - server

    @property
    def judged(self) -> int:
        return self.tally.passed + self.tally.failed.total()

    @property
    def rate(self) -> float:
        return self.judged / self.wall_s if self.wall_s else 0.0

    @property
    def masked_share(self) -> float:
        return self.tally.no_verdict.total() / max(1, self.tally.rows)

    def document(self) -> Document:
        """The measure as JSON; null where nothing was judged."""
        sums, verifies = self.tally.document(), self.judged or None
        peak = percentile(sorted(self.tally.peaks), 0.95)
        return {
            "at_once": self.concurrency,
            "verdicts": self.judged,
            "verdicts_per_s": round(self.rate, 2),
            "p50_s": sums["p50_s"],
            "p95_s": sums["p95_s"],
            "cpu_ms_per_verify": verifies and round(1000 * self.cpu_s / verifies, 1),
            "server_cpu_ms_per_verify": verifies and round(1000 * self.server_cpu_s / verifies, 1),
            "peak_memory_mb_p95": peak and round(peak / MIB, 1),
            "masked_share": round(self.masked_share, 4),
            "invalid": self.tally.invalid,
        }


def machine_cpu_s() -> float:
    """CPU seconds that this machine has spent at work since it started, whoever's."""
    user, nice, system, _idle, _iowait, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


async def _measure(steps: list[LoadStep], settings: Settings) -> bool:
    """True where a signal ended it."""
    kinds = steps[0].kinds()
    await check_ready(settings, kinds)
    servers = {kind: VerifyRecorder(make(settings, kind), None, settings) for kind, make in SERVERS.items()}
    sessions = "verify" if "swe" in kinds else ""
    for step in steps:
        say(f"{step.concurrency} at once ...")
        if await verify_file(
            step,
            lambda request: servers[kind_of(request.body)],
            partial(step.engine, settings, sessions),
            Console(quiet=True),
        ):
            return True
    return False


def _best(steps: list[LoadStep]) -> LoadStep:
    """The fewest at once that are nearly as fast as the fastest."""
    most = max(step.rate for step in steps)
    return next(step for step in steps if step.rate >= ENOUGH * most)


def _advice(best: LoadStep, settings: Settings) -> dict[str, int]:
    """Settings by variable. More than can be judged within the deadline need not wait."""
    boxes = max(2, best.concurrency)
    busy = best.server_cpu_s / best.wall_s if best.wall_s else 0.0
    return {
        "SANDBOX_GYM_BOXES": boxes,
        "SANDBOX_GYM_QUEUE_SIZE": max(boxes, int(best.rate * settings.deadline_s / 2)),
        "SANDBOX_GYM_WORKERS": max(1, min(math.ceil(busy / BUSY), boxes // 2)),
    }


def _show(console: Console, steps: list[LoadStep], advice: dict[str, int]) -> None:
    table = Table(title="Your rows on this machine", title_justify="left")
    for name in ("at once", "verdicts/s", "p50 s", "p95 s", "CPU ms", "server's", "MiB p95", "masked"):
        table.add_column(name, justify="right", no_wrap=True)
    for step in steps:
        found = step.document()
        shown = [
            "-" if found[name] is None else f"{found[name]:.{digits}f}"
            for name, digits in (("verdicts_per_s", 1), ("p50_s", 2), ("p95_s", 2), ("cpu_ms_per_verify", 0),
                                 ("server_cpu_ms_per_verify", 1), ("peak_memory_mb_p95", 0))
        ]  # fmt: skip
        table.add_row(str(step.concurrency), *shown, f"{100 * step.masked_share:.1f} %")
    console.print(table)
    console.print(
        "Set " + " ".join(f"{name}={value}" for name, value in advice.items()), highlight=False, soft_wrap=True
    )
    for reason in steps[-1].tally.reasons("`sandbox-gym verify`"):
        console.print(reason, highlight=False, soft_wrap=True)
