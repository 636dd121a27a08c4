"""A source text with its tree, and where in the text each node stands, in characters."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence

UNPARSEABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
MAX_CHARS = 2_000_000
_LINE_END = re.compile(r"\r\n|\r|\n")  # what Python's tokenizer takes for one; a form feed or U+2028 ends no line
_BOM = "\ufeff"
_SKIPPED = re.compile(r"#[^\r\n]*|\\(?:\r\n|\r|\n)")


class SourceText:
    """Raises UNPARSEABLE for what is no Python, and for more than MAX_CHARS."""

    def __init__(self, source: str) -> None:
        if len(source) > MAX_CHARS:
            raise ValueError(f"the source holds more than {MAX_CHARS} characters")
        self.source = source
        shift = len(_BOM) if source.startswith(_BOM) else 0
        self.tree = parsed(source[shift:])
        self._starts = [shift, *(match.end() for match in _LINE_END.finditer(source, shift))]

    def line_start(self, line: int) -> int:
        """Where line `line` (from 1) begins."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.source)

    def _at(self, line: int, byte: int) -> int:
        start = self.line_start(line)
        text = self.source[start : min(start + byte, self.line_start(line + 1))]
        if text.isascii():
            return start + byte
        return start + len(text.encode()[:byte].decode())

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._at(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self._at(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def of(self, node: ast.expr | ast.stmt) -> str:
        """The node's own text, without the parentheses around it."""
        return self.source[self.start(node) : self.end(node)]

    def code_between(self, start: int, end: int) -> str:
        """The text from `start` to `end` with its comments and joined lines blanked, so that offsets stay."""
        return _SKIPPED.sub(lambda match: " " * len(match[0]), self.source[start:end])


def parsed(source: str) -> ast.Module:
    """Raises UNPARSEABLE; warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def block_parses(block: Sequence[str] | str) -> bool:
    """Whether whole lines of a file, indented as they may be, are Python."""
    text = block if isinstance(block, str) else "".join(block)
    indented = text.lstrip("\f")[:1] in (" ", "\t")
    try:
        parsed(f"if 1:\n{text}" if indented else text)
    except UNPARSEABLE:
        return False
    return True
