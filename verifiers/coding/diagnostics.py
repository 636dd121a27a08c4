"""Programs' messages made fit to be shown: bounded, on one line, without control characters."""

from __future__ import annotations

from typing import Final

TAIL_BYTES: Final = 4096
"""Of a program's stderr, what is looked at."""


def last_line(stderr: bytes) -> str:
    return plain(stderr[-TAIL_BYTES:].decode("utf-8", "replace").rstrip().rpartition("\n")[2].strip(), 300)


def plain(text: str, length: int) -> str:
    """At most `length` characters, fit for a terminal and for UTF-8: control characters and lone surrogates, which a
    candidate may send, become escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:length])
