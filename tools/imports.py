"""Who imports whom when a module is loaded, and where that goes in a circle.

An import inside a function counts where it is asked for; one under TYPE_CHECKING is never made. The package that a
module lies in, which Python loads before it, does not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set

from tools.source import PACKAGE, Module, inner_statements

Graph = Mapping[str, Set[str]]


def import_graph(modules: Sequence[Module], *, deferred: bool = False) -> dict[str, set[str]]:
    """By module: which of the others it imports when it is loaded, and with `deferred` in its functions."""
    names = {module.name for module in modules}
    return {module.name: set(_imported(module, names, deferred)) - {module.name} for module in modules}


def circles(graph: Graph) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others of their group."""
    return [sorted(group) for group in _components(graph) if len(group) > 1]


def room_circles(graph: Graph) -> list[list[str]]:
    """Circles among what lies in one package, a package there taken as a whole. Circles of modules alone are left to
    `circles`."""
    rooms = {PACKAGE, *(".".join(name.split(".")[:end]) for name in graph for end in range(1, name.count(".") + 1))}
    found = []
    for room in sorted(rooms):
        siblings: dict[str, set[str]] = {}
        for name, imported in graph.items():
            importer = _sibling(name, room)
            others = {other for one in imported if (other := _sibling(one, room)) is not None}
            if importer is not None:
                siblings.setdefault(importer, set()).update(others - {importer})
        found += [group for group in circles(siblings) if any(one in rooms for one in group)]
    return found


def _sibling(name: str, room: str) -> str | None:
    """The child of `room` that `name` is or lies in."""
    depth = room.count(".") + 1
    return ".".join(name.split(".")[: depth + 1]) if name.startswith(f"{room}.") else None


def _imported(module: Module, names: Set[str], deferred: bool) -> Iterator[str]:
    package = module.name if module.is_package else module.name.rpartition(".")[0]
    for node in _run(module.tree, deferred):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: package.count(".") + 2 - node.level]
                base = ".".join([*parents, *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield from (name for name in (inner if inner in names else base,) if name in names)


def _run(node: ast.AST, deferred: bool) -> Iterator[ast.stmt]:
    """The statements that run when the module is loaded, and with `deferred` those of its functions."""
    for child in inner_statements(node):
        if not deferred and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _run(ast.Module(child.orelse, []), deferred)
            continue
        yield child
        yield from _run(child, deferred)


def _components(graph: Graph) -> list[list[str]]:
    """Strongly connected components (Tarjan, SIAM J. Comput. 1, 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in graph.get(name, ()):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            start = stack.index(name)
            found.append(stack[start:])
            del stack[start:]

    for name in graph:
        if name not in order:
            visit(name)
    return found
