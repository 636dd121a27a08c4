"""An editor's rules on bytes: lines with numbers, one exact replacement, an insertion. Pure; knows no session.

Bytes, so that a file in any encoding keeps what was not edited; line ends of a CRLF file are kept in what is put in.
"""

from __future__ import annotations

from typing import Final

from sandbox_gym.errors import RequestError

SHOWN_CHARS: Final = 48_000
LINE_CHARS: Final = 2_000
AROUND: Final = 4
"""Lines shown before and after an edit."""
MAX_PLACES: Final = 20


def line_count(data: bytes) -> int:
    """A last line's end starts no other."""
    return data.count(b"\n") + (not data.endswith(b"\n")) if data else 0


def numbered(data: bytes, first: int = 1, last: int | None = None) -> str:
    """Lines `first` to `last`, 1-based and inclusive, as far as they may be shown; then how many more there are."""
    count = line_count(data)
    end = count if last is None else min(last, count)
    lines = data[_offset(data, first - 1) :].split(b"\n", SHOWN_CHARS)
    shown: list[str] = []
    room = SHOWN_CHARS
    for number, line in zip(range(first, end + 1), lines, strict=False):
        text = f"{number:6}\t{_line(line)}\n"
        room -= len(text)
        if room < 0:
            rest = end - number + 1
            shown.append(f"[... {rest} more lines, {number} to {end}; ask for them with view_range]\n")
            break
        shown.append(text)
    return "".join(shown)


def _line(line: bytes) -> str:
    text = line.removesuffix(b"\r").decode("utf-8", "replace")
    return text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]}[... {len(text) - LINE_CHARS} more characters]"


def replaced(data: bytes, old: bytes, new: bytes) -> tuple[bytes, int]:
    """The file with the one place replaced, and that place's line. Raises RequestError unless there is exactly one."""
    if not old:
        raise RequestError("old_str", "is empty", "give the text to replace; insert puts in new lines")
    if old == new:
        raise RequestError("new_str", "is the same as old_str", "give what is to stand there instead")
    if old not in data and b"\n" in old and b"\r\n" in data:
        old, new = _crlf(old), _crlf(new)
    count = data.count(old)
    if count != 1:
        raise RequestError("old_str", _places(data, old, count), _advice(count))
    at = data.index(old)
    return data[:at] + new + data[at + len(old) :], data.count(b"\n", 0, at) + 1


def _advice(count: int) -> str:
    more = "add the lines around the one you mean, so that it is the only one"
    return more if count else "view the file and copy the text as it stands there, blanks included"


def _places(data: bytes, old: bytes, count: int) -> str:
    if not count:
        return "does not occur in the file"
    numbers: list[str] = []
    at = line = 0
    while len(numbers) < min(count, MAX_PLACES):
        found = data.index(old, at)
        line += data.count(b"\n", at, found)
        numbers.append(str(line + 1))
        line += old.count(b"\n")
        at = found + len(old)
    more = f" and {count - len(numbers)} more" if count > len(numbers) else ""
    return f"occurs {count} times, at lines {', '.join(numbers)}{more}"


def inserted(data: bytes, after: int, text: bytes) -> tuple[bytes, int]:
    """The file with whole lines put in after line `after` (0: before the first), and how many. Raises RequestError."""
    count = line_count(data)
    if after > count:
        raise RequestError("insert_line", f"is {after}, and the file has {count} lines", f"give 0 to {count}")
    if not text:
        raise RequestError("insert_text", "is empty", "give the lines to put in")
    end = b"\r\n" if 2 * data.count(b"\r\n") > data.count(b"\n") else b"\n"
    text = text if text.endswith(b"\n") else text + b"\n"
    text = _crlf(text) if end == b"\r\n" else text
    at = _offset(data, after)
    head = data[:at] if at == 0 or data[at - 1 : at] == b"\n" else data[:at] + end
    return head + text + data[at:], text.count(b"\n")


def _offset(data: bytes, lines: int) -> int:
    """Where the line after the first `lines` begins."""
    pieces = data.split(b"\n", lines)
    return len(data) - len(pieces[-1]) if len(pieces) > lines else len(data)


def _crlf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def around(data: bytes, line: int, lines: int = 1) -> str:
    """An edit and what stands around it, numbered."""
    return numbered(data, max(1, line - AROUND), line + max(lines, 1) - 1 + AROUND)
