"""Units of measurement: their names, their dimensions and their exact conversion."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

_KINDS = {
    "length": "m:1 meter meters metre metres; cm:1/100 centimeter centimeters centimetre centimetres;"
    "dm:1/10 decimeter decimeters;"
    "in:127/5000 inch inches; ft:381/1250 foot feet; yd:1143/1250 yard yards yds; mi:201168/125 mile miles",
    "mass": "g:1 gram grams; kg:1000 kgs; t:1000000 tonne tonnes;"
    "lb:45359237/100000 lbs pound pounds; oz:45359237/1600000 ounce ounces",
    "time": "s:1 sec secs second seconds; min:60 mins minute minutes;"
    "h:3600 hr hrs hour hours; day:86400 days; week:604800 weeks; month:2629746 months; year:31556952 years yr yrs",
    "volume": "L:1/1000 l liter liters litre litres; ml:1/1000000; gal:1 gallon gallons",
    "usd": "$:1 dollar dollars USD usd; ¢:1/100 cent cents",
    "eur": "€:1 euro euros EUR",
    "gbp": "£:1 GBP",
    "inr": "₹:1 rupee rupees Rs INR",
    "cny": "¥:1 yuan RMB CNY",
    "force": "N:1 newton newtons",
    "energy": "J:1 joule joules; cal:523/125; kcal:4184; Wh:3600; kWh:3600000; eV:1",
    "power": "W:1 watt watts",
    "pressure": "Pa:1 pascal pascals; atm:101325; bar:100000 bars; mmHg:20265/152 torr",
    "frequency": "Hz:1 hertz",
    "voltage": "V:1 volt volts",
    "current": "A:1 amp amps ampere amperes",
    "resistance": "Ω:1 ohm ohms",
    "charge": "coulomb:1 coulombs",
    "capacitance": "farad:1 farads",
    "inductance": "H:1 henry henries",
    "magnetism": "T:1 tesla teslas",
    "temperature": "K:1 kelvin kelvins",
    "celsius": "°C:1 celsius",
    "fahrenheit": "°F:1 fahrenheit",
    "angle": "degree:1 degrees deg",
    "radian": "rad:1 radian radians rads",
    "amount": "mol:1 mole moles",
    "area": "hectare:10000 hectares ha; acre:316160658/78125 acres",
}
_BASES = ("length", "mass", "time", "current")
_DERIVED = {
    "volume": (1, 3), "area": (1, 2), "frequency": (1, 0, 0, -1), "force": (1000, 1, 1, -2), "energy": (1000, 2, 1, -2),
    "power": (1000, 2, 1, -3), "pressure": (1000, -1, 1, -2), "charge": (1, 0, 0, 1, 1),
    "voltage": (1000, 2, 1, -3, -1), "resistance": (1000, 2, 1, -3, -2),
    "inductance": (1000, 2, 1, -2, -2), "magnetism": (1000, 0, 1, -2, -1),
}  # fmt: skip
"""How many grams, metres and so on a kind's own unit is, and the exponents of `_BASES`."""
_APART = {"gal", "eV", "month", "year"}  # named, but not converted into the others of their kind
_PREFIXES = {"k": 3, "M": 6, "G": 9, "m": -3, "μ": -6, "µ": -6, "u": -6, "n": -9, "p": -12}
_NAMED_PREFIXES = {"kilo": 3, "mega": 6, "giga": 9, "milli": -3, "micro": -6, "nano": -9, "pico": -12}
_PREFIXED = "m g s L J W N Pa Hz V A Ω T H mol eV"
_NAMED_PREFIXED = "meter metre gram second liter litre joule watt newton pascal hertz"
_NAMED_PREFIXED += " volt amp ampere ohm tesla henry mole farad coulomb"
_LETTERS = {"F": "farad", "C": "coulomb"}
"""These have a prefix: alone they may be degrees."""
_SHORT = {"mph": ("mi", "h"), "kph": ("km", "h"), "kmh": ("km", "h"), "mps": ("m", "s")}
_METRES_PER = re.compile(r"\bms(?= ?\^ ?\{?-)")
_TOKEN = re.compile(r"\s*(per\b|square[ds]?\b|sq\b\.?|cubic\b|cubed\b|[A-Za-zµμΩ°$€£¥₹¢]+|\^\{?-?[0-9]\}?|[/*.()])")


