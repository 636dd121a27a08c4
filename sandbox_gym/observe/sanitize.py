"""Makes untrusted text harmless to display: characters that control a terminal or mislead a reader are spelled out.

Control characters become their names (⟨ESC⟩), characters that reorder, join or hide become their code points
(⟨U+202E⟩), bytes that are not UTF-8 become escapes. Long text is cut in the middle, with a note of how much is missing.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

_STEERING: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of controls (ESC and C1 among them), of formatting (bidi, zero width), and of non-characters."""
_FILLERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Letters and marks that are invisible, by name."""
_NOT_PLAIN: Final = re.compile("[^ -~]")
_NAMES: Final = (
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "TAB", "LF", "VT", "FF", "CR", "SO", "SI"),
    *("DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"),
)
_DELETE: Final = 0x7F
_TAIL_SHARE: Final = 4


@dataclass(frozen=True, slots=True)
class Shown:
    """The displayed part of a text. `total` and `cut`, the part left out, are in `unit`."""

    text: str
    total: int
    cut: int
    unit: str


def spelled(text: str, *, breaks: bool = False) -> str:
    """The text with every invisible or controlling character spelled out. `breaks`: keep line ends and tabs."""
    return _NOT_PLAIN.sub(lambda found: _seen(found[0], breaks), text)


def sanitized(text: str, limit: int = 200) -> str:
    """One line of at most about `limit` characters: for names, reasons and labels."""
    shown = text if len(text) <= limit else text[:limit] + "…"
    return spelled(shown)


def sanitized_text(text: str, limit: int) -> Shown:
    """Keeps lines and tabs; cuts the middle over `limit` characters."""
    head, tail, cut = _cut(len(text), limit)
    shown = text if not cut else f"{text[:head]}{_gap(cut, 'characters')}{text[len(text) - tail :]}"
    return Shown(spelled(shown, breaks=True), len(text), cut, "characters")


def inert_bytes(raw: bytes, limit: int) -> Shown:
    """As `sanitized_text`, of a program's output."""
    head, tail, cut = _cut(len(raw), limit)
    text = _decoded(raw) if not cut else f"{_decoded(raw[:head])}{_gap(cut, 'bytes')}{_decoded(raw[len(raw) - tail :])}"
    return Shown(spelled(text, breaks=True), len(raw), cut, "bytes")


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _cut(total: int, limit: int) -> tuple[int, int, int]:
    """How much to keep of the beginning and of the end, and how much to leave out between."""
    if total <= limit:
        return total, 0, 0
    tail = limit // _TAIL_SHARE
    return limit - tail, tail, total - limit


def _gap(cut: int, unit: str) -> str:
    return f"\n⋯ {cut:,} {unit} not shown ⋯\n"


def _seen(character: str, breaks: bool) -> str:
    if breaks and character in "\t\n":
        return character
    if unicodedata.category(character) not in _STEERING and character not in _FILLERS:
        return character
    point = ord(character)
    if point < len(_NAMES):
        return f"⟨{_NAMES[point]}⟩"
    return "⟨DEL⟩" if point == _DELETE else f"⟨U+{point:04X}⟩"
