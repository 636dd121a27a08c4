"""The run as JSON, as tables in Markdown, and as what is short of the goals. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from benchmarks.side_by_side.measure import Cell
from benchmarks.side_by_side.scale import Point
from benchmarks.side_by_side.stats import Figures, Ratio, cpu_ratio, figures, rate_ratio
from benchmarks.side_by_side.systems.base import System
from benchmarks.side_by_side.workloads import Workload

OURS, DOCKER = "ours-local", "ours-docker"
WANTED = (
    ("stdin-10", "nemo-gym-code_gen", 3.0),
    ("stdin-100", "nemo-gym-code_gen", 6.0),
    ("stdin-10", "bare-subprocess", 4.0),
    ("numpy-10", "bare-subprocess", 10.0),
    ("humaneval", "sandboxfusion-shaped", 1.0),
    ("cpp-10", "bare-subprocess", 2.5),
    ("fails-first-10", "ours-earlier", 1.0),
)
"""(workload, peer, how many times its rate). ours-earlier is there with `--earlier` alone."""
OF_LOCAL = 0.8
"""What docker has of the rate on local, at least."""


@dataclass(frozen=True)
class Report:
    """One whole run."""

    machine: Mapping[str, object]
    settings: Mapping[str, object]
    systems: Sequence[System]
    workloads: Sequence[Workload]
    cells: Sequence[Cell]
    concurrency: Sequence[Point]
    tests: Sequence[Point]

    def cell(self, system: str, workload: str, concurrency: int) -> Cell | None:
        wanted = (system, workload, concurrency)
        return next((c for c in self.cells if (c.system, c.workload, c.concurrency) == wanted), None)


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that was asked for, and what was found."""

    what: str
    wanted: str
    found: Ratio | float | None
    met: bool


def goals(report: Report) -> list[Goal]:
    """What is asked of rates on local beside each peer's, of docker beside local, of the box's own cost, and of the
    trajectory."""
    asked = [_rate_goal(report, OURS, peer, workload, at_least) for workload, peer, at_least in WANTED]
    asked += [_rate_goal(report, DOCKER, OURS, workload, OF_LOCAL) for workload in dict.fromkeys(w for w, *_ in WANTED)]
    ours, limit = report.cell(OURS, "stdin-10", 8), report.cell("bare-fork-server", "stdin-10", 8)
    ratio = cpu_ratio(ours, limit) if ours is not None and limit is not None else None
    what = f"CPU: 10-test stdin row, {OURS} over bare-fork-server"
    asked.append(Goal(what, "<= 2", ratio, ratio is not None and ratio.value <= 2))
    for system, at_most in ((OURS, 500.0), (DOCKER, 1000.0)):
        cell = report.cell(system, "trajectory", 1)
        found = figures(cell) if cell is not None else None
        value = found.p50_ms if found is not None else None
        what = f"50-action trajectory, p50 of its total, {system}, ms"
        asked.append(Goal(what, f"<= {at_most:g}", value, value is not None and value <= at_most))
    return asked


def _rate_goal(report: Report, system: str, over: str, name: str, at_least: float) -> Goal:
    workload = next((one for one in report.workloads if one.name == name), None)
    at_once = at_once_of(workload) if workload is not None else 0
    ours, other = report.cell(system, name, at_once), report.cell(over, name, at_once)
    ratio = rate_ratio(ours, other) if ours is not None and other is not None else None
    title = workload.title if workload is not None else name
    return Goal(
        f"{title}, {system} over {over}", f">= {at_least:g}", ratio, ratio is not None and ratio.value >= at_least
    )


def at_once_of(workload: Workload) -> int:
    """8 verifies at once, or the one concurrency there is."""
    return 8 if 8 in workload.concurrencies else workload.concurrencies[0]


def as_json(report: Report) -> str:
    cells = [
        {**asdict(cell), "slices": [_slice(one) for one in map(asdict, cell.slices)], "figures": _figures(cell)}
        for cell in report.cells
    ]
    document = {
        "machine": report.machine,
        "settings": report.settings,
        "systems": {one.name: {"title": one.title, "isolation": one.isolation} for one in report.systems},
        "workloads": {one.name: {"title": one.title, "runs": one.runs, "row": one.chosen} for one in report.workloads},
        "goals": [{**asdict(goal)} for goal in goals(report)],
        "cells": cells,
        "scale": {
            name: [
                {**asdict(p), "cpu_ms_per_verify": p.cpu_ms_per_verify, "cpu_ms_per_test": p.cpu_ms_per_test}
                for p in points
            ]
            for name, points in (("concurrency", report.concurrency), ("tests", report.tests))
        },
    }
    return json.dumps(document, indent=1) + "\n"


def _slice(one: dict[str, object]) -> dict[str, object]:
    """Without each call's latency: the cell's figures have what is told of them."""
    return {
        key: round(value, 4) if isinstance(value, float) else value
        for key, value in one.items()
        if key != "latencies_s"
    }


def _figures(cell: Cell) -> dict[str, object] | None:
    found = figures(cell)
    return None if found is None else {key: round(value, 3) for key, value in asdict(found).items()}


