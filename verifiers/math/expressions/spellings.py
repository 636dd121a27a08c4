"""Whole answers that have several spellings: repeating decimals, times of day, words for a symbol.

Works on normalised text; every pattern is linear or bounded.
"""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 80
_WORDS: Final = {
    **dict.fromkeys(("no solution", "no solutions", "no real solution", "no real solutions"), "\\emptyset"),
    **dict.fromkeys(("none", "empty set", "the empty set", "\\{ \\}"), "\\emptyset"),
    **dict.fromkeys(("all real numbers", "all reals", "real numbers"), "\\mathbb{R}"),
    **dict.fromkeys(("all real x", "all real numbers x"), "\\mathbb{R}"),
    **dict.fromkeys(("all positive real numbers", "positive real numbers", "positive reals"), "\\mathbb{R}^+"),
    **dict.fromkeys(("all negative real numbers", "negative real numbers", "negative reals"), "\\mathbb{R}^-"),
    **dict.fromkeys(("dne", "does not", "limit does not", "undefined", "not defined"), "does not exist"),
    **dict.fromkeys(("divergent", "diverging", "series diverges", "it diverges"), "diverges"),
    **dict.fromkeys(("convergent", "series converges", "it converges"), "converges"),
    **dict.fromkeys(("infinity", "positive infinity", "plus infinity", "infinite", "infinite solutions"), "\\infty"),
    **dict.fromkeys(("infinitely many", "infinitely many solutions"), "\\infty"),
    **dict.fromkeys(("negative infinity", "minus infinity", "-infinity"), "-\\infty"),
    **dict.fromkeys(("noon", "12 noon", "12:00 noon"), "12:00 PM"),
    **dict.fromkeys(("midnight", "12 midnight", "12:00 midnight"), "12:00 AM"),
}
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH: Final = f"({'|'.join(f'{month}|{month[:3]}[.]?' for month in _MONTHS)}|sept[.]?)"
_DAY: Final = r"(?:the )?([0-9]{1,2})(?:st|nd|rd|th)?"
_WEEKDAY: Final = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? ?)?"
_DATE: Final = re.compile(rf"{_WEEKDAY}(?:{_MONTH} ?{_DAY}|{_DAY} ?(?:of )?{_MONTH})(?:,? ?([0-9]{{4}}))?")
_ISO_DATE: Final = re.compile(r"([12][0-9]{3})-([01][0-9])-([0-3][0-9])")
_AROUND: Final = re.compile(
    r"^(?:there (?:is|are) |(?:the )?(?:equation|system|inequality|it) (?:has|have) |(?:the |it )?(?:is )?)?"
    r"(.*?)(?: exists?)?$"
)
_ORDINAL: Final = re.compile(r"([0-9]{1,9}) ?\^? ?\{? ?‹? ?(?:st|nd|rd|th) ?›? ?\}?")
_NO_SUCH: Final = re.compile(
    r"such an? (?:[a-z]|number|integer|value|solution|pair|triple|function) (?:does not|doesn't|cannot|can't) exist"
    r"|(?:there (?:is|are|exists?) )?no such (?:real |positive |natural )?"
    r"(?:[a-z]|numbers?|integers?|values?|solutions?|pairs?|triples?)(?: exists?)?"
)
_REMAINDER: Final = re.compile(r"([0-9]{1,20}),? ?(?:R|remainder|rem[.]?|(?:with|and) an? remainder of) ?([0-9]{1,20})")
_ALL_BUT: Final = re.compile(
    r"(?:all real numbers?|all reals)(?: x)?,? (?:except|but|other than)(?: for)? (?:x ?= ?)?([-0-9][^A-Za-z]{0,40})"
)
_BELOW_ZERO: Final = re.compile(r"(?:minus|negative) ([0-9][0-9.,/]*)")
_OUT_OF: Final = re.compile(r"([0-9]{1,9}) ?(?:out of|in) ?([1-9][0-9]{0,8})")
_DOTTED: Final = re.compile(r"(\.[0-9]{0,40})\\dot ?\{?([0-9])\}?(?:([0-9]{0,20})\\dot ?\{?([0-9])\}?)?(?![0-9])")
_BRACKETED: Final = re.compile(r"([-+]?[0-9]{1,40}\.[0-9]{0,40})\(([0-9]{1,20})\)")
_GOES_ON: Final = re.compile(
    r"(?<![0-9.])([0-9]{1,40}\.[0-9]{0,20}?)(?:([0-9])\2{2,40}|([0-9]{2,12})\3{1,8}) ?(?:\\[lc]?dots|\.\.\.|…)$"
)
"""One digit three times or more, or a longer group twice or more, before dots that end the text."""
_TIME: Final = re.compile(
    r"‹?([0-9]{1,2}:[0-9]{2}) ?›? ?‹? ?([AaPp])\.? ?[Mm]\.?›?|‹?([0-9]{1,2}) ?›? ?‹? ?(?:([AP])M|([ap])\.m\.?)›?"
    r"|([0-9]{1,2})(?: | ?‹ ?)([ap])m ?›?"
)


def one_spelling(text: str) -> str:
    """The text, or the usual spelling of what it says."""
    if len(text) > _LONGEST:
        return text
    if text[:1].isdigit() and (ordinal := _ORDINAL.fullmatch(text)):
        text = ordinal[1]
    elif text[:1] != "\\" or text[1:2] == "{":
        text = _said(" ".join(text.replace("‹", "").replace("›", "").split())) or text
    if time := _TIME.fullmatch(text):
        hour, half = time[1] or f"{time[3] or time[6]}:00", time[2] or time[4] or time[5] or time[7]
        return f"{hour} {half.upper()}M"
    if "." not in text:
        return text
    text = _DOTTED.sub(lambda found: f"{found[1]}\\overline{{{found[2]}{found[3] or ''}{found[4] or ''}}}", text)
    if bracketed := _BRACKETED.fullmatch(text):
        return f"{bracketed[1]}\\overline{{{bracketed[2]}}}"
    return _GOES_ON.sub(lambda found: f"{found[1]}\\overline{{{found[2] or found[3]}}}", text)


def _said(words: str) -> str | None:
    """What words alone say."""
    around = _AROUND.match(words.lower())
    if around and (known := _WORDS.get(around[1])):
        return known
    if date := _DATE.fullmatch(words.lower()):
        month, day = (date[1] or date[4])[:3], int(date[2] or date[3])
        return f"‹{month} {day} {date[5] or ''}›"
    if (date := _ISO_DATE.fullmatch(words)) and 0 < int(date[2]) < 13:
        return f"‹{_MONTHS[int(date[2]) - 1][:3]} {int(date[3])} {date[1]}›"
    if _NO_SUCH.fullmatch(words.lower()):
        return "\\emptyset"
    if divided := _REMAINDER.fullmatch(words):
        return f"{divided[1]} ‹R› {divided[2]}"
    if below := _BELOW_ZERO.fullmatch(words.lower()):
        return f"-{below[1]}"
    if chances := _OUT_OF.fullmatch(words):
        return f"\\frac{{{chances[1]}}}{{{chances[2]}}}"
    but = _ALL_BUT.fullmatch(words.lower())
    return f"\\mathbb{{R}}\\setminus\\{{{but[1]}\\}}" if but else None
