"""Numerals with a base (`1011_2`, `2A_{16}`), residues (`2 \\pmod 7`) and ratios (`2:4`)."""

from __future__ import annotations

import re
from math import gcd

from sandbox_gym.verifiers.math.expressions.evaluate import try_evaluate
from sandbox_gym.verifiers.math.expressions.values import TooBig, Value, as_fraction, multiply
from sandbox_gym.verifiers.math.options import Decision, MathOptions

_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
          "twelve": 12, "sixteen": 16}  # fmt: skip
_BASED = re.compile(
    r"^\(?([0-9A-Fa-f]{1,400})\)?\s*(?:_\s*\{?\s*\(?(?:‹?\s*(?:base ?›? ?)?([0-9]{1,2}|[a-z]+)\s*›?)\)?\s*\}?"
    r"|‹?\s*\(?\s*(?:in )?base ?›? ?([0-9]{1,2}|[a-z]+)\s*\)?\s*›?)$"
)
_DIGITS = re.compile(r"^[0-9A-Fa-f]{1,400}$")
_MODULUS = re.compile(r"^(.*?)\s*\(?\s*(?:\\pmod|\\mod|\\bmod|‹\s*mod\s*›|\bmod)\s*\{?\s*([0-9]{1,30})\s*\}?\s*\)?$")
_CLASS = re.compile(
    r"^(?:[a-z] ?= ?)?"
    r"(?:([1-9][0-9]{0,8}) ?\*? ?[klmt] ?([-+] ?[0-9]{1,9})?|([0-9]{1,9}) ?\+ ?([1-9][0-9]{0,8}) ?[klmt])$"
)
"""`7k+3`."""
_BETWEEN = re.compile(r",|‹[ ,]*(?:or|and)[ ,]*›")
_LEFT = re.compile(r"^.{0,40}?(?:\\equiv|\\cong|=)\s*")
_NAMED = re.compile(r"^\\?[A-Za-z]+(?:_\{?\w\}?)?\s*(?:\\equiv|\\cong|=)")
_CLOCK = re.compile(r"^([01]?[0-9]|2[0-3]):([0-5][0-9])(?: ([AP])M)?$")
_TIME = re.compile(r"^([01]?[0-9]|2[0-3]):[0-5][0-9]$")


def same_based(gold: str, answer: str, options: MathOptions) -> Decision | None:
    """Both in a base: by value. One without a base: its digits must be the other's."""
    first, second = _based(gold), _based(answer)
    if bool(first) != bool(second):  # `B_{16}` alone may be a variable
        first, second = first or _based(gold, True), second or _based(answer, True)
    if first and second:
        if first[1] == second[1]:
            equal = first[0] == second[0]
            return Decision(equal, "base", f"{'the same' if equal else 'different'} digits in base {first[1]}")
        equal = _value(*first) == _value(*second)
        return Decision(equal, "base", f"{'the same value' if equal else 'different values'} in different bases")
    if not first and not second:
        first, second = (_based(text, True) for text in (gold, answer))
        first = first if first and answer.strip().upper() == first[0] else None
        second = second if second and gold.strip().upper() == second[0] else None
    based, other = (first, answer) if first else (second, gold)
    if not based or not _DIGITS.match(other.strip()):
        return None
    equal = other.strip().upper() == based[0]
    if equal and options.strict_units:
        return Decision(False, "base", f"base {based[1]} on one side only")
    return Decision(equal, "base", f"{'the' if equal else 'not the'} digits in base {based[1]}, its base not said")


def same_residue(gold: str, answer: str) -> Decision | None:
    """Residues of one modulus. A residue and a number without modulus are left to other rungs."""
    first, second = _residues(gold), _residues(answer)
    for one, other in ((first, answer), (second, gold)):
        if one and (found := _CLASS.match(other.strip())):
            step, rest = int(found[1] or found[4]), int((found[2] or found[3] or "0").replace(" ", ""))
            equal = one == {(rest % step, step)} if step else False
            return Decision(equal, "modulus", "the same residue class" if equal else "different residue classes")
    digits = answer.strip()
    if first and digits.isdigit() and len(digits) < 30 and first == {(int(digits), next(iter(first))[1])}:
        return Decision(True, "modulus", "the residue, its modulus not said")
    named = [bool(_NAMED.match(text)) for text in (gold, answer) if _LEFT.match(text)]
    if not first or not second or len(set(named)) > 1:  # n and -n, or 2n
        return None
    equal = first == second
    return Decision(equal, "modulus", "the same residue class" if equal else "different residue classes")


