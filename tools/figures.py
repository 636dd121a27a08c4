"""What is counted in the source: sizes, Protocols, branches on names, import circles. Knows no limits."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import Final, TypeGuard

from tools.imports import circles, import_graph, room_circles
from tools.source import Module

PROVIDERS: Final = frozenset({"local", "docker", "podman", "e2b", "fake"})
REGISTRY: Final = ".sandbox.registry"
"""The one module that may tell providers apart by their names."""


@dataclass(frozen=True, slots=True)
class Sized:
    """Something that has a size, or one place that was counted."""

    what: str
    size: int = 1

    def __str__(self) -> str:
        return f"{self.size:>5}  {self.what}"


def module_lines(modules: Sequence[Module]) -> list[Sized]:
    return [Sized(module.path, module.lines) for module in modules]


def folder_files(modules: Sequence[Module]) -> list[Sized]:
    """Python files of each folder itself, `__init__.py` left out."""
    files = Counter(module.path.rpartition("/")[0] for module in modules if not module.is_package)
    return [Sized(folder, count) for folder, count in files.items()]


def function_lines(modules: Sequence[Module]) -> list[Sized]:
    return [
        Sized(f"{module.path}:{one.first_line} {one.name}", one.lines)
        for module in modules
        for one in module.definitions
    ]


def function_median(modules: Sequence[Module]) -> float:
    """Lines of the function in the middle; 0 where there is none."""
    return median([one.size for one in function_lines(modules)] or [0])


def protocol_methods(modules: Sequence[Module]) -> list[Sized]:
    """Each Protocol's own methods and properties. One that is made of others is for who needs all of them; who needs a
    part takes that."""
    return [
        Sized(f"{module.path}:{node.lineno} {node.name}", len(_own_methods(node)))
        for module in modules
        for node in module.nodes
        if _is_protocol(node)
    ]


def _own_methods(node: ast.ClassDef) -> set[str]:
    return {one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}


def supports_checks(modules: Sequence[Module]) -> list[Sized]:
    """Each `isinstance(value, Supports…)`."""
    return _instance_checks(modules, lambda name: name.startswith("Supports"))


def protocol_checks(modules: Sequence[Module]) -> list[Sized]:
    """Each `isinstance` with a Protocol of ours, whatever its name."""
    names = {node.name for module in modules for node in module.nodes if _is_protocol(node)}
    return _instance_checks(modules, names.__contains__)


def _instance_checks(modules: Sequence[Module], wanted: Callable[[str], bool]) -> list[Sized]:
    return [
        Sized(f"{module.path}:{node.lineno} {ast.unparse(node)}")
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and any(wanted(_last_name(inner)) for inner in ast.walk(node.args[-1]))
    ]


def provider_branches(modules: Sequence[Module]) -> list[Sized]:
    """Each place outside the registry where code goes by a provider's name: a comparison with it, a `case` of it, a
    table by two or more of them."""
    return [
        Sized(f"{module.path}:{node.lineno} {ast.unparse(node)[:100]}")
        for module in modules
        if not module.name.endswith(REGISTRY)
        for node in module.nodes
        if isinstance(node, ast.Compare | ast.MatchValue | ast.Dict) and _goes_by_provider(node)
    ]


def module_circles(modules: Sequence[Module]) -> list[Sized]:
    return [Sized(" - ".join(group)) for group in circles(import_graph(modules))]


def deferred_circles(modules: Sequence[Module]) -> list[Sized]:
    """Circles of modules with the imports that are made later, inside functions, as well."""
    return [Sized(" - ".join(group)) for group in circles(import_graph(modules, deferred=True))]


def package_circles(modules: Sequence[Module]) -> list[Sized]:
    return [Sized(" - ".join(group)) for group in room_circles(import_graph(modules))]


def _is_protocol(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef) and "Protocol" in _bases(node)


def _bases(node: ast.ClassDef) -> list[str]:
    return [_last_name(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases]


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _goes_by_provider(node: ast.Compare | ast.MatchValue | ast.Dict) -> bool:
    if isinstance(node, ast.Dict):
        return sum(_is_name(key) for key in node.keys) > 1
    if isinstance(node, ast.MatchValue):
        return _is_name(node.value)
    sides = (node.left, *node.comparators)
    return any(map(_is_name, chain.from_iterable(map(_parts, sides))))


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    yield node
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        yield from node.elts
    elif isinstance(node, ast.Call):  # frozenset({...})
        yield from chain.from_iterable(map(_parts, node.args))


def _is_name(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in PROVIDERS
