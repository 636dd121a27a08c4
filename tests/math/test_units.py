"""Every spelling of a unit is that unit, and no other unit beside the same number is."""

from __future__ import annotations

from random import Random

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

UNITS: dict[str, tuple[str, ...]] = {
    "m": ("m", "meters", "metres"),
    "cm": ("cm", "centimeters"),
    "km": ("km", "kilometers"),
    "nm": ("nm", "nanometers"),
    "micrometer": (r"\mu\text{m}", "μm", r"\mathrm{\mu m}", r"\,\mu\mathrm{m}", "micrometers"),
    "m^2": (r"\text{m}^2", r"\text{m^2}", "square meters", r"\text{m²}", r"\mathrm{m^{2}}"),
    "cm^3": (r"\text{cm}^3", "cubic centimeters", "mL"),
    "s": ("s", "seconds"),
    "ms": ("ms", "milliseconds"),
    "h": ("h", "hours"),
    "kg": ("kg", "kilograms"),
    "g": ("g", "grams"),
    "m/s": ("m/s", r"\text{m s}^{-1}", r"\frac{\text{m}}{\text{s}}", r"\mathrm{m\cdot s^{-1}}", r"\mathrm{m\,s^{-1}}"),
    "m/s^2": (r"\text{m/s}^2", r"\mathrm{m\,s^{-2}}", r"\mathrm{m/s^{2}}", "N/kg"),
    "km/h": ("km/h", "kilometers per hour", "kph"),
    "N": ("N", "newtons", r"\text{kg}\cdot\text{m/s}^2"),
    "kN": ("kN", "kilonewtons"),
    "J": ("J", "joules", r"\text{N}\cdot\text{m}", "Nm"),
    "kJ": ("kJ", "kilojoules"),
    "kWh": ("kWh", "kW h"),
    "MeV": ("MeV", "megaelectronvolts"),
    "W": ("W", "watts", "J/s"),
    "kPa": ("kPa", "kilopascals"),
    "V": ("V", "volts"),
    "V/m": ("V/m", "N/C"),
    "A": ("A", "amperes"),
    "mA": ("mA", "milliamperes"),
    "ohm": (r"\Omega", r"\,\Omega", "ohms", "Ω"),
    "kiloohm": (r"\text{k}\Omega", r"\mathrm{k\Omega}", "kΩ"),
    "C": ("C", "coulombs"),
    "microcoulomb": (r"\mu\text{C}", r"\mathrm{\mu C}", "μC"),
    "F": ("F", "farads"),
    "microfarad": (r"\mu\text{F}", "microfarads", "uF"),
    "H": ("H", "henrys"),
    "T": ("T", "teslas"),
    "Wb": ("Wb", "webers"),
    "K": ("K", "kelvin"),
    "M": ("M", "mol/L"),
    "kJ/mol": ("kJ/mol", r"\text{kJ mol}^{-1}"),
    "degrees": (r"^\circ", "degrees"),
    "rad": ("rad", "radians"),
    "rad/s": ("rad/s",),
    "percent": (r"\%", "percent"),
    "dollars": ("dollars",),
}
NUMBERS = (
    "5",
    "2.5",
    r"1.6\times10^{-19}",
    r"3.0\times 10^{8}",
    r"\frac{3}{4}",
    r"12\sqrt{2}",
    "1.2e-5",
    r"4\pi",
    "-7",
)
AROUND = (r"\text{{ {}}}", r"\,\text{{{}}}", r"\ \mathrm{{{}}}", r"~\mathrm{{{}}}", " {}")


def written(rng: Random, number: str, unit: str) -> str:
    if unit in (r"^\circ", r"\%"):
        return number + unit
    around = (r" {}", r"\,{}", r"~{}") if unit.startswith("\\") else AROUND
    return number + rng.choice(around).format(unit)


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"\\boxed{{{answer}}}", MathOptions()).equal


@pytest.mark.parametrize("name", UNITS)
def test_units(name: str) -> None:
    rng = Random(name)
    for number in rng.sample(NUMBERS, 4):
        gold = written(rng, number, rng.choice(UNITS[name]))
        for unit in UNITS[name]:
            answer = written(rng, number, unit)
            assert equal(gold, answer), (gold, answer)
        for other in rng.sample([each for each in UNITS if each != name], 14):
            answer = written(rng, number, rng.choice(UNITS[other]))
            assert not equal(gold, answer), (gold, answer)


def test_units_that_are_converted() -> None:
    for gold, answers in {
        r"250\text{ kPa}": (r"2.5\times10^5\text{ Pa}", r"0.25\text{ MPa}", r"2.5\text{ bar}"),
        r"4.7\,\mu\text{F}": (r"4.7\times10^{-6}\text{ F}", r"4700\text{ nF}"),
        r"2\text{ hours }30\text{ minutes}": (r"2.5\text{ hours}", r"150\text{ min}"),
        r"25^\circ\text{C}": ("25 C", r"25\text{ C}"),
    }.items():
        for answer in answers:
            assert equal(gold, answer), (gold, answer)
    for gold, answer in (
        (r"2\text{ hours }30\text{ minutes}", r"2\text{ minutes }30\text{ hours}"),
        (r"25^\circ\text{C}", "25 F"),
        (r"6.626\times10^{-34}\text{ J s}", "0b1011"),
    ):
        assert not equal(gold, answer), (gold, answer)