@dataclass(frozen=True, slots=True)
class Unit:
    """`dimensions`: (kind, exponent) pairs, sorted; `factor`: how many of the kinds' own base units it is."""

    dimensions: tuple[tuple[str, int], ...]
    factor: Fraction


def unit_named(name: str) -> tuple[str, Fraction] | None:
    """The kind and the factor of a single unit's name or abbreviation."""
    return _NAMES.get(name) or _NAMES.get(name.lower() if len(name) > 3 else name)


def parse_unit(text: str) -> Unit | None:
    """A unit such as `cm^2`, `square feet`, `km/h`, `miles per hour`, `m s^{-2}`, or None where a word is not one."""
    dimensions: dict[str, int] = {}
    factor, sign, raised, at, last = Fraction(1), 1, 1, 0, ("", Fraction(1))
    text = _METRES_PER.sub("m s", text.strip())
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            return None
        token, at = found.group(1), found.end()
        if token in ("per", "/"):
            sign = -1
        elif token in ("*", ".", "(", ")"):
            continue
        elif token.startswith("^") or token in ("squared", "cubed"):
            more = {"squared": 2, "cubed": 3}.get(token) or int(token.strip("^{}"))
            factor *= last[1] ** (sign * (more - 1))
            dimensions[last[0]] = dimensions.get(last[0], 0) + sign * (more - 1)
        elif token.startswith("sq") or token in ("cubic", "square"):
            raised = 3 if token == "cubic" else 2
        else:
            for name, turn in _parts(token):
                known = unit_named(name)
                if known is None:
                    return None
                last = known
                dimensions[known[0]] = dimensions.get(known[0], 0) + sign * turn * raised
                factor *= known[1] ** (sign * turn * raised)
            raised = 1
    return _simplified(dimensions, factor) if last[0] else None


def _parts(token: str) -> tuple[tuple[str, int], ...]:
    short = _SHORT.get(token.lower())
    return ((short[0], 1), (short[1], -1)) if short else ((token, 1),)


def _simplified(dimensions: dict[str, int], factor: Fraction) -> Unit:
    """A litre in metres cubed, a newton in kilograms, metres and seconds."""
    for kind, (size, *powers) in _DERIVED.items():
        if exponent := dimensions.pop(kind, 0):
            factor *= Fraction(size) ** exponent
            for base, power in zip(_BASES, powers, strict=False):
                dimensions[base] = dimensions.get(base, 0) + power * exponent
    return Unit(tuple(sorted((kind, exponent) for kind, exponent in dimensions.items() if exponent)), factor)


def _table() -> dict[str, tuple[str, Fraction]]:
    names: dict[str, tuple[str, Fraction]] = {}
    for kind, groups in _KINDS.items():
        for group in groups.split(";"):
            first, *others = group.split()
            short, factor = first.split(":")
            for name in (short, *others):
                names[name] = (short if short in _APART else kind, Fraction(factor))
    for prefixes, units in ((_PREFIXES, [*_PREFIXED.split(), *_LETTERS]), (_NAMED_PREFIXES, _NAMED_PREFIXED.split())):
        for (prefix, tens), unit in product(prefixes.items(), units):
            kind, size = names[_LETTERS.get(unit, unit)]
            for name in (prefix + unit, f"{prefix}{unit}s") if prefixes is _NAMED_PREFIXES else (prefix + unit,):
                names.setdefault(name, (kind, size * Fraction(10) ** tens))
    del names["pm"]  # half of a day
    return names


_NAMES = _table()
