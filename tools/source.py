"""The product's and the tests' Python as text and trees: which modules there are, and what each defines.

Everything else here asks this module where code is, so that no figure depends on the folder a module lies in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGE: Final = "sandbox_gym"
PRODUCT: Final = {"sandbox_gym": "sandbox_gym", "verifiers": "sandbox_gym.verifiers"}
"""Folders, and the package that each is imported as; `sandbox_gym/verifiers` is a symlink and not walked."""


@dataclass(frozen=True)
class Definition:
    """A function of a module. `name` is qualified within it, without the mark of a local scope."""

    name: str
    first_line: int
    """Of its decorators, where it has some: what a code object calls its first line."""
    lines: int
    """From `def` to its end, decorators and classes within left out."""
    statements: int
    """Of its body, nested ones too, its docstring left out."""


@dataclass(frozen=True)
class Module:
    """One file."""

    name: str
    path: str
    """Below the repository."""
    text: str

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def is_package(self) -> bool:
        return self.path.endswith("/__init__.py")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def definitions(self) -> Sequence[Definition]:
        return list(_definitions(self.tree, ""))


@cache
def product(root: Path = ROOT) -> Sequence[Module]:
    """Every module of the product."""
    found = [_module(root, path, package) for folder, package in PRODUCT.items() for path in _files(root / folder)]
    return sorted(found, key=lambda module: module.name)


@cache
def files_of_tests(root: Path = ROOT) -> Sequence[Module]:
    """Every file of the tests, hostile payloads too."""
    return [_module(root, path, "tests") for path in _files(root / "tests")]


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if folder / "verifiers" not in path.parents)


def _module(root: Path, path: Path, package: str) -> Module:
    below = path.relative_to(root)
    parts = [package, *below.with_suffix("").parts[1:]]
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, str(below), path.read_text("utf-8", "surrogateescape"))


def inner_statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements right inside a node: of its body and of every branch of it."""
    for name in ("body", "orelse", "finalbody"):
        yield from (one for one in getattr(node, name, ()) if isinstance(one, ast.stmt))
    for branch in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from branch.body


def _definitions(node: ast.AST, scope: str) -> Iterator[Definition]:
    for child in inner_statements(node):
        inner = scope
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{scope}{child.name}."
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield _definition(child, f"{scope}{child.name}")
        yield from _definitions(child, inner)


def _definition(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Definition:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    documented = ast.get_docstring(node, clean=False) is not None
    lines = _lines(node) - sum(_lines(inner) for inner in ast.walk(node) if isinstance(inner, ast.ClassDef))
    return Definition(name, first, lines, _count(node) - documented)


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _count(node: ast.AST) -> int:
    return sum(1 + _count(inner) for inner in inner_statements(node))