def markdown(report: Report) -> str:
    parts = ["# Side by side", "", _preface(report), "", "## Goals", "", *_goals(report)]
    for workload in report.workloads:
        for concurrency in workload.concurrencies:
            parts += ["", f"## {workload.title}, {concurrency} at once", ""]
            parts += _table(report, workload, concurrency)
    parts += _scale(report)
    return "\n".join(parts) + "\n"


def _preface(report: Report) -> str:
    machine, settings = report.machine, report.settings
    load = machine["load"]
    changed = " with changes" if machine["changed"] else ""
    return " ".join(
        [
            f"Made by `make bench` at {machine['at']}, commit {machine['commit']}{changed}.",
            f"{machine['cores']} cores of {machine['cpu']}, kernel {machine['kernel']},",
            f"load {load[0] if isinstance(load, list) else load} at its start,",
            f"nemo-gym {machine['nemo_gym'] or 'not installed'}.",
            f"{settings['rounds']} rounds of slices of {settings['slice_s']:g} s, in an order shuffled by seed",
            f"{settings['seed']}. CPU is the system's own, all its processes, user and system, without the client's.",
            "Ratios are ours on local over the row's system, with the interval of 95 % of resampled rounds.",
            "One answer in eight is wrong: *wrong* counts verdicts that are not what the answer is worth.",
            "docs/design/performance.md says how to read it.",
        ]
    )


def _goals(report: Report) -> list[str]:
    lines = ["| rate, but where another figure is named | wanted | found | |", "|---|---|---|---|"]
    for goal in goals(report):
        found = goal.found
        shown = "not measured" if found is None else f"{found:.0f}" if isinstance(found, float) else shown_ratio(found)
        lines.append(f"| {goal.what} | {goal.wanted} | {shown} | {'met' if goal.met else '**short**'} |")
    return lines


def shown_ratio(ratio: Ratio | None) -> str:
    return "-" if ratio is None else f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"


def _table(report: Report, workload: Workload, concurrency: int) -> list[str]:
    columns = [
        "system",
        "isolation",
        "verifies/s",
        "p50 ms",
        "p95 ms",
        "CPU ms per verify",
        "per run",
        "errors",
        "wrong",
    ]
    lines = _head([*columns, "ours is x its rate"])
    ours = report.cell(OURS, workload.name, concurrency)
    for system in report.systems:
        cell = report.cell(system.name, workload.name, concurrency)
        if cell is None:
            continue
        found = figures(cell)
        if found is None:
            lines.append(f"| {system.title} | {system.isolation} | {_plain(cell.lacks)} | | | | | | | |")
            continue
        ratio = rate_ratio(ours, cell) if ours is not None and ours is not cell else None
        lines.append(f"| {system.title} | {system.isolation} | {_row(found)} | {shown_ratio(ratio)} |")
    return lines


def _head(columns: Sequence[str]) -> list[str]:
    return ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]


def _row(found: Figures) -> str:
    figures_ = [f"{found.per_s:.1f}", f"{found.p50_ms:.0f}", f"{found.p95_ms:.0f}", f"{found.cpu_ms:.1f}"]
    figures_ += [f"{found.cpu_ms_per_run:.2f}", str(found.errors), f"**{found.wrong}**" if found.wrong else "0"]
    return " | ".join(figures_)


def _plain(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ") or "not measured"


def _scale(report: Report) -> list[str]:
    lines: list[str] = []
    for title, points in (("Verifies at once", report.concurrency), ("Tests in a row", report.tests)):
        if points:
            lines += ["", f"## {title}: does a verify cost the same?", ""]
            columns = ["at once", "tests", "verifies", "CPU ms per verify", "per test", "p50 ms", "p95 ms", "server MB"]
            lines += _head([*columns, "errors", "wrong"])
        lines += [
            f"| {p.at_once} | {p.tests} | {p.verifies} | {p.cpu_ms_per_verify:.1f} | {p.cpu_ms_per_test:.2f} |"
            f" {p.p50_ms:.0f} | {p.p95_ms:.0f} | {p.server_mb:.0f} | {p.errors} | {p.wrong} |"
            for p in points
        ]
    return lines


def short_table(report: Report) -> list[str]:
    """Systems by workload, verifies per second at 8 at once, or at the one concurrency there is; then the goals."""
    chosen = [(w, at_once_of(w)) for w in report.workloads]
    lines = ["| verifies per second | " + " | ".join(w.title for w, _ in chosen) + " |"]
    lines.append("|---" * (len(chosen) + 1) + "|")
    for system in report.systems:
        shown = []
        for workload, concurrency in chosen:
            cell = report.cell(system.name, workload.name, concurrency)
            found = figures(cell) if cell is not None else None
            shown.append(
                "-" if found is None else f"{found.per_s:.1f}" + (f" ({found.wrong} wrong)" if found.wrong else "")
            )
        if any(one != "-" for one in shown):
            lines.append(f"| {system.title} | " + " | ".join(shown) + " |")
    return [*lines, "", _circumstances(report), "", *_goals(report)]


def _circumstances(report: Report) -> str:
    machine, settings = report.machine, report.settings
    load = machine["load"]
    return (
        f"{machine['cores']} cores, load {load[0] if isinstance(load, list) else load} at its start;"
        f" {settings['rounds']} rounds of {settings['slice_s']:g} s; commit {machine['commit']}."
    )
