"""Reads a short normalised math text as an exact value: numbers, fractions, powers, roots, π, e, i and variables.

The reader gives up early: an ambiguous or unknown text raises Unknown and is left to the library. Depth, length and the
number of steps are bounded.
"""

from __future__ import annotations

import re
from fractions import Fraction

from sandbox_gym.verifiers.math.expressions import values
from sandbox_gym.verifiers.math.expressions.values import TooBig, Unknown, Value

MAX_CHARS = 4_500
MAX_TOKENS = 1_200
MAX_DIGITS = 4_000
MAX_EXPONENT_10 = 20_000
_MAX_DEPTH = 90
_WORK_BITS = 1_000_000
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9}(?![0-9.]))?)|(?P<word>\\[A-Za-z]+|sqrt|exp|pi|[A-Za-z])"
    r"|(?P<mark>[-+*/^!(){}\[\]|]))"
)
_MIXED = re.compile(r"(?<![0-9.)}])([0-9]{1,9}) +([0-9]{1,9})\s*/\s*([0-9]{1,9})(?![0-9.])")
_REPEATING = re.compile(r"(?<![0-9.])([0-9]{0,60})\.([0-9]{0,60})\\(?:overline|bar)\{?([0-9]{1,60})\}?(?![0-9.])")
_FUNCTIONS = {"\\frac", "\\sqrt", "sqrt", "exp", "\\exp", "\\binom", "\\pi", "pi"}


def evaluate(text: str) -> Value:
    """The exact value. Raises Unknown (not read here) and TooBig (over a bound)."""
    if len(text) > MAX_CHARS:
        raise TooBig
    reader = _Reader(_tokens(_REPEATING.sub(_repeating, _MIXED.sub(_mixed, text))))
    value = reader.total(0)
    if reader.peek():
        raise Unknown
    return value


def try_evaluate(text: str) -> Value | None:
    """The exact value; None where this reader can't read it."""
    try:
        return evaluate(text)
    except (Unknown, TooBig):
        return None


