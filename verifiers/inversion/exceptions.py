"""Replaces the exception that a test expects by one that is neither a base nor a subclass of it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

RAISES = frozenset(
    ["raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "assert_raises", "assert_raises_regex"]
)
_RARE = ("ZeroDivisionError", "EOFError", "NameError", "ImportError", "BufferError", "RecursionError", "MemoryError")
"""No class is likely to be one of these and another builtin exception too."""
_COMMON = ("KeyError", "TypeError", "ValueError", "IndexError", "AttributeError", "RuntimeError", "OSError")


def expected_exceptions(tree: ast.AST) -> tuple[str, ...]:
    """The exceptions that a file's tests expect anywhere, each once: what one of them may expect as well."""
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in RAISES:
                found[ast.unparse(node.args[0])] = None
    return tuple(found)


def other_exceptions(
    node: ast.expr, shadowed: frozenset[str], expected: Iterable[str] = ()
) -> Iterator[tuple[str, bool]]:
    """(another exception's name, whether what was caught is certainly not of it), for an exception of a test: first
    those that neighbouring tests expect, which only code that knows the right one can tell from it."""
    own = ast.unparse(node)
    near = [other for other in expected if other != own]
    turn = len(own) % len(near) if near else 0
    yield from ((other, False) for other in (near[turn:] + near[:turn])[:4])
    name = node.id if isinstance(node, ast.Name) and node.id not in shadowed else ""
    known = getattr(builtins, name, None) if name else None
    turn = len(ast.unparse(node)) % len(_RARE)
    rare = [*_RARE[turn:], *_RARE[:turn]]
    if not (isinstance(known, type) and issubclass(known, BaseException)):
        yield from ((other, False) for other in rare[:2] if other not in shadowed)
        return
    for other in (*rare, *_COMMON):
        kind = getattr(builtins, other)
        if other not in shadowed and not (issubclass(kind, known) or issubclass(known, kind)):
            yield other, other in _RARE
