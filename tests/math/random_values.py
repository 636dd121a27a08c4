"""Random numbers and quantities with their spellings; which of two are equal is known from how they are made.

A maker takes a random generator and returns (gold, answer, equal).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random

Made = tuple[str, str, bool]
Maker = Callable[[Random], Made]


def either(rng: Random, same: Sequence[str], other: Sequence[str]) -> Made:
    """A spelling of the value, and another of it or one of another value."""
    gold = rng.choice(same)
    equal = rng.random() < 0.5
    return gold, rng.choice(same if equal else other), equal


def fraction_spellings(value: Fraction, rng: Random) -> list[str]:
    p, q, k = value.numerator, value.denominator, rng.randint(2, 9)
    sign, top = ("-" if p < 0 else ""), abs(p)
    found = [
        f"{sign}\\frac{{{top}}}{{{q}}}",
        f"{sign}\\dfrac{{{top}}}{{{q}}}",
        f"\\frac{{{p}}}{{{q}}}",
        f"{p}/{q}",
        f"\\frac{{{p * k}}}{{{q * k}}}",
        f"{p * k}/{q * k}",
        f"{sign}\\tfrac{{{top}}}{{{q}}}",
    ]
    if top > q and sign == "":
        found += [f"{top // q}\\frac{{{top % q}}}{{{q}}}", f"{top // q} {top % q}/{q}"] if top % q else [f"{top // q}"]
    if 1000 % q == 0:
        found += [f"{sign}{decimal(abs(value))}", f"{sign}{decimal(abs(value))}0"]
    return found


def decimal(value: Fraction) -> str:
    """At most three places, exactly."""
    thousandths = value * 1000
    assert thousandths.denominator == 1
    whole, rest = divmod(abs(thousandths.numerator), 1000)
    return ("-" if value < 0 else "") + (f"{whole}.{rest:03d}".rstrip("0") + ("0" if rest == 0 else ""))


def integer(rng: Random) -> Made:
    n = rng.choice([rng.randint(2, 99), rng.randint(1000, 9999), rng.randint(10**6, 10**9)]) * rng.choice((1, 1, -1))
    same = [
        f"{n}",
        f"{n:,}",
        f"{n:,}".replace(",", "{,}"),
        f"{n:,}".replace(",", "\\,"),
        f"{n}.0",
        f"\\text{{{n}}}",
        f"\\frac{{{3 * n}}}{{3}}",
        f"{2 * n}/2",
        f"x = {n}",
        f"\\mathbf{{{n}}}",
        f"{n - 1}+1",
    ]
    other = [
        f"{n + 1}",
        f"{-n}",
        f"{n * 10}",
        f"{n}.5",
        f"{n}1",
        f"{n - 1:,}",
        f"{n},{n + 1}",
        f"{n}x",
        f"2\\cdot {n}" if n > 0 else f"{n}i",
    ]
    return either(rng, same, other)


def fraction(rng: Random) -> Made:
    value = Fraction(rng.randint(-60, 60) or 7, rng.randint(2, 40))
    value = value if value.denominator > 1 else value + Fraction(1, 3)
    others = [value + 1, -value, value / 2, value + Fraction(1, value.denominator)]
    others += [1 / value] if value**2 != 1 else []
    other = [text for each in others for text in fraction_spellings(each, rng)]
    if 100 % value.denominator:
        other += [f"{float(value):.2f}", f"{float(value):.3f}"] if 1000 % value.denominator else [f"{float(value):.1f}"]
    return either(rng, fraction_spellings(value, rng), [text for text in other if text not in ("0.00", "-0.00")])


def scientific(rng: Random) -> Made:
    digits, power = rng.randint(11, 99), rng.randint(-9, 12)
    a = f"{digits // 10}.{digits % 10}"

    def spelled(mantissa: str, power: int) -> list[str]:
        return [
            f"{mantissa}\\times 10^{{{power}}}",
            f"{mantissa}e{power}",
            f"{mantissa} \\cdot 10^{{{power}}}",
            f"{mantissa}*10^{power}" if power > 0 else f"{mantissa}*10^({power})",
            f"{mantissa}×10^{{{power}}}",
        ]

    same = [*spelled(a, power), *spelled(str(digits), power - 1)]
    other = [*spelled(a, power + 1), *spelled(f"{digits // 10}.{(digits + 1) % 10}", power), *spelled("-" + a, power)]
    return either(rng, same, other)


def radical(rng: Random) -> Made:
    a, b = rng.randint(2, 9), rng.choice([2, 3, 5, 6, 7, 10, 11, 13])
    c = rng.randint(-9, 9)
    plus = f"{c:+d}" if c else ""

    def spelled(a: int, b: int, plus: str) -> list[str]:
        return [
            f"{a}\\sqrt{{{b}}}{plus}",
            f"{a}*sqrt({b}){plus}",
            f"{a}√{b}{plus}",
            f"\\sqrt{{{a * a * b}}}{plus}",
            f"\\frac{{{a * b}}}{{\\sqrt{{{b}}}}}{plus}",
            f"{a} \\cdot {b}^{{1/2}}{plus}",
            f"sqrt({a * a * b}){plus}",
        ]

    value = a * b**0.5 + c
    same = [*spelled(a, b, plus), f"{value:.8f}"]
    other = [*spelled(a + 1, b, plus), *spelled(a, b + 15, plus), *spelled(a, b, f"{c + 1:+d}"), f"{value:.2f}"]
    gold, answer, equal = either(rng, same[:-1], other)
    return gold, rng.choice(same) if equal else answer, equal


def complex_number(rng: Random) -> Made:
    a, b = rng.randint(1, 20), rng.randint(2, 20)
    same = [f"{a}+{b}i", f"{b}i+{a}", f"{a}+{b}\\mathrm{{i}}", f"{a} + {b}*i", f"({a}+{b}i)", f"{a}+{b}\\cdot i"]
    other = [f"{a}-{b}i", f"{a + 1}+{b}i", f"{a}+{b + 1}i", f"{a + b}", f"-{a}+{b}i"]
    return either(rng, same, other)


def multiple_of_pi(rng: Random) -> Made:
    p, q = rng.choice([1, 2, 3, 5, 7, 11]), rng.choice([2, 3, 4, 6, 9, 12])
    f = Fraction(p, q)
    p, q = f.numerator, f.denominator

    def spelled(p: int, q: int) -> list[str]:
        pi = "" if p == 1 else f"{p}"
        if q == 1:
            return [f"{pi}\\pi", f"{pi}π"]
        return [
            f"\\frac{{{pi}\\pi}}{{{q}}}",
            f"{pi}pi/{q}" if not pi else f"{p}*pi/{q}",
            f"{pi}π/{q}",
            f"\\frac{{{p}}}{{{q}}}\\pi",
            f"{180 * p // q}^\\circ" if 180 * p % q == 0 else f"\\frac{{{pi}\\pi}}{{{q}}}",
        ]

    other = [*spelled(p + q, q), *spelled(p * 2 + 1, q * 2), f"{float(f):.3f}", f"{float(f) * 3.14159265:.2f}"]
    return either(rng, spelled(p, q), other)


def percent(rng: Random) -> Made:
    n = rng.randint(2, 95)
    same = [f"{n}\\%", f"{n}%", f"{n} \\%", f"{n}\\text{{ percent}}", f"{n} percent", f"{n}\\,\\%"]
    bare = [decimal(Fraction(n, 100)), f"\\frac{{{n}}}{{100}}", f"{n}"]
    other = [
        f"{n + 1}\\%",
        f"{n}^\\circ",
        f"\\${n}",
        f"{n}\\text{{ cm}}",
        decimal(Fraction(n + 1, 100)),
        f"{n}\\text{{ rad}}",
        f"{n}0\\%",
        f"{n}\\text{{ kg}}",
        f"{n}\\text{{ points}}",
        f"-{n}\\%",
    ]
    gold, answer, equal = either(rng, same, other)
    return gold, rng.choice([*same, *bare]) if equal else answer, equal


_UNITS = (
    ("cm", "centimeters", "m", Fraction(1, 100)),
    ("m", "meters", "km", Fraction(1, 1000)),
    ("g", "grams", "kg", Fraction(1, 1000)),
    ("minutes", "min", "hours", Fraction(1, 60)),
    ("inches", "in", "feet", Fraction(1, 12)),
    ("cm^2", "square centimeters", "m^2", Fraction(1, 10_000)),
    ("mL", "milliliters", "L", Fraction(1, 1000)),
)


def with_unit(rng: Random) -> Made:
    n = rng.randint(2, 400)
    unit, name, larger, factor = rng.choice(_UNITS)

    def spelled(number: str, unit: str, name: str) -> list[str]:
        bare, _, power = unit.partition("^")
        raised = f"^{power}" if power else ""
        return [
            f"{number}\\text{{ {bare}}}{raised}",
            f"{number} \\text{{ {name}}}",
            f"{number}\\ \\mathrm{{{bare}}}{raised}",
            f"{number} {name}",
            f"{number}\\mbox{{ {bare}}}{raised}",
            f"{number}\\,\\operatorname{{{bare}}}{raised}",
        ]

    inexact = n * factor
    same = [
        *spelled(str(n), unit, name),
        *spelled(f"\\frac{{{inexact.numerator}}}{{{inexact.denominator}}}", larger, larger),
    ]
    wrong = [
        f"{n}\\%",
        f"{n}^\\circ",
        f"\\${n}",
        f"{n}\\text{{ volts}}",
        f"{n}\\text{{ {larger}}}",
        f"{n}\\text{{ seconds}}",
        *spelled(str(n + 1), unit, name),
        f"{n + 1}",
        f"{n}\\text{{ apples}}",
    ]
    gold, answer, equal = either(rng, same[:6], wrong)
    return gold, rng.choice([*same, f"{n}"]) if equal else answer, equal


def money(rng: Random) -> Made:
    n, cents = rng.randint(2, 900), rng.randint(1, 99)
    amount = f"{n}.{cents:02d}"
    same = [
        f"\\${amount}",
        f"\\$ {amount}",
        f"{amount}\\text{{ dollars}}",
        f"{amount} dollars",
        f"{n * 100 + cents}\\text{{ cents}}",
    ]
    other = [
        f"€{amount}",
        f"£{amount}",
        f"{amount}\\%",
        f"{amount}\\text{{ cents}}",
        f"\\${n + 1}.{cents:02d}",
        f"{amount}^\\circ",
        f"{amount}\\text{{ m}}",
        f"{n + 1}.{cents:02d}",
    ]
    gold, answer, equal = either(rng, same, other)
    return gold, rng.choice([*same, amount]) if equal and "cents" not in gold else answer, equal


def angle(rng: Random) -> Made:
    n = rng.choice([30, 45, 60, 90, 120, 135, 150, 270, rng.randint(1, 359)])
    f = Fraction(n, 180)
    p = "" if f.numerator == 1 else f"{f.numerator}"
    same = [
        f"{n}^\\circ",
        f"{n}°",
        f"{n}^{{\\circ}}",
        f"{n}\\text{{ degrees}}",
        f"{n} degrees",
        f"\\frac{{{p}\\pi}}{{{f.denominator}}}\\text{{ rad}}",
    ]
    other = [
        f"{n}\\text{{ rad}}",
        f"{n}\\%",
        f"{n + 1}^\\circ",
        f"\\${n}",
        f"{n}\\text{{ mph}}",
        f"{n}\\text{{ points}}",
        f"{n + 1}",
        f"\\frac{{{n}\\pi}}{{90}}",
        f"{n}\\text{{ cm}}",
    ]
    gold, answer, equal = either(rng, same, other)
    return gold, rng.choice([*same, f"{n}"]) if equal and "rad" not in gold else answer, equal


def in_base(rng: Random) -> Made:
    n, base = rng.randint(20, 3000), rng.choice([2, 3, 5, 7, 8, 16])
    words = {2: "two", 3: "three", 5: "five", 7: "seven", 8: "eight", 16: "sixteen"}

    def spelled(n: int, base: int) -> list[str]:
        digits = in_digits(n, base)
        return [
            f"{digits}_{{{base}}}",
            f"({digits})_{{{base}}}",
            f"{digits}_{{\\text{{{words[base]}}}}}",
            f"{n}_{{10}}",
            *([f"{digits}_{base}"] if base < 10 else []),
        ]

    another = 9 if base != 8 else 16
    other = [*spelled(n + 1, base), f"{in_digits(n, base)}_{{{another}}}" if base < 9 else f"{n + 2}_{{10}}"]
    same = [text for text in spelled(n, base) if any(c.isdigit() for c in text.partition("_")[0])]
    return either(rng, same, [text for text in other if any(c.isdigit() for c in text.partition("_")[0])])


def in_digits(n: int, base: int) -> str:
    digits = ""
    while n:
        n, digit = divmod(n, base)
        digits = "0123456789ABCDEF"[digit] + digits
    return digits


def residue(rng: Random) -> Made:
    m = rng.randint(3, 40)
    a = rng.randrange(m)
    same = [f"{a} \\pmod{{{m}}}", f"{a + m} \\pmod {m}", f"x \\equiv {a} \\pmod{{{m}}}", f"{a} \\mod {m}"]
    other = [f"{a + 1} \\pmod{{{m}}}", f"{a} \\pmod{{{m + 1}}}", f"{a - 1} \\pmod {m}"]
    return either(rng, same, other)


NUMBERS: dict[str, Maker] = {
    "integer": integer,
    "fraction": fraction,
    "scientific": scientific,
    "radical": radical,
    "complex": complex_number,
    "pi": multiple_of_pi,
    "percent": percent,
    "unit": with_unit,
    "money": money,
    "angle": angle,
    "base": in_base,
    "residue": residue,
}
