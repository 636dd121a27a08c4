"""What is known of a test file, for all of its tests."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from sandbox_gym.verifiers.inversion.calls import Libraries, libraries
from sandbox_gym.verifiers.inversion.exceptions import expected_exceptions
from sandbox_gym.verifiers.inversion.sites import Function
from sandbox_gym.verifiers.inversion.text import SourceText


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


def module_of(source: str) -> Module:
    """Raises UNPARSEABLE."""
    text = SourceText(source)
    defined, imported, assigned = set(), set(), set()
    for node in ast.walk(text.tree):
        if isinstance(node, Function | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.alias):
            imported.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
    shadowed = frozenset(defined | imported | assigned)
    return Module(
        text, libraries(text.tree), frozenset(defined), shadowed, expected_exceptions(text.tree), "*" in imported
    )
