"""Boxes in a text: which of them are its answer. Linear in the text's length."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

BOX = "\\boxed{"
_SPACED_BOX = re.compile(r"\\boxed\s+\{")
_BARE_BOX = re.compile(
    r"\\boxed\s*(-?(?:[0-9][0-9.,]*[0-9]|[0-9])(?:/[0-9]+)?|-?\\[A-Za-z]+(?:\{[^{}]{0,200}\}){0,2}|[A-Za-z](?![A-Za-z]))"
)
_BRACES, _UNESCAPED = re.compile(r"[{}]"), re.compile(r"(?<!\\)[{}]")
_JOINED_MAX = 100
_GAP_CHARS = 80
_WORDS = re.compile(r"\\(?:text|mathrm|textrm|mbox)\{([^{}]*)\}")
_SPACE = re.compile(r"[\s$~]|\\[()\[\],;:! ]|\\q?quad(?![a-z])")
_NAME = r"(?:\\[a-zA-Z]+|[A-Za-z])(?:_(?:\w|\{\w+\}))?'{0,3}(?:\([A-Za-z0-9]\))?"
_LINK = re.compile(
    rf"(?P<word>[,;，；、]? ?(?:and|or|&|\\&|和|或|及|\\lor|\\land|\\vee|\\wedge|\\cup)?) ?(?:(?P<name>{_NAME}) ?= ?)?"
)
_NAMED = re.compile(rf"(?<![A-Za-z\\])({_NAME}) ?= ?$")
_OR = re.compile(r"or|或|\\vee")
_BULLET = re.compile(r"\n *[-*•] ")
_PART = re.compile(
    r"\((?:[a-e]|i{1,3}|[1-5])\)|\b[Pp]art\b|[①-⑤]|\b(?:first|second|third) (?:part|question)|^ *[1-5][.)] ",
    re.MULTILINE,
)


class Box(NamedTuple):
    """Where it begins, what it holds, and where its last brace is."""

    start: int
    inner: str
    end: int


def last_box(text: str, frames: Sequence[str] = (BOX,)) -> str | None:
    """What the last frame holds, braces matched; None where it is missing, unclosed or blank. `\\boxed 42` holds 42.
    What nothing parts from it but a comma, "and", "or" and a name is one list with it: `x = \\boxed{1}` or
    `x = \\boxed{2}` holds `x=1, x=2`."""
    text = _SPACED_BOX.sub(_opened, text)
    start, frame = max(((text.rfind(frame), frame) for frame in frames), key=lambda found: found[0])
    bare = _BARE_BOX.match(text, at) if (at := text.rfind("\\boxed")) > start else None
    if bare:
        return bare.group(1)
    if start < 0:
        return None
    at = start + len(frame)
    end = closing(text, at) or closing(text, at, _UNESCAPED)  # `\\left\\{ ... \\right.`
    inner = text[at:end].strip() if end is not None else ""
    return (_listed(text, Box(start, inner, end or at), frames) or inner) if inner else None


def boxes_of_parts(text: str, frames: Sequence[str] = (BOX,)) -> list[str]:
    """What the boxes hold where each is in a part of its own, `(a) ... \\boxed{1} (b) ... \\boxed{2}`; else none."""
    found = _closed(text, frames)
    ends = [0, *(box.end for box in found)]
    if len(found) < 2 or not all(_PART.search(text, end, box.start) for end, box in zip(ends, found, strict=False)):
        return []
    return [box.inner for box in found]


def all_boxes(text: str, frames: Sequence[str] = (BOX,)) -> list[str]:
    """What each closed box holds that is not blank, from left to right; a box inside another is part of it."""
    return [box.inner for box in _closed(text, frames)]


def _closed(text: str, frames: Sequence[str]) -> list[Box]:
    found: list[Box] = []
    opening = re.compile("|".join(map(re.escape, frames)))
    at = 0
    while start := opening.search(text, at):
        end = closing(text, start.end())
        if end is None:
            break
        if inner := text[start.end() : end].strip():
            found.append(Box(start.start(), inner, end))
        at = end
    return found


def closing(text: str, start: int, braces: re.Pattern[str] = _BRACES, stop: int = sys.maxsize) -> int | None:
    """Where the brace that is open before `start` closes before `stop`. Escaped braces are counted too, as
    math_with_judge does."""
    depth = 1
    for brace in braces.finditer(text, start, stop):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.start()
    return None


def _opened(_found: re.Match[str]) -> str:
    return BOX


def _listed(text: str, last: Box, frames: Sequence[str]) -> str:
    """The boxes of one list, with their names where each has one; empty where the last stands alone."""
    found, names, words = [last.inner], [], ""
    first = last.start
    for box, link in _before(text, last, frames):
        found.append(box.inner)
        names.append(link.group("name") or "")
        words += link.group("word")
        first = box.start
    if len({"".join(inner.split()) for inner in found}) < 2:
        return ""
    named = _NAMED.search(_plain(text[max(0, first - _GAP_CHARS) : first]))
    names.append(named.group(1) if named else "")
    if all(names):
        found = [f"{name}={inner}" for name, inner in zip(names, found, strict=True)]
    return (" \\text{ or } " if _OR.search(words) else ", ").join(reversed(found))


def _before(text: str, last: Box, frames: Sequence[str]) -> Iterator[tuple[Box, re.Match[str]]]:
    """The boxes that a list has before its last, from right to left, each with what links it to the one behind it."""
    start = last.start
    for _ in range(_JOINED_MAX):
        before, frame = max(((text.rfind(frame, 0, start), frame) for frame in frames), key=lambda found: found[0])
        if before < 0:
            return
        end = closing(text, before + len(frame), stop=start)
        gap = text[end + 1 : start] if end is not None else ""
        if end is None or len(gap) > _GAP_CHARS:
            return
        link = _LINK.fullmatch(_plain(_BULLET.sub(" , ", gap)))
        if not link or ("\n" in gap and not link.group("word").strip()):
            return
        yield Box(before, text[before + len(frame) : end].strip(), end), link
        start = before


def _plain(gap: str) -> str:
    """Without math's delimiters and spacing."""
    return " ".join(_SPACE.sub(" ", _WORDS.sub(r" \1 ", gap)).split())
