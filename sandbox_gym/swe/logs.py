"""The parsers of logs as files for a box: PyPI's swebench's, found by their names and never imported here, and ours.

An import of swebench.harness takes seconds and 167 MiB, and would run a parser on a hostile log beside our tokens.
"""

from __future__ import annotations

import ast
import importlib.metadata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from sandbox_gym.errors import RequestError, ToolchainMissing
from sandbox_gym.verifiers.swe import FRAMEWORKS, R2E_PARSER, SweTask, framework_sources

VERSION: Final = "5.0.2"
REMEDY: Final = f"run `pip install --no-deps swebench=={VERSION}` where the server runs"
_FOLDERS: Final = ("swebench/harness/log_parsers/", "swebench/harness/constants/")
_REGISTRY, _BY_REPOSITORY = "PARSER_REGISTRY", "MAP_REPO_TO_PARSER"


@dataclass(frozen=True, slots=True)
class LogParsers:
    """swebench's parsers. `names`: its registry's; `by_repository`: the name for each repository that has its own."""

    sources: dict[str, bytes]
    names: frozenset[str]
    by_repository: dict[str, str]


@cache
def log_parsers() -> LogParsers:
    """Raises ToolchainMissing where swebench is not installed, or is another than this knows."""
    try:
        found = importlib.metadata.distribution("swebench")
    except importlib.metadata.PackageNotFoundError:
        raise ToolchainMissing(f"the row's results are in a log, and swebench is not installed; {REMEDY}") from None
    sources = {
        str(file): file.read_binary()
        for file in found.files or ()
        if str(file).startswith(_FOLDERS) and file.suffix == ".py"
    }
    named = dict(pair for source in sources.values() for pair in _dictionaries(source.decode("utf-8")))
    names = frozenset(name for name, _ in named.get(_REGISTRY, []))
    if not names:
        raise ToolchainMissing(f"swebench {found.version} has no {_REGISTRY}; {REMEDY}")
    tables = [table for name, table in named.items() if name.startswith(_BY_REPOSITORY)]
    return LogParsers(sources, names, {repo: name for table in tables for repo, name in table if name in names})


def _dictionaries(source: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The module's dictionaries from texts to names, by their own names."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and isinstance(node.targets[0], ast.Name):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            yield (
                node.targets[0].id,
                [
                    (str(key.value), value.id)
                    for key, value in pairs
                    if isinstance(key, ast.Constant) and isinstance(value, ast.Name)
                ],
            )


def parser_of(task: SweTask) -> str:
    """The parser's name for a row that its log tells of. Raises RequestError, ToolchainMissing."""
    if task.family == "r2e_gym":
        return R2E_PARSER
    if task.log_parser in FRAMEWORKS:
        return task.log_parser
    known = log_parsers()
    name = task.log_parser or known.by_repository.get(task.repo, "")
    if name in known.names:
        return name
    if not name:
        problem = f"is missing, and swebench has none for repository {task.repo[:80]!r}"
        raise RequestError("row.log_parser", problem, "name one of swebench's, or a test framework such as gotest")
    raise ToolchainMissing(f"the swebench that is installed has no parser {name[:80]!r}; {REMEDY}")


def parser_sources(parser: str) -> dict[str, bytes]:
    """The files that a parser needs beside the reader, by path. Raises ToolchainMissing."""
    if parser in FRAMEWORKS:
        return framework_sources()
    return log_parsers().sources if parser and parser != R2E_PARSER else {}
