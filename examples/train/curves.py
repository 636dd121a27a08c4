"""What a run was like: a curve on the terminal, a picture, a file of figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

HEIGHT: Final = 10
WIDTH: Final = 72


def text_curve(values: Sequence[float], title: str) -> str:
    """Values from 0 to 1 over the steps, as text."""
    columns = min(WIDTH, len(values))
    edges = [len(values) * column // columns for column in range(columns + 1)]
    means = [sum(values[low:high]) / (high - low) for low, high in pairwise(edges)]
    lines = [f"{title}: {values[0]:.2f} at first, {values[-1]:.2f} at last"]
    for level in range(HEIGHT, -1, -1):
        marks = "".join("*" if round(mean * HEIGHT) == level else " " for mean in means)
        lines.append(f"{level / HEIGHT:4.1f} |{marks}".rstrip())
    return "\n".join([*lines, "     +" + "-" * columns, f"      step 1 to {len(values)}"])


def picture(series: Mapping[str, Sequence[float]], events: Mapping[int, str], title: str, path: Path) -> None:
    """One line for each series; `events` are marked at their steps."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    for name, values in series.items():
        axes.plot(range(1, len(values) + 1), values, label=name)
    for step, what in events.items():
        axes.axvline(step, color="grey", linestyle=":")
        axes.annotate(what, (step, 1.02), ha="left", fontsize=8, annotation_clip=False)
    axes.set(title=title, xlabel="step", ylim=(0, 1))
    axes.title.set_position((0.5, 1.08))
    axes.legend(loc="center right")
    figure.savefig(path)
    pyplot.close(figure)


def figures(document: Mapping[str, object], path: Path) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n")