def same_ratio(gold: str, answer: str) -> Decision | None:
    """Ratios of numbers, by proportion; times of day as they stand. `3 to 4` answers a ratio, and is none by itself."""
    if ":" in gold + answer:
        gold, answer = (re.sub(r"(?<=[0-9]) ?‹? ?to ?›? ?(?=[0-9])", ":", text) for text in (gold, answer))
    times = [_minutes(text) for text in (gold, answer)]
    if None not in times and "M" in gold + answer:
        return Decision(times[0] == times[1], "ratio", "times of day")
    gold, answer = re.sub(r"\s", "", gold), re.sub(r"\s", "", answer)
    first, second = _ratio(gold), _ratio(answer)
    signs = {text.count(":") for text in (gold, answer)}
    if (first or second) and len(signs) > 1 and max(signs) > 1 and not {",", "="} & {*gold, *answer}:
        return Decision(False, "ratio", "a ratio of more numbers")  # math-verify divides
    if not first or not second or len(first) != len(second):
        return None
    try:
        pairs = zip(first, second, strict=True)
        equal = all(multiply(a, second[0]) == multiply(b, first[0]) for a, b in pairs)
    except TooBig:
        return None
    if equal and gold.lstrip("0") != answer.lstrip("0") and _TIME.match(gold) and gcd(*map(int, gold.split(":"))) > 1:
        return Decision(False, "ratio", "a time of day, which no proportion is")
    return Decision(equal, "ratio", "the same proportion" if equal else "different proportions")


def _minutes(text: str) -> int | None:
    """`3:45 PM` and `15:45` in minutes of the day; None where the half of the day is not said."""
    found = _CLOCK.match(text.strip())
    if not found or (found[3] is None and 0 < int(found[1]) < 13):
        return None
    hour = int(found[1]) % 12 + (12 if found[3] == "P" else 0) if found[3] else int(found[1])
    return hour * 60 + int(found[2])


def has_base(text: str) -> bool:
    """Whether the text is a numeral with a base."""
    return _based(text) is not None


def _based(text: str, letters: bool = False) -> tuple[str, int] | None:
    """Digits and base; `letters`: a numeral need not have a decimal digit."""
    found = _BASED.match(text.replace("‹", "").replace("›", "").strip()) if len(text) < 500 else None
    if not found:
        return None
    name = found[2] or found[3]
    base = int(name) if name.isdigit() else _WORDS.get(name, 0)
    digits = found[1].upper().lstrip("0") or "0"
    numeral = letters or any(c.isdigit() for c in digits)
    if not numeral or not 2 <= base <= 36 or any(int(digit, 36) >= base for digit in digits):
        return None
    return digits, base


def _value(digits: str, base: int) -> int:
    return int(digits, base)


def _residues(text: str) -> set[tuple[int, int]] | None:
    """Residues with their moduli; `1, 4 \\pmod 5` are two of one modulus, and so is `\\pm 1 \\pmod 5`."""
    found: set[tuple[int, int]] = set()
    modulus = 0
    for part in _BETWEEN.split(text)[::-1] if len(text) < 500 and "\\not" not in text else ():
        if own := _MODULUS.match(part.strip()):
            modulus = int(own[2])
        body = _LEFT.sub("", own[1] if own else part, count=1).strip()
        for each in {body.replace("\\pm", "+"), body.replace("\\pm", "-")} if modulus else ():
            number = as_fraction(value) if (value := try_evaluate(each)) is not None else None
            if number is None or number.denominator != 1:
                return None
            found.add((number.numerator % modulus, modulus))
        if not modulus:
            return None
    return found or None


def _ratio(text: str) -> list[Value] | None:
    parts = text.split(":") if len(text) < 500 else []
    found = [value for part in parts if (value := try_evaluate(part))]
    positive = all((number := as_fraction(value)) is None or number > 0 for value in found)
    return found if 2 <= len(parts) <= 6 and len(found) == len(parts) and positive else None
