"""Exact values: sums of rational multiples of √n, π, e, i and variables, in one canonical form.

A value is a mapping from a monomial to its rational coefficient, so two values are the same number exactly when the
mappings are equal (√n of distinct squarefree n, 1 and i are independent over the rationals, and so are powers of π).
Nothing here is ever rounded. Every operation is bounded: over a bound it raises TooBig, never works on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isqrt

MAX_BITS = 100_000
MAX_TERMS = 60
MAX_POWER_OF_SUM = 12
MAX_FACTORIAL = 3_000
MAX_BINOMIAL = 5_000
_TRIAL_DIVISORS = 10_000
_MAX_RADICAND = 10**12


class TooBig(Exception):
    """The exact value would exceed a bound."""


class Unknown(Exception):
    """Not a value of this kind; another reader must read it."""


@dataclass(frozen=True, slots=True)
class Monomial:
    """`i` to the 0 or 1, the root of a squarefree integer, and symbols (π, e, variables) with their exponents."""

    imaginary: bool = False
    radicand: int = 1
    symbols: tuple[tuple[str, Fraction], ...] = ()


ONE = Monomial()
Value = dict[Monomial, Fraction]


def rational(number: Fraction | int) -> Value:
    return {ONE: Fraction(number)} if number else {}


def symbol(name: str, exponent: Fraction | int = 1) -> Value:
    return {Monomial(symbols=((name, Fraction(exponent)),) if exponent else ()): Fraction(1)}


def imaginary_unit() -> Value:
    return {Monomial(imaginary=True): Fraction(1)}


def as_fraction(value: Value) -> Fraction | None:
    """The value as a rational number, or None where it is not one."""
    if not value:
        return Fraction(0)
    return value[ONE] if set(value) == {ONE} else None


def variables(value: Value) -> set[str]:
    """The names of the symbols that are neither π nor e."""
    return {name for term in value for name, _ in term.symbols} - {"π", "e"}


def approximate(value: Value) -> float | None:
    """The real number that it is, as a float; None where it is complex, has variables or is too large."""
    total, known = 0.0, {"π": math.pi, "e": math.e}
    try:
        for term, coefficient in value.items():
            part = float(coefficient) * math.sqrt(term.radicand)
            for name, exponent in term.symbols:
                part *= known[name] ** float(exponent)
            total += part
    except (KeyError, OverflowError):
        return None
    return None if any(term.imaginary for term in value) or not math.isfinite(total) else total


def add(a: Value, b: Value) -> Value:
    total = dict(a)
    for term, coefficient in b.items():
        total[term] = _checked(total.get(term, Fraction(0)) + coefficient)
    total = {term: coefficient for term, coefficient in total.items() if coefficient}
    if len(total) > MAX_TERMS:
        raise TooBig
    return total


def negated(a: Value) -> Value:
    return {term: -coefficient for term, coefficient in a.items()}


def multiply(a: Value, b: Value) -> Value:
    if len(a) * len(b) > 4 * MAX_TERMS:
        raise TooBig
    total: Value = {}
    for first, x in a.items():
        for second, y in b.items():
            _bounded(x, y)
            term, factor = _product(first, second)
            total = add(total, {term: x * y * factor})
    return total


def divide(a: Value, b: Value) -> Value:
    return multiply(a, _inverse(b))


def power(base: Value, exponent: Value) -> Value:
    """`base` to `exponent`, where that is a value again. Raises Unknown, TooBig."""
    if set(base) == {Monomial(symbols=(("e", Fraction(1)),))} and base[next(iter(base))] == 1:
        return _exponential(exponent)
    number = as_fraction(exponent)
    if number is None:
        raise Unknown
    if number.denominator == 1:
        return _integer_power(base, number.numerator)
    rooted = root(base, number.denominator)
    return _integer_power(rooted, number.numerator)


def root(base: Value, degree: int) -> Value:
    """The principal root of a number: any square root, other roots of perfect powers."""
    number = as_fraction(base)
    if number is None and degree == 2:
        return _root_of_monomial(base)
    if number is None or degree < 1 or degree > 64:
        raise Unknown
    if number == 0:
        return {}
    if degree == 2:
        return _square_root(number)
    if number < 0:
        raise Unknown  # real or principal? the library decides
    top, bottom = _perfect_root(number.numerator, degree), _perfect_root(number.denominator, degree)
    return rational(Fraction(top, bottom))


def factorial(value: Value, step: int = 1) -> Value:
    """`step` 2: the double factorial, `7!! = 7 * 5 * 3`."""
    number = as_fraction(value)
    if number is None or number.denominator != 1 or number < 0:
        raise Unknown
    if number > MAX_FACTORIAL:
        raise TooBig
    product = 1
    for factor in range(number.numerator, 1, -step):
        product *= factor
    return rational(product)


def binomial(upper: Value, lower: Value) -> Value:
    n, k = as_fraction(upper), as_fraction(lower)
    if n is None or k is None or n.denominator != 1 or k.denominator != 1 or not 0 <= k <= n:
        raise Unknown
    if n > MAX_BINOMIAL:
        raise TooBig
    return rational(math.comb(n.numerator, k.numerator))


def _checked(number: Fraction) -> Fraction:
    if number.numerator.bit_length() > MAX_BITS or number.denominator.bit_length() > MAX_BITS:
        raise TooBig
    return number


def _bounded(x: Fraction, y: Fraction) -> None:
    """Raises TooBig before a product over the bound is computed."""
    top = x.numerator.bit_length() + y.numerator.bit_length()
    bottom = x.denominator.bit_length() + y.denominator.bit_length()
    if max(top, bottom) > MAX_BITS:
        raise TooBig


def _product(a: Monomial, b: Monomial) -> tuple[Monomial, Fraction]:
    """The product monomial and the rational factor that comes out of roots and i²."""
    shared = gcd(a.radicand, b.radicand)
    factor = Fraction(-shared if a.imaginary and b.imaginary else shared)
    exponents = dict(a.symbols)
    for name, exponent in b.symbols:
        exponents[name] = exponents.get(name, Fraction(0)) + exponent
    symbols = tuple(sorted((name, exponent) for name, exponent in exponents.items() if exponent))
    radicand = a.radicand // shared * (b.radicand // shared)
    return Monomial(a.imaginary != b.imaginary, radicand, symbols), factor


def _inverse(value: Value) -> Value:
    """One over a value of one term, or of two terms by their conjugate."""
    if len(value) == 1:
        [(term, coefficient)] = value.items()
        symbols = tuple((name, -exponent) for name, exponent in term.symbols)
        sign = -1 if term.imaginary else 1
        return {Monomial(term.imaginary, term.radicand, symbols): Fraction(sign) / (coefficient * term.radicand)}
    if len(value) != 2:
        raise Unknown  # zero, or a denominator that the library must handle
    (first, x), (second, y) = value.items()
    conjugate: Value = {first: x, second: -y}
    norm = multiply(value, conjugate)
    if len(norm) != 1:
        raise Unknown
    return multiply(conjugate, _inverse(norm))


def _integer_power(base: Value, exponent: int) -> Value:
    if exponent < 0:
        return _integer_power(_inverse(base), -exponent)
    if exponent == 0:
        if not base:
            raise Unknown
        return rational(1)
    widest = max((max(c.numerator.bit_length(), c.denominator.bit_length()) for c in base.values()), default=0)
    if len(base) > 1 and exponent > MAX_POWER_OF_SUM:
        raise TooBig
    if exponent > MAX_BITS or (widest > 1 and widest * exponent > MAX_BITS):
        raise TooBig
    if set(base) == {ONE}:
        return rational(base[ONE] ** exponent)
    result = rational(1)
    while exponent:
        if exponent & 1:
            result = multiply(result, base)
        exponent >>= 1
        base = multiply(base, base) if exponent else base
    return result


def _exponential(exponent: Value) -> Value:
    """e to a rational, or to a multiple of iπ that ends on an axis."""
    number = as_fraction(exponent)
    if number is not None:
        return symbol("e", number)
    turn = Monomial(imaginary=True, symbols=(("π", Fraction(1)),))
    if set(exponent) == {turn} and exponent[turn] * 2 == int(exponent[turn] * 2):
        quarter = int(exponent[turn] * 2) % 4
        return rational(1 - quarter) if quarter % 2 == 0 else multiply(rational(2 - quarter), imaginary_unit())
    raise Unknown


def _root_of_monomial(base: Value) -> Value:
    """√ of a single product in which every symbol has an odd exponent: there √x² = |x| doesn't come up."""
    if len(base) != 1:
        raise Unknown
    [(term, coefficient)] = base.items()
    odd = all(exponent.denominator == 1 and exponent.numerator % 2 for _, exponent in term.symbols)
    if term.imaginary or term.radicand != 1 or coefficient < 0 or not odd:
        raise Unknown
    halved = tuple((name, exponent / 2) for name, exponent in term.symbols)
    return multiply(_square_root(coefficient), {Monomial(symbols=halved): Fraction(1)})


def _square_root(number: Fraction) -> Value:
    outside, inside = _squarefree(abs(number.numerator) * number.denominator)
    term = Monomial(imaginary=number < 0, radicand=inside)
    return {term: Fraction(outside, number.denominator)}


def _squarefree(number: int) -> tuple[int, int]:
    """`number` = outside² · inside with a squarefree inside. Raises Unknown where factoring would be long."""
    whole = isqrt(number)
    if whole * whole == number:
        return whole, 1
    if number > _MAX_RADICAND:
        raise Unknown
    outside, inside, divisor = 1, 1, 2
    while divisor * divisor <= number and divisor <= _TRIAL_DIVISORS:
        while number % (divisor * divisor) == 0:
            number //= divisor * divisor
            outside *= divisor
        if number % divisor == 0:
            number //= divisor
            inside *= divisor
        divisor += 1
    whole = isqrt(number)  # what is left has no square of a prime under 10⁴ in it, so it is a square or squarefree
    return (outside * whole, inside) if whole * whole == number else (outside, inside * number)


def _perfect_root(number: int, degree: int) -> int:
    if number.bit_length() > 4096:
        raise TooBig
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if middle**degree < number else (low, middle)
    if low**degree != number:
        raise Unknown
    return low
