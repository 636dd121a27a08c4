"""A number with its surroundings: currency, percent, degrees, units, scale words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from sandbox_gym.verifiers.math.expressions import values
from sandbox_gym.verifiers.math.expressions.evaluate import try_evaluate
from sandbox_gym.verifiers.math.expressions.kinds import BARE, DEGREES, PERCENT, Kind, kind_of_unit, named_unit
from sandbox_gym.verifiers.math.expressions.number_words import in_digits
from sandbox_gym.verifiers.math.expressions.units import Unit, parse_unit
from sandbox_gym.verifiers.math.expressions.values import Value

_SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
    "百": 100,
    "千": 1000,
    "万": 10**4,
    "亿": 10**8,
}
_METRIC = tuple("克米瓦焦帕卡伏赫安升")  # 千克 is a kilogram
_NO_UNIT = frozenset(
    {"is", "are", "was", "or", "and", "not", "no", "wrong", "if", "for", "to", "when", "where", "with", "mod", "modulo",
     "of", "but", "it", "its", "correct", "incorrect", "in", "out", "either", "neither", "than", "more", "less", "plus",
     "minus", "times", "over", "only", "about", "approximately", "all", "any", "none", "be", "except", "unless", "from",
     "base", "answer", "final", "squared", "cubed", "factorial", "half", "quarter", "third", *_SCALES}
)  # fmt: skip
_PERCENT_WORDS = r"(?:percent|percentage|per cent|pct)(?: points?)?"
_PERCENT = re.compile(rf"\s*(?:%|‹\s*(?:%|{_PERCENT_WORDS})\s*›|{_PERCENT_WORDS}\b)\s*$", re.IGNORECASE)
_DEGREES = re.compile(r"\s*(?:\^\\circ|(?<=[0-9}])\s*\\circ)\s*(?:‹?\s*([CF])\s*›?)?\s*$")
_PRECISE = 6
_MOST_VARIABLES = 3
"""`2abc` is a product, `2apples` are apples."""
_FRACTION = r"\\frac\{?[0-9]+\}?\{?[0-9]+\}?"
_ROOT = r"\\sqrt ?\{[0-9]+\}"
_TEN_TO = r"[eE][-+]?[0-9]{1,3}| ?\* ?10 ?\^ ?\{? ?-?[0-9]{1,5} ?\}?"
_POWER = r"10 ?\^ ?(?:\{ ?[-+]?[0-9]{1,3} ?\}|[0-9])"
_DECIMAL = rf"(?:[0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)(?:{_TEN_TO})?"
_PLAIN_NUMBER = (
    rf"[-+]?[$€£¥₹]?\s?(?:{_POWER}|{_DECIMAL}|{_FRACTION}|{_ROOT})"
    rf"(?: ?(?:[0-9]+/[0-9]+|/[0-9]+|{_FRACTION}|{_ROOT}|\\pi))?"
)
_WITH_WORDS = re.compile(rf"^({_PLAIN_NUMBER})(\s?)([A-Za-zµμΩ][A-Za-zµμΩ /.^{{}}0-9*()-]*)$")
_NAMED = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*‹?\s*([A-Za-z$]{1,15})\.?\s*›?"
_SIXTIETHS = r"([0-9]{1,2}(?:\.[0-9]{1,6})?) ?"
_ARC = re.compile(rf"^(-?[0-9]{{1,4}}) ?\^\\circ ?(?:{_SIXTIETHS}'(?!'))?(?: ?{_SIXTIETHS}(?:''|\"))?$")
_POWER_OF_TEN = re.compile(r"^([-+]?[0-9.]{1,400}) ?\* ?10 ?\^ ?\{? ?([-+]?[0-9]{1,5}) ?\}?$")
_TWO_UNITS = re.compile(rf"^{_NAMED}\s*(?:‹?\s*and\s*›?|,)?\s*{_NAMED}$")
_THOUSANDS = re.compile(r"(?<![0-9,.])([1-9][0-9]{0,2})((?:,[0-9]{3})+)(?![0-9]|,[0-9])")
_LAKHS = re.compile(r"^[-+]?[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?$")
_CURRENCY_NAME = re.compile(r"‹?(USD|EUR|GBP|INR|CNY|Rs)\b\.? ?›? ?(?=[0-9])")
_SPACED = re.compile(r"^([-+]?)([1-9][0-9]{0,2})((?: [0-9]{3})+|(?:_[0-9]{3})+|(?:\.[0-9]{3}){2,}(?=$))(\.[0-9]+)?$")
_BARE_DECIMAL = re.compile(r"^[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$")


@dataclass(frozen=True, slots=True)
class Quantity:
    """`value` is exact; `places`: decimals written, where the number is one bare decimal literal."""

    value: Value
    kind: Kind = BARE
    places: int | None = None
    has_point: bool = False


@dataclass(frozen=True, slots=True)
class Parts:
    """A number's own text, its unit or sign, and the factor of a scale word (`5 million`)."""

    core: str
    kind: Kind = BARE
    scale: int = 1


