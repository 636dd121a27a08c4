"""Solutions that repeat with a period, numbers, points or intervals: `x = \\frac{\\pi}{4} + k\\pi, k \\in \\mathbb{Z}`,
from whichever of them they are counted, in one family or in several."""

from __future__ import annotations

import re
from fractions import Fraction
from math import gcd, lcm

from sandbox_gym.verifiers.math.expressions.evaluate import try_evaluate
from sandbox_gym.verifiers.math.expressions.shapes import assigned, split_top
from sandbox_gym.verifiers.math.expressions.values import Monomial, TooBig, Value, add, negated, variables
from sandbox_gym.verifiers.math.options import Decision

_LONGEST = 500
_MOST = 360
"""Solutions of both in one common period."""
_WHOLE = re.compile(r"\\in ?\\mathbb\{Z\}(?! ?[_^])|(?<![a-z])integers?(?![a-z])")
_SOLVED = re.compile(r"^(?:x|\\theta|\\alpha|\\phi) ?=.*(?:[klmn] ?\\pi(?![A-Za-z])|\\pi ?[klmn](?![A-Za-z]))")
_SOME = re.compile(r"\\mathbb\{(?!Z)|\\mathbb\{Z\} ?[_^]|\\[gl]e(?![a-z])|\\ne(?![a-z])|[<>]|positive|negative|zero")
_SAID = re.compile(
    r"[,;(]? ?‹?(?: ?where|for)? ?›? ?[klmn] ?(?:\\in ?\\mathbb\{Z\}|‹ ?(?:is )?(?:an |any )?integer ?›) ?\)?$"
    r"|[,;(]? ?‹ ?(?:where |for )?(?:all |any |some |every )?integers? ?› ?[klmn] ?\)?$"
)
_BUILT = re.compile(r"^\\\{ ?\\?[a-z]{1,8} ?(?:\\mid|\\vert|\||:) ?(.+?) ?\\\}$")
_OR = re.compile(r"‹ ?,? ?(?:or|and) ?,? ?›|\\cup")

Terms = frozenset[tuple[Monomial, Fraction]]
Family = tuple[Fraction, Fraction, tuple[Terms | str, ...]]
"""A first solution and the period, both as multiples of one unit, and what the first has beside; of an interval or a
point also how far its end is, or its second coordinate, and the brackets."""


def same_families(gold: str, answer: str) -> Decision | None:
    """Equal where both are the same solutions; anything else is another rung's."""
    if len(gold) + len(answer) > _LONGEST or not (_WHOLE.search(gold) or _SOLVED.match(gold)):
        return None
    if _SOME.search(gold + answer):
        return None
    if all("^\\circ" in text for text in (gold, answer)):
        gold, answer = (text.replace("^\\circ", "") for text in (gold, answer))
    units: set[Monomial] = set()
    mine, theirs = _families(gold, units), _families(answer, units)
    if not mine or not theirs or len(units) != 1:
        return None
    periods = [period for _, period, _ in mine + theirs]
    common = Fraction(lcm(*(one.numerator for one in periods)), gcd(*(one.denominator for one in periods)))
    if sum(common / period for period in periods) > _MOST:
        return None
    if _within(mine, common) != _within(theirs, common):
        return None
    return Decision(True, "families", "the same solutions, with their period")


def _within(families: list[Family], common: Fraction) -> set[tuple[Fraction, tuple[Terms | str, ...]]]:
    """The solutions of one common period."""
    return {
        ((start + turn * period) % common, beside)
        for start, period, beside in families
        for turn in range(int(common / period))
    }


def _families(text: str, units: set[Monomial]) -> list[Family] | None:
    """Each family of a text, whose units are added; None where a part is none."""
    found: list[Family] = []
    names: set[str] = set()
    text = _BUILT.sub(r"\1", text)
    for part in (piece.strip() for each in _OR.split(text) for piece in split_top(each, ",;")):
        plain = _SAID.sub("", part).strip()
        if not plain:
            continue
        signs = ("+", "-") if plain.count("\\pm") == 1 else ("",)
        for sign in signs:
            name, right = assigned(plain.replace("\\pm", sign) if sign else plain)
            names |= {name} - {""}
            family = _interval(right, units) if right[:1] in ("(", "[") else _number(try_evaluate(right), units)
            if family is None or len(names) > 1:  # x = 1+k, y = 2+k is one point for each k
                return None
            found.append(family)
    return found


def _interval(text: str, units: set[Monomial]) -> Family | None:
    ends = split_top(text[1:-1], ",") if text[-1:] in (")", "]") else []
    if len(ends) != 2:
        return _number(try_evaluate(text), units)
    values = [try_evaluate(end) for end in ends]
    first, second = values[0], values[1]
    family = _number(first, units)
    if family is None or first is None or second is None:
        return None
    try:
        end = add(second, negated(first)) if variables(second) else second
    except TooBig:
        return None
    return None if variables(end) else (*family[:2], (*family[2], frozenset(end.items()), text[0] + text[-1]))


def _number(value: Value | None, units: set[Monomial]) -> Family | None:
    names = variables(value) if value else set()
    stepping = [term for term in value or () if names & {name for name, _ in term.symbols}]
    if not value or len(names) != 1 or not names <= set("klmn") or len(stepping) != 1:
        return None
    (name,) = names
    (step,) = stepping
    if (name, Fraction(1)) not in step.symbols or step.imaginary:
        return None
    unit = Monomial(step.imaginary, step.radicand, tuple(one for one in step.symbols if one[0] != name))
    units.add(unit)
    beside = frozenset((term, number) for term, number in value.items() if term not in (step, unit))
    return value.get(unit, Fraction(0)), abs(value[step]), (beside,)
