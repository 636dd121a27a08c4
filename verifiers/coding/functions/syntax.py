"""Trees of a row's own Python source; never of an answer's."""

from __future__ import annotations

import ast
import warnings

from sandbox_gym.errors import RequestError

UNPARSEABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def parse_trusted(source: str) -> ast.Module:
    """The tree. Raises what ast.parse raises (UNPARSEABLE), but warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def parse_field(source: str, field: str) -> ast.Module:
    """The tree of a row's field. Raises RequestError."""
    try:
        return parse_trusted(source)
    except UNPARSEABLE as error:
        raise RequestError(field, f"does not parse ({error})", "give valid Python source") from None
