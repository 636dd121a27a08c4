"""The figures that this repository's structure is held to, and the path of a request through it.

`python -m tools.house` measures the source, says which limit is exceeded and exits 1 where one is that tools/limits.py
does not know of. `python -m tools.house follow coding swe bash` runs a server and lists what a request passes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from tools import figures, follow, source
from tools.limits import KNOWN, LIMITS, PATH_KNOWN, PATH_LIMITS
from tools.paths import compared, held_paths, path_document, path_lines
from tools.table import Held, lines_of

_app = typer.Typer(help="The structure's figures.", pretty_exceptions_enable=False)
Measure = Callable[[Sequence[source.Module]], Sequence[figures.Sized]]
LARGEST: Final[Mapping[str, Measure]] = {
    "lines of a module": figures.module_lines,
    "Python files of a folder": figures.folder_files,
    "lines of a function": figures.function_lines,
    "methods of a Protocol": figures.protocol_methods,
}
"""Figures of the product whose limit is for each one's size."""
COUNTED: Final[Mapping[str, Measure]] = {
    "isinstance(…, Supports…)": figures.supports_checks,
    "branches on a provider's name": figures.provider_branches,
    "import circles of modules": figures.module_circles,
    "import circles of packages": figures.package_circles,
}
"""Figures of the product whose limit is for how many there are."""


class Kind(StrEnum):
    """The requests that can be followed."""

    CODING = "coding"
    SWE = "swe"
    BASH = "bash"


def measured(product: Sequence[source.Module], tests: Sequence[source.Module]) -> list[Held]:
    """Every figure of the source, beside its limit."""
    lines = sum(module.lines for module in product)
    return [
        *(_largest(name, measure(product)) for name, measure in LARGEST.items()),
        _largest("lines of a test file", figures.module_lines(tests)),
        *(_counted(name, measure(product)) for name, measure in COUNTED.items()),
        Held("lines of the product", lines, LIMITS["lines of the product"], KNOWN.get("lines of the product")),
        Held("import circles, imports in functions too", len(figures.deferred_circles(product))),
        Held("isinstance(…, any Protocol)", len(figures.protocol_checks(product))),
        Held("lines of a function, median", figures.function_median(product)),
        Held("modules", len(product)),
    ]


def _largest(name: str, sized: Sequence[figures.Sized]) -> Held:
    limit = LIMITS[name]
    over = sorted((one for one in sized if one.size > limit), key=lambda one: -one.size)
    now = max((one.size for one in sized), default=0)
    return Held(name, now, limit, KNOWN.get(name), tuple(map(str, over)), sized=True)


def _counted(name: str, places: Sequence[figures.Sized]) -> Held:
    return Held(name, len(places), LIMITS[name], KNOWN.get(name), tuple(one.what for one in places))


@_app.callback(invoke_without_command=True)
def main(context: typer.Context) -> None:
    """Measure the source. Exit: 0 within the limits, or no worse than what is known; 1 otherwise."""
    if context.invoked_subcommand is None:
        _end(measured(source.product(), source.files_of_tests()))


@_app.command(name="follow")
def follow_requests(
    kinds: Annotated[list[Kind] | None, typer.Argument(help="Which requests; all unless named.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As a document, for --compare.")] = False,
    compare: Annotated[Path | None, typer.Option(help="An earlier document; tell before and after.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only hold the figures to their limits.")] = False,
) -> None:
    """Follow requests through servers of this tree on the local provider; swe installs one package by pip."""
    paths = {kind.value: follow.follow(kind.value) for kind in kinds or list(Kind)}
    if check:
        _end(held_paths(paths, PATH_LIMITS, PATH_KNOWN))
    elif as_json:
        _say([json.dumps(path_document(paths), indent=1)])
    elif compare is not None:
        _say(compared(json.loads(compare.read_text("utf-8")), path_document(paths)))
    else:
        _say(path_lines(paths))


def _end(held: Sequence[Held]) -> None:
    _say(lines_of(held))
    raise typer.Exit(any(figure.standing == "over" for figure in held))


def _say(lines: Sequence[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    _app()
