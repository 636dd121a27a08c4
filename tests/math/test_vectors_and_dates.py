"""Vectors as sums of unit vectors, complex numbers by `cis`, dates: every spelling is the answer, no neighbour is."""

from __future__ import annotations

from itertools import product

import pytest

from sandbox_gym.verifiers.math.options import MathOptions
from tests.math.library import judged

UNITS = {
    "bold": (r"\mathbf{i}", r"\mathbf{j}", r"\mathbf{k}"),
    "bare bold": (r"\mathbf i", r"\mathbf j", r"\mathbf k"),
    "hats": (r"\hat{i}", r"\hat{j}", r"\hat{k}"),
    "dotless": (r"\hat{\imath}", r"\hat{\jmath}", r"\hat{k}"),
    "bold hats": (r"\hat{\mathbf{i}}", r"\hat{\mathbf{j}}", r"\hat{\mathbf{k}}"),
    "letters": ("i", "j", "k"),
}
COORDINATES = {
    "pair": ("({})", ", "),
    "angle": (r"\langle {} \rangle", ","),
    "tight angle": (r"\langle{}\rangle", ","),
    "column": (r"\begin{{pmatrix}}{}\end{{pmatrix}}", r"\\"),
}
VECTORS = [
    ("3", "4"),
    ("-1", "2"),
    ("0", "-5"),
    (r"\frac{1}{2}", "-7"),
    ("3", "-1", "2"),
    ("1", "0", "-1"),
    ("2", "6", "0"),
    ("12.25", "-100.5"),
    ("2x", "2y"),
    (r"-\sin t", r"\cos t"),
    ("yz", "-xz", "x^2"),
    ("e^{2t}", r"\frac{1}{t}"),
]
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November"),
    "December",
)


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So it is $\\boxed{{{answer}}}$.", MathOptions()).equal


def in_units(vector: tuple[str, ...], units: tuple[str, ...]) -> str:
    text = ""
    for part, unit in zip(vector, units, strict=False):
        if part == "0":
            continue
        number = {"1": "", "-1": "-"}.get(part, part)
        text += f"{'' if not text or number.startswith('-') else '+'}{number}{unit}"
    return text


def in_coordinates(vector: tuple[str, ...], form: str) -> str:
    around, between = COORDINATES[form]
    return around.format(between.join(vector))


@pytest.mark.parametrize(("units", "form"), list(product(UNITS, COORDINATES)))
def test_sums_of_unit_vectors_are_coordinates(units: str, form: str) -> None:
    for vector in VECTORS:
        written, coordinates = in_units(vector, UNITS[units]), in_coordinates(vector, form)
        assert equal(coordinates, written), (coordinates, written)
        assert equal(written, coordinates), (written, coordinates)
        for other in VECTORS:
            if other != vector:
                assert not equal(in_coordinates(other, form), written), (other, written)
        assert not equal(in_coordinates((*vector[:-1], "9"), form), written)


def test_what_is_no_vector_has_no_coordinates() -> None:
    for answer in ("3+4i", "3i", "3i+4i", "3i+4j+5k", "4j+5k"):
        assert not equal("(3,4)", answer), answer


ANGLES = {
    "1+i\\sqrt{3}": (2, "60", r"\frac{\pi}{3}", r"\pi/3"),
    "-2": (2, "180", r"\pi", r"\pi"),
    "3i": (3, "90", r"\frac{\pi}{2}", r"\pi/2"),
    "-1-i": (r"\sqrt{2}", "225", r"\frac{5\pi}{4}", r"5\pi/4"),
}


@pytest.mark.parametrize("gold", ANGLES)
@pytest.mark.parametrize("name", [r"\operatorname{cis}", r"\text{cis}", r"\mathrm{cis}", r"\,\text{cis}\,", " cis "])
def test_cis_is_a_cosine_and_a_sine(gold: str, name: str) -> None:
    radius, degrees, *radians = ANGLES[gold]
    angles = (rf"{degrees}^\circ", rf"({degrees}^\circ)", *radians, *(f"({one})" for one in radians))
    for angle in angles:
        answer = f"{radius}{name} {angle}"
        assert equal(gold, answer), answer
        for other in ANGLES:
            assert equal(other, answer) is (other == gold), (other, answer)


@pytest.mark.parametrize("month", MONTHS)
def test_dates(month: str) -> None:
    for day, suffix in ((1, "st"), (4, "th"), (22, "nd"), (23, "rd")):
        spellings = (
            f"{month} {day}", f"{day} {month}", f"{month} {day}{suffix}", f"the {day}{suffix} of {month}",
            f"{month[:3]}. {day}", f"{day} {month[:3]}", f"Monday, {month} {day}", f"\\text{{{day}{suffix} {month}}}",
        )  # fmt: skip
        for spelling in spellings:
            for year in ("", ", 1776"):
                assert equal(f"{month} {day}{year}", f"{spelling}{year}"), (spelling, year)
                assert not equal(f"{month} {day}{year}", f"{spelling}, 1777"), spelling
            assert not equal(f"{month} {day % 28 + 2}", spelling)
            for other in MONTHS:
                assert other == month or not equal(f"{other} {day}", spelling), (other, spelling)


def test_noon_and_midnight() -> None:
    assert equal("12:00 PM", r"\text{noon}")
    assert equal(r"\text{midnight}", "12:00 a.m.")
    assert not equal(r"\text{noon}", "12:00 AM")
    assert not equal(r"\text{noon}", r"\text{midnight}")
