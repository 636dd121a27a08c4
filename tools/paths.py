"""What followed requests passed: as lines for people, as a document to keep, beside an earlier one, beside limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Final, TypedDict

from tools.follow import Followed
from tools.limits import Known
from tools.table import Held

Paths = Mapping[str, Followed]
WORDS: Final = {
    "path_functions": "own functions on the path",
    "path_modules": "modules on the path",
    "functions": "own functions, all",
    "modules": "modules, all",
    "round_trips": "round trips to sandboxes",
    "writes": "writes to sandboxes",
    "session_round_trips": "round trips to the session's sandbox",
    "row_parses": "parses of the row",
    "report_parses": "parses of one report",
    "listings": "listings of snapshots",
}


class PathDocument(TypedDict):
    """One request. Functions are `module:line name`, in order of first call."""

    figures: dict[str, int]
    path: list[str]
    beside: list[str]
    """Own functions that are not on the path."""


def path_document(paths: Paths) -> dict[str, PathDocument]:
    """By kind of request."""
    return {
        kind: {
            "figures": followed.figures(),
            "path": [str(function) for function in followed.path],
            "beside": [str(function) for function in followed.functions if function not in set(followed.path)],
        }
        for kind, followed in paths.items()
    }


def path_lines(paths: Paths) -> list[str]:
    """Every function in order of first call, those on the path marked, then the figures."""
    lines = []
    for kind, followed in paths.items():
        on_path = set(followed.path)
        lines += [f"{kind}: functions in order of first call, * on the path"]
        lines += [f"  {'*' if function in on_path else ' '} {function}" for function in followed.functions]
        lines += ["", *(f"  {count:>5}  {WORDS[name]}" for name, count in followed.figures().items()), ""]
    return lines


def compared(before: Mapping[str, PathDocument], after: Mapping[str, PathDocument]) -> list[str]:
    """Figures before and after, and the path's functions that went and came, whatever their modules are called."""
    lines = []
    for kind in (kind for kind in after if kind in before):
        lines += [f"{kind}:  before  after"]
        for name, count in after[kind]["figures"].items():
            lines += [f"  {before[kind]['figures'].get(name, 0):>6} {count:>6}  {WORDS[name]}"]
        lines += ["", *_difference(before[kind]["path"], after[kind]["path"]), ""]
    return lines


def _difference(before: list[str], after: list[str]) -> Iterator[str]:
    """The two paths as one text, `-` before what went and `+` before what came."""
    old, new = ([function.partition(" ")[2] for function in path] for path in (before, after))
    full = dict(zip([*old, *new], [*before, *after], strict=True))
    for line in list(unified_diff(old, new, lineterm="", n=len(old)))[3:]:
        yield f"  {line[0]} {full[line[1:]]}"


def held_paths(
    paths: Paths, limits: Mapping[str, Mapping[str, int]], known: Mapping[tuple[str, str], Known]
) -> list[Held]:
    """Each limited figure of the requests that were followed."""
    return [
        Held(f"{kind}: {WORDS[name]}", paths[kind].figures()[name], limit, known.get((kind, name)))
        for kind, wanted in limits.items()
        if kind in paths
        for name, limit in wanted.items()
    ]
