"""Text of strangers made harmless to look at: what steers a terminal, a page or an eye is shown, not done.

Control characters become their names (⟨ESC⟩), characters that reorder, join or hide become their code points
(⟨U+202E⟩), bytes that are no UTF-8 become escapes. What is too long is cut in the middle, and the cut says how much.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180e"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f\ud800-\udfff]"
)
_BREAKS: Final = re.compile("[\t\n]")
_NAMES: Final = (
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "TAB", "LF", "VT", "FF", "CR", "SO", "SI"),
    *("DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"),
)
_DELETE: Final = 0x7F
_TAIL_SHARE: Final = 4


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of a text. `total` and `cut` count what `unit` says; `cut` is how much is left out."""

    text: str
    total: int
    cut: int
    unit: str


def inert(text: str, limit: int = 200) -> str:
    """One line of at most about `limit` characters: for names, reasons and labels."""
    kept = text if len(text) <= limit else text[:limit] + "…"
    return _BREAKS.sub(_seen, _UNSEEN.sub(_seen, kept))


def inert_text(text: str, limit: int) -> Shown:
    """Lines and tabs stay; over `limit` characters the middle goes."""
    head, tail, cut = _cut(len(text), limit)
    kept = text if not cut else f"{text[:head]}{_gap(cut, 'characters')}{text[len(text) - tail :]}"
    return Shown(_UNSEEN.sub(_seen, kept), len(text), cut, "characters")


def inert_bytes(raw: bytes, limit: int) -> Shown:
    """As `inert_text`, of a program's output."""
    head, tail, cut = _cut(len(raw), limit)
    text = _decoded(raw) if not cut else f"{_decoded(raw[:head])}{_gap(cut, 'bytes')}{_decoded(raw[len(raw) - tail :])}"
    return Shown(_UNSEEN.sub(_seen, text), len(raw), cut, "bytes")


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _cut(total: int, limit: int) -> tuple[int, int, int]:
    """How much of the beginning and of the end is kept, and how much between them is not."""
    if total <= limit:
        return total, 0, 0
    tail = limit // _TAIL_SHARE
    return limit - tail, tail, total - limit


def _gap(cut: int, unit: str) -> str:
    return f"\n⋯ {cut:,} {unit} not shown ⋯\n"


def _seen(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point < len(_NAMES):
        return f"⟨{_NAMES[point]}⟩"
    return "⟨DEL⟩" if point == _DELETE else f"⟨U+{point:04X}⟩"
