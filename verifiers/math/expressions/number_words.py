"""Numbers in English words: `one hundred twenty`, `two thirds`, `three and a half`, `a dozen`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

_ONES: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL: Final = {word: number for number, word in enumerate(_ONES)} | {
    word: 10 * number for number, word in enumerate(_TENS, 2)
}
_LARGE: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PARTS: Final = {
    "half": 2,
    "halves": 2,
    "quarter": 4,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
}
_WORDS: Final = re.compile(r"^‹?\s*([A-Za-z]+(?:[ -][A-Za-z]+){0,30})\s*›?$")
_SIGNS: Final = ("minus", "negative")
_LONGEST: Final = 300


def in_digits(text: str) -> str:
    """A normalised text of words alone that begins with a number, with that number in digits; any other as it is."""
    found = _WORDS.match(text) if len(text) < _LONGEST else None
    if not found:
        return text
    words = re.split("[ -]", found[1].lower())
    sign = "-" if words[0] in _SIGNS else ""
    words = words[1:] if sign else words
    for end in range(len(words), 0, -1):
        number = _number(words[:end])
        if number is not None:
            shown = f"\\frac{{{number.numerator}}}{{{number.denominator}}}" if number.denominator > 1 else f"{number}"
            rest = " ".join(words[end:])
            if rest and {words[end]} & {*_SMALL, *_LARGE, *_PARTS, "hundred", "and", "or", "to"}:
                break
            return f"{sign}{shown}‹ {rest}›" if rest else sign + shown
    return text


def _number(words: Sequence[str]) -> Fraction | None:
    """The number that all of the words are; None where they are none."""
    last = words[-1]
    part = _PARTS.get(last) or _PARTS.get(last.removesuffix("s"))
    if part is None:
        whole = _whole(words)
        return None if whole is None else Fraction(whole)
    before, joined = list(words[:-1]), "and" in words
    at = len(before) - before[::-1].index("and") if joined else 0
    several = 1 if before[at:] in (["a"], ["an"], ["one"]) or not before else _whole(before[at:])
    if several is None or (several == 1) != (last in _PARTS and last != "halves"):
        return None
    added = _whole(before[: at - 1]) if joined else 0
    return None if added is None else added + Fraction(several, part)


def _whole(words: Sequence[str]) -> int | None:
    total, current, last = 0, 0, 0
    if not words or words[-1] in ("and", "a", "an"):
        return None
    for index, word in enumerate(words):
        if word in ("a", "an") and index == 0:
            current, last = 1, 1
        elif word == "and" and last >= 100:
            continue
        elif word in _SMALL:
            number = _SMALL[word]
            fits = last == 0 or last >= 100 or (last >= 20 and 0 < number < 10)
            if not fits or (index and number == 0):
                return None
            current, last = current + number, number
        elif word in ("hundred", "dozen") and 0 < current < 100:
            current, last = current * (12 if word == "dozen" else 100), 100
        elif word in _LARGE and current > 0:
            total, current, last = total + current * _LARGE[word], 0, 1000
        else:
            return None
    return total + current
