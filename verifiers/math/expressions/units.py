"""Units of measurement: their names, their dimensions and their exact conversion."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_KINDS = {
    "length": "in:127/5000 inch inches; ft:381/1250 foot feet; yd:1143/1250 yard yards yds; mi:201168/125 mile miles",
    "mass": "t:1000000 tonne tonnes; kgs:1000; lb:45359237/100000 lbs pound pounds; oz:45359237/1600000 ounce ounces",
    "time": "sec:1 secs; min:60 mins minute minutes; h:3600 hr hrs hour hours; day:86400 days; week:604800 weeks;"
    "month:2629746 months; year:31556952 years yr yrs",
    "volume": "l:1/1000; ml:1/1000000 cc; gal:1 gallon gallons",
    "usd": "$:1 dollar dollars USD usd; ¢:1/100 cent cents",
    "eur": "€:1 euro euros EUR",
    "gbp": "£:1 GBP",
    "inr": "₹:1 rupee rupees Rs INR",
    "cny": "¥:1 yuan RMB CNY",
    "energy": "cal:523/125 calorie calories; kcal:4184",
    "pressure": "atm:101325",
    "current": "amp:1 amps",
    "celsius": "°C:1 celsius",
    "fahrenheit": "°F:1 fahrenheit",
    "angle": "degree:1 degrees deg",
    "radian": "rads:1",
    "area": "hectare:10000 hectares ha; acre:316160658/78125 acres",
}
_SI = (
    "length:1:m meter metre; mass:1:g gram; time:1:s second; current:1:A ampere; temperature:1:K kelvin;"
    "amount:1:mol mole; volume:1/1000:L liter litre; force:1:N newton; energy:1:J joule; energy:1:eV electronvolt;"
    "power:1:W watt; pressure:1:Pa pascal; pressure:100000:bar bar; frequency:1:Hz hertz; voltage:1:V volt;"
    "resistance:1:Ω ohm; charge:1:C coulomb; molarity:1000:M molar; capacitance:1:F farad; inductance:1:H henry;"
    "flux:1:Wb weber; field:1:T tesla; radian:1:rad radian"
)
"""A kind, the size and the names of a unit that takes `_PREFIXES`."""
_PREFIXES = {
    "": 0, "T tera": 12, "G giga": 9, "M mega": 6, "k kilo": 3, "d deci": -1, "c centi": -2, "m milli": -3,
    "μ micro": -6, "µ micro": -6, "u micro": -6, "n nano": -9, "p pico": -12, "f femto": -15,
}  # fmt: skip
_BASES = ("length", "mass", "time", "current", "amount")
_DERIVED: dict[str, tuple[int, ...]] = {
    "volume": (3,), "area": (2,), "frequency": (0, 0, -1), "force": (1, 1, -2), "energy": (2, 1, -2),
    "power": (2, 1, -3), "pressure": (-1, 1, -2), "charge": (0, 0, 1, 1), "voltage": (2, 1, -3, -1),
    "resistance": (2, 1, -3, -2), "inductance": (2, 1, -2, -2), "capacitance": (-2, -1, 4, 2),
    "flux": (2, 1, -2, -1), "field": (0, 1, -2, -1), "molarity": (-3, 0, 0, 0, 1),
}  # fmt: skip
"""The exponents of `_BASES` in a kind's own unit, which is one of kilograms."""
_APART = {"gal", "eV", "month", "year"}  # named, but not converted into the others of their kind
_SHORT = {"mph": ("mi", "h"), "kph": ("km", "h"), "kmh": ("km", "h"), "mps": ("m", "s")}
_METRES_PER = re.compile(r"\bms(?= ?\^ ?\{?-)")
_TOKEN = re.compile(r"\s*(per\b|square[ds]?\b|sq\b\.?|cubic\b|cubed\b|[A-Za-zµμΩ°$€£¥₹¢]+|\^\{?-?[0-9]\}?|[/*.()-])")


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
        elif token in ("*", ".", "(", ")", "-"):
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
    """A unit's name, or two: `mph`, and products such as `Nm` and `kWh`."""
    if short := _SHORT.get(token.lower()):
        return (short[0], 1), (short[1], -1)
    splits = ((token[:at], token[at:]) for at in range(1, len(token)) if len(token) < 5 and not token.islower())
    both = next((two for two in splits if all(map(unit_named, two))), None) if not unit_named(token) else None
    return tuple((name, 1) for name in both or (token,))


def _simplified(dimensions: dict[str, int], factor: Fraction) -> Unit:
    """A litre in metres cubed, a newton in kilograms, metres and seconds."""
    for kind, powers in _DERIVED.items():
        if exponent := dimensions.pop(kind, 0):
            factor *= Fraction(1000) ** (exponent * sum(powers[1:2]))
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
    for kind, size, units in (unit.strip().split(":") for unit in _SI.split(";")):
        short, *words = units.split()
        for prefix, power in _PREFIXES.items():
            letter, _, word = prefix.partition(" ")
            for name in (letter + short, *(word + each + plural for each in words for plural in ("", "s"))):
                names.setdefault(name, (short if short in _APART else kind, Fraction(size) * Fraction(10) ** power))
    del names["pm"]  # half of a day
    return names


_NAMES = _table()
