"""What is known of a test file, for all of its tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from sandbox_gym.verifiers.inversion.calls import EQUAL, Libraries, compared, libraries
from sandbox_gym.verifiers.inversion.exceptions import expected_exceptions
from sandbox_gym.verifiers.inversion.sites import Function
from sandbox_gym.verifiers.inversion.text import SourceText

_MOST_ALIKE = 64
_KEPT_CHARS = 300_000


@dataclass(frozen=True, slots=True)
class Module:
    """A test file."""

    text: SourceText
    libraries: Libraries
    defined: frozenset[str]
    """Names of its own functions and classes."""
    shadowed: frozenset[str]
    """Names that it defines, imports or assigns: none of them is a builtin."""
    expected: tuple[str, ...]
    """The exceptions that its tests expect."""
    star: bool
    """Whether any name may be imported."""
    read: frozenset[str]
    """Names that it reads."""
    alike: tuple[ast.Constant, ...] = ()
    """Texts and integers that values must be equal to."""


def kept_module(source: str) -> Module:
    """The parsed file, cached: the tests of one file are requested one after another. Raises UNPARSEABLE."""
    return _cached(source) if len(source) <= _KEPT_CHARS else module_of(source)


@lru_cache(maxsize=4)
def _cached(source: str) -> Module:
    return module_of(source)


def module_of(source: str) -> Module:
    """Raises UNPARSEABLE."""
    text = SourceText(source)
    defined, imported, assigned, read = set(), set(), set(), set()
    for node in ast.walk(text.tree):
        if isinstance(node, Function | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.alias):
            imported.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read.add(node.id)
    shadowed = frozenset(defined | imported | assigned)
    return Module(
        text,
        libraries(text.tree),
        frozenset(defined),
        shadowed,
        expected_exceptions(text.tree),
        "*" in imported,
        frozenset(read),
        tuple(islice(_expected(text.tree), _MOST_ALIKE)),
    )


def _expected(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq):
            sides = node.comparators
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in EQUAL:
            sides = compared(node)
        yield from (one for one in sides if isinstance(one, ast.Constant) and type(one.value) in (str, int))
