"""A value as a verdict shows it: the beginning and the end of its `repr`. Only the part that is shown is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

MOST: Final = 120
_END: Final = MOST // 2
_BRACKETS: Final = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    dict: ("{", "}"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}


def short(value: object) -> str:
    """A value in at most 121 characters."""
    try:
        head = _joined(_words(value, back=False), MOST + 1)
        if len(head) <= MOST:
            return head
        return head[:_END] + "…" + _joined(_words(value, back=True), _END, back=True)
    except (ValueError, RecursionError):  # integers of over 4,300 digits have no decimal text
        return f"a {type(value).__name__} too large to show"


def _joined(words: Iterable[str], most: int, *, back: bool = False) -> str:
    """The words until there are `most` characters, of which the outermost are returned."""
    taken, length = [], 0
    for word in words:
        taken.append(word)
        length += len(word)
        if length >= most:
            break
    return "".join(reversed(taken))[-most:] if back else "".join(taken)[:most]


def _words(value: object, *, back: bool) -> Iterator[str]:
    """The parts of a value's `repr`, from its end where `back`; of a long text only the part that may be shown."""
    if isinstance(value, str | bytes | bytearray):
        yield _text(value, back=back)
    elif type(value) not in _BRACKETS or not isinstance(value, list | tuple | dict | set | frozenset) or not value:
        yield repr(value)
    else:
        opening, closing = _BRACKETS[type(value)]
        closing = ",)" if isinstance(value, tuple) and len(value) == 1 else closing
        yield closing if back else opening
        for index, item in enumerate(_items(value, back=back)):
            if index:
                yield ", "
            for part in reversed(item) if back else item:
                yield from _words(part, back=back) if part is not _COLON else (": ",)
        yield opening if back else closing


_COLON: Final = object()


def _items(
    value: list[object] | tuple[object, ...] | dict[object, object] | set[object] | frozenset[object], *, back: bool
) -> Iterator[tuple[object, ...]]:
    """The items with their commas; no more items are read than characters can be shown."""
    if isinstance(value, dict):
        pairs = reversed(value.items()) if back else value.items()
        return ((key, _COLON, item) for key, item in islice(pairs, MOST))
    if isinstance(value, set | frozenset):  # it has no end to begin at
        rest = islice(value, max(0, len(value) - MOST) if back else 0, None)
        return ((item,) for item in (reversed(list(rest)) if back else islice(rest, MOST)))
    return ((item,) for item in islice(reversed(value) if back else value, MOST))


def _text(value: str | bytes | bytearray, *, back: bool) -> str:
    """The repr of a text, or of its outermost characters in the quotes of the whole."""
    if len(value) <= 2 * MOST:
        return repr(value)
    end = value[-MOST:] if back else value[:MOST]
    if isinstance(end, str):
        assert isinstance(value, str)
        single = "'" in value and '"' not in value
        shown = repr(("'" if single else '"') + end)  # whose first character settles the quotes
        return shown[2:] if back else shown[0] + shown[2:]
    assert not isinstance(value, str)
    mark = b"'" if b"'" in value and b'"' not in value else b'"'
    shown, start = repr(end[:0] + mark + end), repr(end[:0]).index("'") + 1
    told = shown[start:].removeprefix("\\")[1:]  # without the mark, which a bytearray escapes
    return told if back else shown[:start] + told
