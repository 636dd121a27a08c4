"""JSON that came from a box, parsed only once it is known to be small enough. Pure.

A parse is one call into C that holds the interpreter's lock to its end, and a few bytes may become a Python object
each. So the parts are counted first, in pieces short enough that other threads have their turn between two of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

MAX_DEPTH: Final = 700
MAX_PARTS: Final = 500_000
"""Elements and containers of one document: about 0.05 s of a parse."""
MAX_DIGITS: Final = 40
"""Of one number: the parse of decimal digits takes quadratic time."""
SMALL_BYTES: Final = 32 << 10
"""Parsed uncounted where it can't be too deep: whatever is in it takes no longer than the count."""
_PIECE_BYTES: Final = 1 << 18
_ESCAPES_PER_PART: Final = 4
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKET: Final = bytes(set(range(256)) - set(b"[]{}"))
_DIGITS_ALONE: Final = bytes(byte if byte in b"0123456789" else 0x20 for byte in range(256))


class TooMuch(ValueError):
    """More than the bounds allow; the text says of what."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that a document may be."""

    size_bytes: int
    depth: int = MAX_DEPTH
    parts: int = MAX_PARTS
    fractions: bool = True
    """Whether numbers may be other than integers; such are slow to parse."""


def loads(data: bytes, bounds: Bounds) -> object:
    """The JSON document in `data`. Raises ValueError: it is none, or (TooMuch) over its bounds."""
    if len(data) > SMALL_BYTES or data.count(b"[") + data.count(b"{") > bounds.depth:
        check(data, bounds)
    try:
        text = data.decode("utf-8")
        value: object = json.loads(text) if bounds.fractions else json.loads(text, parse_float=_no_fraction)
    except RecursionError:
        raise TooMuch("nests too deeply") from None
    return value


def _no_fraction(number: str) -> float:
    raise TooMuch("has a number that is no integer")


def check(data: bytes, bounds: Bounds) -> None:
    """Raises TooMuch for what is longer, deeper or of more parts than `bounds`, valid JSON or not."""
    if len(data) > bounds.size_bytes:
        raise TooMuch("is too long")
    depth = parts = 0
    for outside, strings, escapes in _pieces(data):
        brackets = outside.translate(None, delete=_NO_BRACKET)
        opened = brackets.count(b"[") + brackets.count(b"{")
        parts += opened + max(strings, outside.count(b",")) + escapes // _ESCAPES_PER_PART
        if parts > bounds.parts:
            raise TooMuch("has too many parts")
        steps = memoryview(brackets.translate(_STEPS)).cast("b")
        if depth + opened > bounds.depth and max(accumulate(steps, initial=depth)) > bounds.depth:
            raise TooMuch("nests too deeply")
        depth += 2 * opened - len(brackets)
        if max(map(len, outside.translate(_DIGITS_ALONE).split()), default=0) > MAX_DIGITS:
            raise TooMuch("has too long a number")


def nesting(data: bytes) -> int:
    """How deep the JSON in `data` nests, brackets in strings left out."""
    depth = deepest = 0
    for outside, _, _ in _pieces(data):
        steps = memoryview(outside.translate(_STEPS, delete=_NO_BRACKET)).cast("b")
        deepest = max(deepest, max(accumulate(steps, initial=depth)))
        depth += sum(steps)
    return deepest


def _pieces(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Piece by piece: what stands outside of strings, how many strings end or begin, and how many backslashes."""
    inside, start = False, 0
    while start < len(data):
        piece = data[start : start + _PIECE_BYTES]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # an escape is not parted
            piece = data[start : start + _PIECE_BYTES + 1]
        start += len(piece)
        escapes = piece.count(b"\\")
        if escapes:
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = piece.split(b'"')
        yield b"".join(parts[int(inside) :: 2]), len(parts) // 2, escapes
        inside ^= len(parts) % 2 == 0