def read_quantity(text: str) -> Quantity | None:
    """A normalised scalar as a quantity; None where this reader does not know its number."""
    text = text.strip()
    if found := _compound(text):
        return found
    text = in_digits(text)
    parts = read_parts(text)
    found = _number(parts) if parts else None
    return _number(Parts(text)) if found is None and not (parts and parts.kind.sure) else found  # no unit: variables


def read_parts(text: str) -> Parts | None:
    """A normalised scalar as number and kind, whether or not the number can be read; None: words of another sort."""
    text = text.strip()
    if percent := _PERCENT.search(text[-40:]):
        return Parts(text[: len(text) - len(percent.group())], PERCENT)
    degrees = _DEGREES.search(text[-40:])
    if degrees and text[: len(text) - len(degrees.group())].strip():
        core = text[: len(text) - len(degrees.group())]
        return Parts(core, kind_of_unit(parse_unit(f"°{degrees.group(1)}")) if degrees.group(1) else DEGREES)
    core, tail, sure = _parted(text)
    core, kind = _currency(core)
    return _with_tail(core, kind, tail, sure) if tail else Parts(core, kind)


def _compound(text: str) -> Quantity | None:
    """`5 feet 6 inches` and `45° 30'` as a sum; None for anything but two numbers with units of one dimension."""
    arc = _ARC.match(text) if "'" in text and len(text) < 60 else None
    if arc:
        parts = Fraction(arc[2] or 0) / 60 + Fraction(arc[3] or 0) / 3600
        return Quantity(values.rational(Fraction(arc[1]) + (-parts if arc[1][0] == "-" else parts)), DEGREES)
    found = _TWO_UNITS.match(text) if len(text) < 200 else None
    if not found:
        return None
    larger, smaller = parse_unit(found[2].strip()), parse_unit(found[4].strip())
    if not larger or not smaller or larger.dimensions != smaller.dimensions or larger.factor == smaller.factor:
        return None
    total = Fraction(found[1]) * larger.factor + Fraction(found[3]) * smaller.factor
    return Quantity(values.rational(total), kind_of_unit(Unit(larger.dimensions, Fraction(1))))


def merge_thousands(text: str) -> str:
    """`1,000` as `1000`, where no comma in the text can mean a list."""
    spaced = _SPACED.match(text)
    if spaced:
        return f"{spaced[1]}{spaced[2]}{re.sub('[ _.]', '', spaced[3])}{spaced[4] or ''}"
    if "," not in text or text.lstrip("-+$ ")[:1] in ("(", "[", "{", "\\"):
        return text
    if _LAKHS.match(text):
        return text.replace(",", "")
    merged = _THOUSANDS.sub(lambda found: found.group(1) + found.group(2).replace(",", ""), text)
    if merged.count(",") != merged.count(", "):
        return text
    return merged


