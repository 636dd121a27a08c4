"""Blocks of languages that have them in braces: how deep a source is in them, and which types are outermost."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from typing import Final

C_FAMILY: Final = ("c", "cpp", "cpp20", "cpp23")
BRACED: Final = frozenset(
    {
        *(
            *C_FAMILY,
            "java",
            "junit",
            "go",
            "go_test",
            "rust",
            "rust_test",
            "javascript",
            "typescript",
            "jest",
            "csharp",
        ),
        *("bash", "php", "perl", "scala", "kotlin", "kotlin_script", "d", "d_ut", "swift", "r"),
    }
)
"""Languages of which a test may close a block that its answer has opened."""
BRACE: Final = re.compile(
    r'"{3}.*?"{3}|\bR"(?P<raw>[^()\s]{0,16})\(.{0,2000}?\)(?P=raw)"|\br(?P<sharps>\#{1,9})".{0,2000}?"(?P=sharps)'
    r'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|`(?:[^`$]|\$(?!\{)|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\})*`|`[^`]*`'
    r"|//[^\n]*|/\*.*?\*/|[{}]",
    re.DOTALL,
)
"""Or a text or a comment, in which they are none."""
_TYPE: Final = re.compile(
    r"^[ \t]*((?:@\w+(?:\([^()]{0,200}\))?\s{1,9}){0,9})(public\s+)?"
    r"((?:(?:abstract|final|sealed|static|strictfp|case|internal|private|protected|partial|readonly|ref|unsafe|data|open|enum"
    r"|implicit|non-sealed)\s{1,9}){0,9})"
    r"(class|interface|enum|record|@interface|object|trait|struct)\s+(\w+)",
    re.MULTILINE,
)


def depths(text: str) -> Iterator[tuple[int, int]]:
    """(where a brace ends, how many are open behind it)."""
    depth = 0
    for part in BRACE.finditer(text):
        if part[0] in "{}":
            depth += 1 if part[0] == "{" else -1
            yield part.end(), depth


def net(text: str) -> int:
    """How many blocks a text leaves open; below zero, how many it closes that it has not opened."""
    return next(iter([depth for _, depth in depths(text)][-1:]), 0)


def end_of_block(text: str, opened: int) -> int:
    """Where the block ends whose brace is before `opened`."""
    return next((opened + end for end, depth in depths(text[opened:]) if depth < 0), len(text))


def top_types(code: str) -> list[tuple[re.Match[str], int]]:
    """Types at the top of a file, and where each ends."""
    braces = list(depths(code))
    found, end = [], 0
    for one in _TYPE.finditer(code):
        before = bisect(braces, (one.start(), len(code)))
        if one.start() >= end and (not before or braces[before - 1][1] <= 0):
            closing = (at for at, depth in braces[before:] if depth <= 0)
            end = next(closing, len(code))
            found.append((one, end))
    return found
