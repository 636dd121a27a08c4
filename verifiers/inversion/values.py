"""A literal's text with another value: as long, as plausible, and of the same type."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_STRING = re.compile(r"(?P<prefix>[A-Za-z]{0,2})(?P<quote>'''|\"\"\"|'|\")(?P<body>.*)(?P=quote)", re.S)
_ESCAPE = re.compile(r"\\(?:N\{[^}]*\}|x..|u....|U........|[0-7]{1,3}|\r\n|.)", re.S)
_WORDS = re.compile(r"(?<![^\s])([a-z]{2,12}) ([a-z]{2,12})(?![^\s])")
_NUMBER = re.compile(r"[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*")
_PLAIN = re.compile(r"(?<![0-9])[0-9]+(?:\.[0-9]+)?")
_WORD = re.compile(r"[A-Za-z]+")
_SHORT = 3
"""Letters of a word of which another letter makes another word."""
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxz"
_MOST_BODY = 20_000
_POSITIONS = 4
FLOAT_STEP = 0.01
"""A changed float differs by this share of itself at least."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two numbers may be apart and still count as equal: a share of either, and an amount."""

    relative: float = 0.0
    absolute: float = 0.0


EXACT = Tolerance()


def changed(text: str, value: object, tolerance: Tolerance, turn: int) -> Iterator[str]:
    """Other texts for the literal `text` of `value`, best first: what is within the tolerance of one is not within it
    of the other. `turn` spreads the choice over the literals of a test."""
    if value is None or isinstance(value, bool):
        yield "False" if value is True else "True"
        return
    if not isinstance(value, str | bytes | int | float):
        return
    for other in _strings(text, turn) if isinstance(value, str | bytes) else _numbers(text, turn):
        got = _value(other)
        if type(got) is type(value) and is_other(got, value, tolerance):
            yield other


def elsewhere(text: str, value: object, turn: int) -> Iterator[str]:
    """As `changed`, for what is looked for in another value: a neighbour of a number or of a short word may stand there
    too, in another right answer. A number has one digit more, a text of none one letter after a short word."""
    match = _STRING.fullmatch(text)
    if match is not None and ({"f", "t"} & {*match["prefix"].lower()} or "\\" in match["body"]):
        return
    for step in (0, 1):
        digit, letter = "345678"[(turn + step) % 6], "jqvxz"[(turn + step) % 5]
        if match is None:
            if type(value) in (int, float) and _PLAIN.fullmatch(text):
                yield digit + text
        elif number := _PLAIN.search(match["body"]):
            at = match.start("body") + number.start()
            yield f"{text[:at]}{digit}{text[at:]}"
        elif not (words := [*_WORD.finditer(match["body"])]) or len(words[-1][0]) <= _SHORT:
            at = match.start("body") + (words[-1].end() if words else len(match["body"]))
            yield f"{text[:at]}{letter}{text[at:]}"


def is_other(got: object, value: object, tolerance: Tolerance) -> bool:
    """Whether a value of the same type does not count as equal."""
    return got != value and (not isinstance(value, int | float) or _far(got, value, tolerance))


def _far(got: object, value: float, tolerance: Tolerance) -> bool:
    assert isinstance(got, int | float)
    try:
        least = tolerance.relative * (abs(got) + abs(value)) + 2 * tolerance.absolute
        return abs(got - value) > max(least, abs(value) * FLOAT_STEP if isinstance(value, float) else 0.0)
    except OverflowError:
        return tolerance == EXACT


def _value(text: str) -> object:
    try:
        return ast.literal_eval(f"({text}\n)")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _numbers(text: str, turn: int) -> Iterator[str]:
    """One digit changed: the last of an integer, the second of a float, then each of the others."""
    if text[:2].lower() in ("0x", "0o", "0b"):
        yield from _radix(text)
        return
    mantissa = _NUMBER.match(text)
    if mantissa is None or text[-1:] in "jJ":
        return
    digits = [at for at in range(mantissa.end()) if text[at].isdigit()]
    whole = text.replace("_", "").isdigit()
    order = digits[::-1] if whole else digits[1:2] + digits[:1] + digits[2:]
    for at in order[:20]:
        for digit in _near(text[at], turn):
            if not (digit == "0" and at == digits[0] and len(digits) > 1):
                yield f"{text[:at]}{digit}{text[at + 1 :]}"
    if whole and len(text) < 18:
        yield f"1{text}"  # for a tolerance as wide as the number


