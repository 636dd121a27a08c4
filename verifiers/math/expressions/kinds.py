"""What kind of quantity a number is, and when two kinds may name one quantity: the table of `relation`.

| | bare | percent | degrees | radians | unit | noun |
|---|---|---|---|---|---|---|
| bare | numbers | hundredths | turned | numbers | numbers | numbers |
| percent | | numbers | never | never | never | never |
| degrees | | | numbers | turned | °C, °F: numbers; else never | never |
| unit (currency, cm, mph, …) | | | | | same dimensions: converted; else never | never |
| noun (apples, points, ways) | | | | | | numbers |

Bare: nothing stands by the number; the data sets' golds often lack the unit, so it is forgiven on either side.
Numbers: the numbers alone must be equal. Hundredths: equal as they are, or 28 % as 0.28. Turned: equal as they are
where one is bare, or degrees as radians. Nouns name what the question counts, so different ones are no different
quantity; `units`, `square units` are as good as bare beside a unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sandbox_gym.verifiers.math.expressions.units import Unit, parse_unit

Relation = Literal["numbers", "hundredths", "turned", "converted", "never", "unsure"]
_TEMPERATURES = ((("celsius", 1),), (("fahrenheit", 1),))
_LETTER_DEGREES = [{parse_unit(letter), parse_unit(f"°{letter}")} for letter in "CF"]
"""`25 C` beside `25 °C` is no charge."""
_RADIANS = (("radian", 1),)
_DEGREES = (("angle", 1),)
_GENERIC = frozenset({"unit", "square unit", "cubic unit", "sq unit", "unit squared"})


@dataclass(frozen=True, slots=True)
class Kind:
    """At most one of the first four. `sure`: a unit that can't be variables (`5m` may be five times m)."""

    percent: bool = False
    degrees: bool = False
    unit: Unit | None = None
    noun: str = ""
    sure: bool = True

    @property
    def bare(self) -> bool:
        return not (self.percent or self.degrees or self.unit or self.noun)


BARE = Kind()
PERCENT = Kind(percent=True)
DEGREES = Kind(degrees=True)


def kind_of_unit(unit: Unit | None, sure: bool = True) -> Kind:
    """A unit's kind; the word `degrees` is the sign."""
    if unit is None:
        return BARE
    return DEGREES if unit.dimensions == _DEGREES else Kind(unit=unit, sure=sure)


def relation(a: Kind, b: Kind) -> Relation:
    """How numbers of these kinds are to be compared; symmetric."""
    if {a.unit, b.unit} in _LETTER_DEGREES:
        return "numbers"
    if not (a.sure and b.sure):
        other = b if not a.sure else a
        surely_other = other.percent or other.degrees or _currency(other)
        return "never" if surely_other else "converted" if a.unit and b.unit and (a.sure or b.sure) else "unsure"
    if a.bare or b.bare:
        other = b if a.bare else a
        return "hundredths" if other.percent else "turned" if other.degrees else "numbers"
    if a.percent or b.percent:
        return "numbers" if a.percent and b.percent else "never"
    if a.degrees or b.degrees:
        return _with_degrees(b if a.degrees else a)
    if a.unit and b.unit:
        return "converted" if a.unit.dimensions == b.unit.dimensions else "never"
    if a.noun and b.noun:
        return "numbers"
    return "numbers" if (a.noun or b.noun) in _GENERIC else "never"


def named_unit(words: str) -> Unit | None:
    """The unit that a phrase begins with: `meters tall`, `dollars per ticket`. One letter is no such name."""
    parts = words.split()
    for count in range(len(parts) - 1, 0, -1):
        if len(parts[0]) > 1 and (unit := parse_unit(" ".join(parts[:count]))):
            return unit
    return None


def _with_degrees(other: Kind) -> Relation:
    if other.degrees:
        return "numbers"
    if other.unit and other.unit.dimensions == _RADIANS:
        return "turned"
    return "numbers" if other.unit and other.unit.dimensions in _TEMPERATURES else "never"


def _currency(kind: Kind) -> bool:
    names = ("usd", "eur", "gbp", "inr", "cny")
    return kind.unit is not None and any(name in names for name, _ in kind.unit.dimensions)
