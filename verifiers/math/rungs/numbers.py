"""Numbers, exactly: with units, percent, degrees and currency, and decimals that round a value."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sandbox_gym.verifiers.math.expressions import values
from sandbox_gym.verifiers.math.expressions.evaluate import try_evaluate
from sandbox_gym.verifiers.math.expressions.kinds import relation
from sandbox_gym.verifiers.math.expressions.quantities import Quantity, read_quantity
from sandbox_gym.verifiers.math.expressions.values import Value, as_fraction
from sandbox_gym.verifiers.math.options import Decision, MathOptions

_MIN_SIGNIFICANT = 3
_FLOAT_NOISE = Fraction(1, 10**12)
_HALF_TURN = Fraction(180)


def same_number(gold: str, answer: str, options: MathOptions) -> Decision | None:
    """Compares two normalised scalars. None where one is no exact number, or where units and signs settle nothing."""
    found = _same_quantity(gold, answer, options)
    if found is None and (value := try_evaluate(gold)) is not None and value == try_evaluate(answer):
        return Decision(True, "number", "the same expression, whether its letters are units or variables")
    return found


def _same_quantity(gold: str, answer: str, options: MathOptions) -> Decision | None:
    first, second = read_quantity(gold), read_quantity(answer)
    if first is None or second is None:
        return None
    how = relation(first.kind, second.kind)
    if how == "never":
        return Decision(False, _rung(first, second), "different kinds of quantity")
    if how == "unsure":
        return None
    if options.strict_units and first.kind.bare != second.kind.bare and equal_numbers(first, second, options):
        return Decision(False, _rung(first, second), "a unit on one side only")
    if how == "hundredths":
        return _percent(first, second, options)
    if how == "turned":
        return _degrees(first, second, options)
    if how == "converted":
        return _two_units(first, second, options)
    return _as_numbers(first, second, options)


def _rung(a: Quantity, b: Quantity) -> str:
    """The rung's name, by the units and signs at the numbers."""
    if a.kind.unit or b.kind.unit or a.kind.noun or b.kind.noun:
        return "units"
    if a.kind.percent != b.kind.percent:
        return "percent"
    return "degrees" if a.kind.degrees != b.kind.degrees else "number"


def _as_numbers(a: Quantity, b: Quantity, options: MathOptions) -> Decision | None:
    note = ", a unit on one side only" if a.kind.bare != b.kind.bare else ""
    found = _decided(a, b, options, _rung(a, b), note)
    if found and found.equal and a.kind.noun and b.kind.noun and a.kind.noun != b.kind.noun:
        return replace(found, why="equal numbers, other words")
    return found


def _decided(a: Quantity, b: Quantity, options: MathOptions, rung: str, note: str = "") -> Decision | None:
    equal = equal_numbers(a, b, options)
    if equal is None:
        return None
    return Decision(equal, rung, f"{'equal' if equal else 'different'} numbers{note}")


def equal_numbers(a: Quantity, b: Quantity, options: MathOptions) -> bool | None:
    """Whether the numbers alone are equal, exactly or as a decimal that rounds the other; None where unsure."""
    if a.value == b.value:
        return True
    first, second = as_fraction(a.value), as_fraction(b.value)
    if first is None or second is None:
        return _unequal_surds(a, b)
    if _rounds(first, a.places, second, options) or _rounds(second, b.places, first, options):
        return True
    loose = (a.has_point and a.places is None) or (b.has_point and b.places is None)
    return None if loose else False


def _unequal_surds(a: Quantity, b: Quantity) -> bool | None:
    """Different exact forms are different numbers, unless a decimal stands for one, or a letter may mean anything."""
    letters = values.variables(a.value) | values.variables(b.value)
    if letters or a.has_point or b.has_point or _has_e(a.value) or _has_e(b.value):
        return None
    return False


def _has_e(value: Value) -> bool:
    """Whether e and π both occur: it is not proved that no sum of their products vanishes, and e may be a variable."""
    return any(name == "e" for term in value for name, _ in term.symbols)


def _rounds(decimal: Fraction, places: int | None, exact: Fraction, options: MathOptions) -> bool:
    """Whether a literal with enough places is `exact` rounded or cut at its last place, or off by a float's noise."""
    if places is None or places < options.decimal_places or places > 400:
        return False
    unit = 10**places
    scaled, wanted = abs(decimal * unit), abs(exact * unit)
    if (decimal < 0) != (exact < 0) or scaled < 10 ** (min(_MIN_SIGNIFICANT, options.decimal_places) - 1):
        return False
    if abs(scaled - wanted) * 2 <= 1 or scaled == wanted.numerator // wanted.denominator:
        return True
    return places >= 12 and abs(decimal - exact) <= abs(exact) * _FLOAT_NOISE


def _percent(a: Quantity, b: Quantity, options: MathOptions) -> Decision | None:
    """28% equals 28 (the question asked for percent) and 0.28."""
    if equal_numbers(a, b, options):
        return Decision(True, "percent", "equal, one of them written with %")
    hundredth = values.rational(Fraction(1, 100))
    first, second = (
        Quantity(values.multiply(q.value, hundredth), places=None if q.places is None else q.places + 2)
        if q.kind.percent
        else q
        for q in (a, b)
    )
    return _decided(first, second, options, "percent", " as percent")


def _degrees(a: Quantity, b: Quantity, options: MathOptions) -> Decision | None:
    """90° equals 90 without a unit, and π/2 radians."""
    bare = a.kind.bare or b.kind.bare
    if bare and equal_numbers(a, b, options):
        return Decision(True, "degrees", "equal, one of them written with a degree sign")
    turned, plain = (a, b) if a.kind.degrees else (b, a)
    radians = values.multiply(turned.value, values.divide(values.symbol("π"), values.rational(_HALF_TURN)))
    if radians == plain.value:
        return Decision(True, "degrees", "the same angle in degrees and radians")
    return _decided(Quantity(radians), plain, options, "degrees", " in radians")


def _two_units(a: Quantity, b: Quantity, options: MathOptions) -> Decision | None:
    """The same size after conversion, or not equal."""
    first, second = a.kind.unit, b.kind.unit
    if not first or not second or first.dimensions != second.dimensions:
        return Decision(False, "units", "different kinds of unit")
    if first.factor == second.factor:
        return _decided(a, b, options, "units", " in the same unit")
    one, other = (
        replace(q, value=values.multiply(q.value, values.rational(unit.factor)))
        for q, unit in ((a, first), (b, second))
    )
    equal = one.value == other.value
    return Decision(equal, "units", "equal after conversion" if equal else "different after conversion")
