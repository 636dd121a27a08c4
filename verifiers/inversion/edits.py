"""The types of inverted tests: an edit of a source text, and a variant made of edits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "expected_value",
    "negated_assertion",
    "other_exception",
    "opposite_assertion",
    "other_operand",
    "mock",
    "doubted",
]


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters `start` to `end` of the source become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class ByteEdit:
    """Bytes `start` to `end` of a file become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to make a test fail. `certain`: it is known from its form alone to fail wherever the test passes."""

    kind: Kind
    line: int
    edits: tuple[Edit, ...]
    certain: bool
    shared: bool = False
    """It stands in code that other tests may run too: a helper, a method that a base class gives to several."""


def edited(source: str, edits: Iterable[Edit]) -> str:
    """The source with every edit made. Raises ValueError for edits that overlap or leave the text."""
    parts, at = [], 0
    for edit in sorted(edits, key=lambda one: (one.start, one.end)):
        if not at <= edit.start <= edit.end <= len(source):
            raise ValueError(f"the edit of {edit.start} to {edit.end} overlaps another or leaves the text")
        parts += [source[at : edit.start], edit.text]
        at = edit.end
    return "".join((*parts, source[at:]))


def byte_edits(source: str, edits: Iterable[Edit]) -> tuple[ByteEdit, ...]:
    """Edits as they are made in a file of UTF-8; the text is gone through once at most."""
    wanted = list(edits)
    if source.isascii():
        return tuple(ByteEdit(edit.start, edit.end, edit.text) for edit in wanted)
    offsets, at, size = dict[int, int](), 0, 0
    for place in sorted({place for edit in wanted for place in (edit.start, edit.end)}):
        size += len(source[at:place].encode("utf-8"))
        at, offsets[place] = place, size
    return tuple(ByteEdit(offsets[edit.start], offsets[edit.end], edit.text) for edit in wanted)
