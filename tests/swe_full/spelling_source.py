"""Python sources, changed where their functions and imports are."""

from __future__ import annotations

import ast
from collections.abc import Callable

Plain = ast.FunctionDef
Inserted = Callable[[Plain, str], "tuple[int, str] | None"]


def functions(source: str) -> list[Plain]:
    """Functions and methods without decorators, from the last to the first; none inside another."""
    tree = ast.parse(source)
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, Plain | ast.AsyncFunctionDef):
            inside |= set(ast.walk(node)) - {node}
    found = (node for node in ast.walk(tree) if isinstance(node, Plain) and node not in inside)
    return sorted((node for node in found if not node.decorator_list), key=lambda node: -node.lineno)


def inserted(source: str, made: Inserted) -> str:
    """With text before the line that `made` says for a function, given the indentation of its body."""
    lines = source.splitlines(keepends=True)
    for node in functions(source):
        body = lines[node.body[0].lineno - 1]
        indent = body[: len(body) - len(body.lstrip())]
        where = made(node, indent)
        if where is not None and node.body[0].col_offset == len(indent):  # not behind its head
            lines.insert(where[0] - 1, where[1])
    return "".join(lines)


def first_line(node: Plain) -> int | None:
    """Of the statement after the docstring; None where there is none."""
    after = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if not after:
        return None
    marks = getattr(after[0], "decorator_list", [])
    return min((after[0].lineno, *(int(mark.lineno) for mark in marks)))


def after_imports(source: str) -> int:
    """The index of the line after a module's last import at its top level."""
    ends = [node.end_lineno or 0 for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    doc = ast.parse(source).body[:1]
    first = doc[0].end_lineno or 0 if doc and isinstance(doc[0], ast.Expr) else 0
    return max([first, *ends])


def with_lines(source: str, at: int, text: str) -> str:
    lines = source.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return "".join([*lines[:at], text, *lines[at:]])
