"""The limits that the figures are held to, and what is known to be over them.

An entry of KNOWN is a promise to mend it, with its reason; it holds as a ratchet: no worse than this. It goes when the
figure is within its limit, so that both tables of KNOWN are empty in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

BASELINE_LINES: Final = 62_752
"""Lines of the product at commit f1ec123 of 2026-11-22: what `wc -l` counts, blank lines and comments too, in every .py
below sandbox_gym/ and verifiers/, the symlink between them not followed."""
FEWER_LINES: Final = 1_500


@dataclass(frozen=True, slots=True)
class Known:
    """What a figure may be at worst while its limit is exceeded."""

    worst: int
    reason: str
    excesses: int | None = None
    """How many may be over the limit; None where the figure itself counts them."""


LIMITS: Final[Mapping[str, int]] = {
    "lines of a module": 350,
    "lines of a test file": 350,
    "Python files of a folder": 16,
    "lines of a function": 50,
    "methods of a Protocol": 5,
    "isinstance(…, Supports…)": 8,
    "branches on a provider's name": 0,
    "import circles of modules": 0,
    "import circles of packages": 0,
    "lines of the product": BASELINE_LINES - FEWER_LINES,
}
KNOWN: Final[Mapping[str, Known]] = {
    "lines of the product": Known(
        94_427,
        "what parts 5 to 8 added: shared processes, datasets and their images, builds, log formats, a client, "
        "trainers, the history of the dashboard, a provider more, 13 languages and 4 test runners, template "
        "builds, root in sandboxes and sessions, pauses that keep what runs, SWE-ReX, the cells and kernels of the "
        "code interpreter, the rows of SandboxFusion's datasets, C# as it is written today, notations of "
        "math, tests that are judged by their values, box plots, a list of templates, headers of patches as "
        "git reads them, rows as their data sets publish them, tests that doubt objects which equal anything, "
        "comparisons that must not hold for want of a value, solutions with a period, copies of tests for each of "
        "their assertions",
    ),
}

PATH_LIMITS: Final[Mapping[str, Mapping[str, int]]] = {
    "coding": {"path_functions": 55, "path_modules": 22},
    "swe": {"row_parses": 1, "report_parses": 1, "session_round_trips": 1, "listings": 0},
    "bash": {"session_round_trips": 1},
}
"""By kind of request, and figure of `follow.Followed`."""
PATH_KNOWN: Final[Mapping[tuple[str, str], Known]] = {}