def _near(digit: str, turn: int) -> list[str]:
    value = int(digit)
    steps = (1, -1, 2, -2, 5) if turn % 2 else (-1, 1, -2, 2, 5)
    near = [value + step for step in steps if 0 <= value + step <= 9]
    return [str(one) for one in sorted(near, key=lambda one: one == 0)]


def _radix(text: str) -> Iterator[str]:
    alike = {"0x": ("0123456789", "abcdef", "ABCDEF"), "0o": ("01234567",), "0b": ("01",)}[text[:2].lower()]
    for at in range(len(text) - 1, 1, -1):
        for kind in alike:
            if text[at] in kind:
                other = kind[(kind.index(text[at]) + 1) % len(kind)]
                yield f"{text[:at]}{other}{text[at + 1 :]}"


def _strings(text: str, turn: int) -> Iterator[str]:
    """Nothing for an f-string, for pieces that are joined, and for what holds no letter, digit or mark to change."""
    match = _STRING.fullmatch(text)
    if match is None or "f" in match["prefix"].lower() or "t" in match["prefix"].lower():
        return
    body, start = match["body"], match.start("body")
    if len(body) > _MOST_BODY:
        body = body[:_MOST_BODY]
    free = [True] * len(body)
    for escape in _ESCAPE.finditer(body):
        free[escape.start() : escape.end()] = [False] * (escape.end() - escape.start())
    for edit_start, edit_end, other in (*_digits(body, free, turn), *_swaps(body, free), *_letters(body, free, turn)):
        yield f"{text[: start + edit_start]}{other}{text[start + edit_end :]}"


Change = tuple[int, int, str]


def _digits(body: str, free: list[bool], turn: int) -> Iterator[Change]:
    positions = [at for at, char in enumerate(body) if free[at] and char in "0123456789"]
    for at in _from_the_middle(positions):
        first = not body[at - 1 : at].isdigit() and body[at + 1 : at + 2].isdigit()
        near = [digit for digit in _near(body[at], turn) if not (first and digit == "0")]
        yield at, at + 1, near[0]


def _swaps(body: str, free: list[bool]) -> Iterator[Change]:
    for match in list(_WORDS.finditer(body))[:_POSITIONS]:
        if match[1] != match[2] and all(free[match.start() : match.end()]):
            yield match.start(), match.end(), f"{match[2]} {match[1]}"


def _letters(body: str, free: list[bool], turn: int) -> Iterator[Change]:
    positions = [at for at, char in enumerate(body) if free[at] and char.isascii() and char.isalpha()]
    inner = [at for at in positions if body[at - 1 : at].isalpha()]  # not a word's first letter
    for at in _from_the_middle(inner or positions):
        yield at, at + 1, _other_letter(body[at], turn)
    marks = [at for at, char in enumerate(body) if free[at] and char in _MARKS]
    for at in _from_the_middle(marks):
        yield at, at + 1, _MARKS[body[at]]


_MARKS = {"-": "_", "_": "-", ".": ",", ",": ".", ":": ";", ";": ":", "+": "-", "*": "+", "/": "-", "<": ">", ">": "<"}
_MARKS |= {"!": "?", "?": "!", "#": "*", "=": "-", "|": "/", "(": "[", ")": "]", "[": "(", "]": ")", "@": "#"}


def _other_letter(letter: str, turn: int) -> str:
    low = letter.lower()
    alike = _VOWELS if low in _VOWELS else _CONSONANTS
    other = alike[(alike.index(low) + 1 + turn % 3) % len(alike)] if low in alike else "i"
    return other.upper() if letter.isupper() else other


def _from_the_middle(positions: list[int]) -> list[int]:
    middle = len(positions) // 2
    before = positions[max(0, middle - _POSITIONS) : middle]
    return (positions[middle : middle + _POSITIONS] + before[::-1])[:_POSITIONS]