def decimal_places(text: str) -> int | None:
    """The number of decimals of a bare decimal literal, its exponent of ten included; None for another text. A small
    exponent does not make a few digits precise."""
    text = _POWER_OF_TEN.sub(r"\1e\2", text.strip()) if "*" in text else text.strip()
    if len(text) > 5000 or not _BARE_DECIMAL.match(text):
        return None
    mantissa, _, exponent = text.lower().partition("e")
    if len(exponent) > 6:
        return None
    written = len(mantissa.partition(".")[2])
    places = max(0, written - int(exponent or 0))
    return places if written >= _PRECISE else min(places, written)


def _currency(core: str) -> tuple[str, Kind]:
    bare = core.strip()
    sign = "-" if bare.startswith("-") else ""
    rest = bare.removeprefix("-").strip()
    named = _CURRENCY_NAME.match(rest)
    if named:
        return sign + rest[named.end() :], kind_of_unit(parse_unit(named[1]))
    for symbol in "$€£¥₹¢":
        if rest.startswith(symbol) or rest.endswith(symbol):
            return sign + rest.strip(symbol + " "), kind_of_unit(parse_unit(symbol))
    return core, BARE


def _parted(text: str) -> tuple[str, str, bool]:
    """The number's text, what stands behind it, and whether that can't be variables."""
    mark = text.find("‹")
    if mark > 0:
        core, tail = text[:mark].strip(), text[mark:].replace("‹", " ").replace("›", " ").strip()
        return (core[:-1], tail[:-1].strip(), True) if core[-1:] + tail[-1:] in ("[]", "()") else (core, tail, True)
    found = _WITH_WORDS.match(text) if len(text) <= 200 else None
    if not found or mark >= 0:
        return text, "", True
    core, gap, tail = found.group(1), found.group(2), found.group(3).strip()
    if re.fullmatch(r"[eE][0-9]+", tail) or tail in ("pi", "i", "e") or not (gap or len(tail.split("^")[0]) > 1):
        return (text, "", True) if tail in ("pi", "i", "e") or tail[:1] in "eE" else (core, tail, False)
    letters = [word for word in re.split(r"[^A-Za-zµμΩ]+", tail) if word]
    if gap or not letters:
        return core, tail, True
    named = len(max(letters, key=len)) > _MOST_VARIABLES or parse_unit(tail) is not None
    return core, tail, named and all(len(word) > 1 for word in letters)


def _with_tail(core: str, currency: Kind, tail: str, sure: bool) -> Parts | None:
    """`currency`: what the number itself is marked with; words behind it may only scale or name things."""
    scale, tail = _scaled(tail)
    if not tail:
        return Parts(core, currency, scale)
    known = parse_unit(tail)
    if known is not None:
        return Parts(core, kind_of_unit(known, sure), scale) if currency.bare else None
    words = tail.lower().split()
    plain = all(
        word.strip(".,()").isalpha() and (len(word) > 1 or word > "z") and word.strip(".,()") not in _NO_UNIT
        for word in words
    )
    if not plain or len(words) > 4 or not sure:
        return None
    if core.rstrip().endswith("%"):
        return Parts(core.rstrip()[:-1], PERCENT, scale)
    if not currency.bare:
        return Parts(core, currency, scale)
    known = named_unit(tail)
    noun = " ".join(word.rstrip("s.,") for word in words)
    return Parts(core, kind_of_unit(known) if known else Kind(noun=noun), scale)


def _scaled(tail: str) -> tuple[int, str]:
    first, _, rest = tail.partition(" ")
    if (scale := _SCALES.get(tail[:1])) and tail[1:2] not in _METRIC:
        return scale, tail[1:].strip()
    scale = _SCALES.get(first.lower())
    return (scale, rest.strip()) if scale else (1, tail)


def _number(parts: Parts) -> Quantity | None:
    core = merge_thousands(parts.core.strip())
    value = try_evaluate(core)
    if value is None:
        return None
    if parts.scale != 1:
        value = values.multiply(value, values.rational(Fraction(parts.scale)))
    places = decimal_places(core) if parts.scale == 1 else None
    return Quantity(value, parts.kind, places, "." in core)
