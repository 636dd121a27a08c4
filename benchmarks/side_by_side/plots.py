"""The run as pictures: SVG by matplotlib, which the extra `bench` brings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.side_by_side.report import Report
from benchmarks.side_by_side.scale import Point
from benchmarks.side_by_side.stats import figures

LATENCY_OF = "stdin-10"
OURS, PEER = "#2563a8", "#9aa5b1"


def draw(report: Report, folder: Path) -> list[Path]:
    """Rates by workload, latency by concurrency, and cost curves; the files written."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update(
        {"svg.hashsalt": "sandbox_gym", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    made = [_rates(report, folder / "side_by_side_rates.svg")]
    if any(cell.slices and cell.workload == LATENCY_OF for cell in report.cells):
        made.append(_latency(report, folder / "side_by_side_latency.svg"))
    if report.concurrency or report.tests:
        made.append(_curves(report, folder / "side_by_side_scale.svg"))
    return made


def _rates(report: Report, path: Path) -> Path:
    from matplotlib import pyplot as plt

    shown = [w for w in report.workloads if any(c.slices for c in report.cells if c.workload == w.name)]
    figure, axes = plt.subplots(len(shown), 1, figsize=(7, 1.0 + 1.9 * len(shown)), squeeze=False)
    for workload, (axis,) in zip(shown, axes, strict=True):
        concurrency = 8 if 8 in workload.concurrencies else workload.concurrencies[0]
        bars = []
        for system in report.systems:
            cell = report.cell(system.name, workload.name, concurrency)
            found = figures(cell) if cell is not None else None
            if found is not None:
                bars.append((system.title, found.per_s, system.name.startswith("ours")))
        axis.barh([b[0] for b in bars], [b[1] for b in bars], color=[OURS if b[2] else PEER for b in bars])
        for place, bar in enumerate(bars):
            axis.text(bar[1], place, f" {bar[1]:.1f}", va="center")
        axis.invert_yaxis()
        axis.set_title(f"{workload.title}, {concurrency} at once: verifies per second", loc="left")
    return _saved(figure, path)


def _latency(report: Report, path: Path) -> Path:
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 3.6))
    for system in report.systems:
        points = []
        for cell in report.cells:
            found = figures(cell) if (cell.system, cell.workload) == (system.name, LATENCY_OF) else None
            if found is not None:
                points.append((cell.concurrency, found.p50_ms, found.p95_ms))
        if points:
            points.sort()
            (line,) = axis.plot([p[0] for p in points], [p[1] for p in points], marker="o", label=system.title)
            axis.plot([p[0] for p in points], [p[2] for p in points], linestyle=":", color=line.get_color())
    axis.set(xscale="log", yscale="log", xlabel="verifies at once", ylabel="ms: p50, dotted p95")
    axis.set_title("10-test stdin row: latency", loc="left")
    axis.legend(frameon=False, fontsize=7)
    return _saved(figure, path)


def _curves(report: Report, path: Path) -> Path:
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3))

    def curve(axis: Any, points: Sequence[Point], xs: list[int], label: str) -> None:
        axis.plot(xs, [p.cpu_ms_per_test for p in points], marker="o", color=OURS)
        axis.set(xscale="log", xlabel=label, ylabel="CPU ms per test", ylim=(0, None))

    curve(left, report.concurrency, [p.at_once for p in report.concurrency], "verifies at once")
    curve(right, report.tests, [p.tests for p in report.tests], "tests in a row")
    left.set_title("ours on local: cost curves", loc="left")
    return _saved(figure, path)


def _saved(figure: Any, path: Path) -> Path:
    from matplotlib import pyplot as plt

    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path
