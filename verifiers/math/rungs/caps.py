"""Texts that are too large to read here or for math-verify. Linear scans only; nothing is computed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sandbox_gym.verifiers.math.options import Decision

NAME = "caps"


@dataclass(frozen=True, slots=True)
class Caps:
    """`chars`, bracket `depth`, `digits` of one number, value of one literal `exponent`, `factorial` argument, number
    of top signs (`terms`: + - , & ^) in a text that goes to math-verify."""

    chars: int = 4_000
    depth: int = 60
    digits: int = 1_000
    exponent: int = 20_000
    factorial: int = 5_000
    terms: int = 600


READ = Caps(chars=20_000, depth=60, digits=20_000, exponent=10**9, factorial=10**9, terms=20_000)
MATH_VERIFY = Caps()
_DIGITS = re.compile(r"[0-9]+")
_EXPONENT = re.compile(r"(?:\^ ?[({]? ?[-+]?|[0-9][eE][-+]?)([0-9]+)")
_UP = r"\^(?:[({] ?[A-Za-z0-9]{1,12}|[0-9]{1,12}|[A-Za-z])"
_TOWER = re.compile(rf"{_UP}{_UP}\^")
_POWER_IN_EXPONENT = re.compile(r"\^[({]? ?([0-9]{1,12})\^[({]? ?([0-9]{1,12})")
_EXPONENT_OF_TEN = re.compile(r"[0-9.][eE]")
_FACTORIAL = re.compile(r"(?<![0-9])([0-9]++)\s?[)}]?\s?!")


def excess(text: str, caps: Caps) -> str:
    """Which cap a text exceeds, in words; empty where it exceeds none."""
    if len(text) > caps.chars:
        return f"{len(text)} characters"
    if (depth := nesting(text)) > caps.depth:
        return f"brackets {depth} deep"
    longest = max((len(run) for run in _DIGITS.findall(text)), default=0)
    if longest > caps.digits:
        return f"a number of {longest} digits"
    if any(_over(run, caps.exponent) for run in _EXPONENT.findall(text)):
        return f"an exponent over {caps.exponent}"
    if caps is MATH_VERIFY and (_TOWER.search(text) or any(map(_high, _POWER_IN_EXPONENT.findall(text)))):
        return "a tower of powers"
    twice = "!!" if caps is MATH_VERIFY else "!!!"  # math-verify takes 7!! for (7!)!
    if twice in text or any(_over(run, caps.factorial) for run in _FACTORIAL.findall(text)):
        return f"a factorial over {caps.factorial}!"
    terms = sum(text.count(sign) for sign in "+-,&^/ ")
    return f"{terms} operators and separators" if terms > caps.terms else ""


def too_large(gold: str, answer: str, caps: Caps = MATH_VERIFY) -> Decision | None:
    """No verdict from math-verify for a text that is over its caps; not equal, unless a rung before said so."""
    for whose, text in (("gold", gold), ("answer", answer)):
        if why := excess(text, caps):
            return Decision(False, NAME, f"no verdict from math-verify: too large ({whose}: {why})")
    return None


def costly(text: str) -> bool:
    """Whether it holds so many powers, roots and factorials that evaluating them would take long."""
    return sum(text.count(sign) for sign in ("^", "!", "sqrt", "binom")) + len(_EXPONENT_OF_TEN.findall(text)) > 24


def nesting(text: str) -> int:
    """The deepest that brackets of any kind are nested."""
    depth = deepest = 0
    for c in text:
        if c in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif c in ")]}":
            depth -= 1
    return deepest


def _over(digits: str, cap: int) -> bool:
    bare = digits.lstrip("0")
    return len(bare) > 12 or int(bare or "0") > cap


def _high(found: tuple[str, str]) -> bool:
    """Whether n^m in an exponent exceeds the cap, by an upper bound of its bits."""
    n, m = int(found[0]), int(found[1])
    return n > 1 and n.bit_length() * m > MATH_VERIFY.exponent.bit_length() + 1