def literal(text: str) -> Fraction:
    """A decimal literal, with or without an exponent of ten, as a fraction. Raises TooBig."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, places = mantissa.partition(".")
    if len(whole) + len(places) > MAX_DIGITS or abs(int(exponent or 0)) > MAX_EXPONENT_10:
        raise TooBig
    number = Fraction(int((whole + places) or "0"), 10 ** len(places))
    tens = int(exponent or 0)
    power: int = 10 ** abs(tens)
    return number * power if tens >= 0 else number / power


def _mixed(found: re.Match[str]) -> str:
    whole, top, bottom = found.groups()
    return f"({whole}+{top}/{bottom})" if 0 < int(top) < int(bottom) else found.group()


def _repeating(found: re.Match[str]) -> str:
    """`0.1\\overline{6}` as the fraction it is."""
    whole, fixed, period = found.groups()
    nines = int("9" * len(period)) * 10 ** len(fixed)
    top = int((whole or "0") + fixed + period) - int((whole or "0") + fixed)
    return f"({top}/{nines})"


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            raise Unknown
        tokens.append(found.group().strip())
        at = found.end()
    if len(tokens) > MAX_TOKENS:
        raise TooBig
    return tokens


class _Reader:
    """Recursive descent over the tokens; `depth` counts the open calls."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens[::-1]
        self._work = 0

    def peek(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def total(self, depth: int) -> Value:
        value = self._product(depth)
        while self.peek() in ("+", "-"):
            sign = self._take()
            right = self._product(depth)
            value = self._counted(values.add(value, right if sign == "+" else values.negated(right)))
        return value

    def _product(self, depth: int) -> Value:
        value = self._signed(depth)
        divided = False
        while True:
            token = self.peek()
            if token in ("*", "/"):
                self._take()
                right = self._signed(depth)
                value = self._counted((values.multiply if token == "*" else values.divide)(value, right))
                divided = token == "/"
            elif self._starts_factor(token):
                if divided or _is_number(token):
                    raise Unknown  # 1/2x is read both ways, and x2 and 2 3 are no products
                value = self._counted(values.multiply(value, self._power(depth)))
            else:
                return value

    def _starts_factor(self, token: str) -> bool:
        return bool(token) and (token in ("(", "{", "[") or token[0].isalnum() or token[0] in ".\\")

    def _signed(self, depth: int) -> Value:
        if self.peek() in ("+", "-"):
            sign = self._take()
            value = self._signed(self._deeper(depth))
            return value if sign == "+" else values.negated(value)
        return self._power(depth)

    def _power(self, depth: int) -> Value:
        depth = self._deeper(depth)
        base = self._primary(depth)
        while self.peek() == "!":
            self._take()
            double = self.peek() == "!" and bool(self._take())
            base = self._counted(values.factorial(base, 2 if double else 1))
        if self.peek() == "^":
            self._take()
            exponent = self._exponent(depth)
            if self.peek() in ("^", "!"):
                raise Unknown
            return self._counted(values.power(base, exponent))
        return base

    def _exponent(self, depth: int) -> Value:
        sign = self._take() if self.peek() in ("+", "-") else "+"
        value = self._primary(depth)
        return value if sign == "+" else values.negated(value)

    def _primary(self, depth: int) -> Value:
        token = self._take()
        if token in ("(", "{", "["):
            value = self.total(self._deeper(depth))
            self._expect({"(": ")", "{": "}", "[": "]"}[token])
            return value
        if _is_number(token):
            return self._number(token, depth)
        if token in _FUNCTIONS:
            return self._function(token, depth)
        if len(token) == 1 and token.isalpha():
            return _letter(token)
        raise Unknown

    def _number(self, token: str, depth: int) -> Value:
        """A literal, with the proper fraction of a mixed number behind it."""
        value = self._counted(values.rational(literal(token)))
        if self._tokens[-2:] == ["\\frac", "{"] and token.isdigit():
            raise Unknown  # 1{\frac12} is a mixed number to most heads
        if self.peek() != "\\frac" or not token.isdigit():
            return value
        self._take()
        top, bottom = self._argument(depth), self._argument(depth)
        first, second = values.as_fraction(top), values.as_fraction(bottom)
        whole = first is not None and second is not None and first.denominator == second.denominator == 1
        part = values.divide(top, bottom)
        if whole and first is not None and second is not None and 0 < first < second:
            return values.add(value, part)
        return values.multiply(value, part)

    def _function(self, name: str, depth: int) -> Value:
        if name in ("\\pi", "pi"):
            return values.symbol("π")
        if name in ("\\frac", "\\binom"):
            first, second = self._argument(depth), self._argument(depth)
            return self._counted((values.divide if name == "\\frac" else values.binomial)(first, second))
        if name in ("exp", "\\exp"):
            if self.peek() not in ("(", "{"):
                raise Unknown
            return values.power(values.symbol("e"), self._primary(depth))
        degree = 2
        if self.peek() == "[":
            number = values.as_fraction(self._primary(depth))
            if number is None or number.denominator != 1:
                raise Unknown
            degree = number.numerator
        if name == "sqrt" and self.peek() != "(":
            raise Unknown
        argument = self._argument(depth, whole_number=True)
        if degree % 2 and (number := values.as_fraction(argument)) is not None and number < 0:
            return self._counted(values.negated(values.root(values.negated(argument), degree)))  # the real one
        return self._counted(values.root(argument, degree))

    def _argument(self, depth: int, whole_number: bool = False) -> Value:
        """A command's argument: a group, or one character as TeX takes it (`\\frac12`)."""
        token = self.peek()
        if token.isdigit() and len(token) > 1:
            if whole_number:
                raise Unknown  # \sqrt12 is √1·2 in TeX and √12 in most heads
            self._tokens[-1:] = [token[1:], token[0]]
        elif _is_number(token) and not token.isdigit():
            raise Unknown
        return self._primary(self._deeper(depth))

    def _take(self) -> str:
        if not self._tokens:
            raise Unknown
        return self._tokens.pop()

    def _expect(self, token: str) -> None:
        if self._take() != token:
            raise Unknown

    def _deeper(self, depth: int) -> int:
        if depth >= _MAX_DEPTH:
            raise TooBig
        return depth + 1

    def _counted(self, value: Value) -> Value:
        """The value, after its size is added to this reader's count."""
        self._work += sum(100 + c.numerator.bit_length() + c.denominator.bit_length() for c in value.values())
        if self._work > _WORK_BITS:
            raise TooBig
        return value


def _is_number(token: str) -> bool:
    return token[:1].isdigit() or (token[:1] == "." and len(token) > 1)


def _letter(token: str) -> Value:
    if token == "e":
        return values.symbol("e")
    if token == "i":
        return values.imaginary_unit()
    return values.symbol(token)
