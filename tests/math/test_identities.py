"""Functions in two ways of writing, families of solutions with their constants, and a last factor that looks like a
unit: each judged by what it is, beside others that differ little."""

from __future__ import annotations

import itertools
import random

import pytest

from sandbox_gym.verifiers.math import MathOptions, rewrite_pair
from tests.math.library import judged


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal


IDENTITIES = [
    ("\\sin^4{0}+\\cos^4{0}", "1-\\frac12\\sin^2(2{0})", "1-\\frac12\\sin^2{0}"),
    ("\\ln({0}+\\sqrt{{{0}^2+1}})", "\\operatorname{{arsinh}}({0})", "\\ln({0}+\\sqrt{{{0}^2-1}})"),
    ("\\frac{{e^{{{0}}}-e^{{-{0}}}}}{{2}}", "\\sinh({0})", "\\cosh({0})"),
    ("\\tan(2{0})", "\\frac{{2\\tan{0}}}{{1-\\tan^2{0}}}", "\\frac{{2\\tan{0}}}{{1+\\tan^2{0}}}"),
    ("\\sqrt{{{0}+2\\sqrt{{{0}-1}}}}", "1+\\sqrt{{{0}-1}}", "1-\\sqrt{{{0}-1}}"),
    ("|{0}|", "\\sqrt{{{0}^2}}", "{0}"),
    ("\\cosh^2{0}", "1+\\sinh^2{0}", "1-\\sinh^2{0}"),
]


@pytest.mark.parametrize("around", ["{}", "2-({})", "\\frac{{{}}}{{3}}", "y={}"])
@pytest.mark.parametrize(("one", "same", "other"), IDENTITIES)
def test_one_function_in_two_ways_of_writing(one: str, same: str, other: str, around: str) -> None:
    for variable in ("x", "s"):
        gold, right, wrong = (around.format(text.format(variable)) for text in (one, same, other))
        assert equal(gold, right)
        assert equal(right, gold)
        assert not equal(gold, wrong)


INTEGRALS = [
    ("\\ln|\\sec x+\\tan x|", "-\\ln|\\sec x-\\tan x|", "\\ln|\\sec x-\\tan x|"),
    ("-\\ln|\\cos x|", "\\ln|\\sec x|", "-\\ln|\\sin x|"),
    ("\\ln|\\tan\\frac{x}{2}|", "\\ln|\\csc x-\\cot x|", "\\ln|\\csc x+\\cot x|"),
    ("\\frac12\\ln\\left|\\frac{x-1}{x+1}\\right|", "\\frac12\\ln|x-1|-\\frac12\\ln|x+1|", "\\frac12\\ln|x^2-1|"),
    ("\\arcsin\\frac{x}{2}", "2\\arcsin\\frac{\\sqrt{x+2}}{2}", "\\arccos\\frac{x}{2}"),
]


@pytest.mark.parametrize(("one", "same", "other"), INTEGRALS)
def test_one_integral_in_two_ways_of_writing(one: str, same: str, other: str) -> None:
    assert equal(f"{one}+C", f"{same}+C")
    assert not equal(f"{one}+C", f"{other}+C")


WHOLE = [
    ("(-1)^n", "\\cos(n\\pi)", "\\cos(2n\\pi)"),
    ("\\frac{1+(-1)^n}{2}", "\\cos^2\\frac{n\\pi}{2}", "\\sin^2\\frac{n\\pi}{2}"),
    ("\\lfloor\\frac{n+1}{2}\\rfloor", "\\lceil\\frac{n}{2}\\rceil", "\\lfloor\\frac{n}{2}\\rfloor"),
    ("\\sum_{k=1}^n k^2", "\\frac{n(n+1)(2n+1)}{6}", "\\frac{n(n+1)(2n-1)}{6}"),
    ("\\binom{2n}{n}", "C(2n,n)", "C(2n,n-1)"),
    ("\\binom{n}{k}", "{}^nC_k", "{}^kC_n"),
]


@pytest.mark.parametrize(("one", "same", "other"), WHOLE)
def test_functions_of_a_whole_number(one: str, same: str, other: str) -> None:
    assert equal(one, same)
    assert not equal(one, other)


ROOTS = [
    ("x\\sqrt{y}", "\\sqrt{x^2y}", "\\sqrt{xy}"),
    ("\\sqrt{\\frac{a^3}{b}}", "\\frac{a^{3/2}}{b^{1/2}}", "\\frac{a^{1/2}}{b^{3/2}}"),
    ("\\left(\\frac ab\\right)^{n}", "\\frac{a^n}{b^n}", "\\frac{b^n}{a^n}"),
    ("3\\ln x-\\ln y", "\\ln\\frac{x^3}{y}", "\\ln\\frac{x}{y^3}"),
    ("|x|\\sqrt{y}", "\\sqrt{x^2}\\sqrt{y}", "x\\sqrt{y}"),
]


@pytest.mark.parametrize(("one", "same", "other"), ROOTS)
def test_what_stands_below_a_root_is_positive(one: str, same: str, other: str) -> None:
    assert equal(one, same)
    assert not equal(one, other)


FAMILIES = [("e^{x}", "e^{-x}"), ("\\cos 2x", "\\sin 2x"), ("e^{2x}", "xe^{2x}"), ("x", "x^2"), ("1", "\\ln x")]


@pytest.mark.parametrize("basis", FAMILIES)
@pytest.mark.parametrize("start", ["", "x^3+", "\\frac{\\sin 5x}{7}+"])
def test_constants_may_be_any_of_one_family(basis: tuple[str, str], start: str) -> None:
    chance = random.Random(f"{basis} {start}")
    first, second = (f"\\cdot({text})" for text in basis)
    gold = f"y={start}C_1{first}+C_2{second}"
    assert equal(gold, f"y={start}C_1{second}+C_2{first}")
    assert equal(gold, f"y={start}A{second}-B{first}")
    a, b = chance.sample(range(2, 9), 2)
    assert equal(gold, f"y={start}C_1({a}{first}+1{second})+C_2(1{first}-{b}{second})")
    for wrong in (f"1{first}+1{second}", f"C_1({a}{first}+1{second})+C_2({2 * a}{first}+2{second})", f"C_1{first}"):
        assert not equal(gold, f"y={start}{wrong}")
    other = chance.choice([each for each in FAMILIES if each != basis])
    assert not equal(gold, f"y={start}C_1\\cdot({other[0]})+C_2{second}+x^5")


@pytest.mark.parametrize(("gold", "answer"), [("C_1V_1+C_2V_2", "C_1V_2+C_2V_1"), ("C_1+C_2", "C_1-C_2")])
def test_quantities_named_like_constants_are_none(gold: str, answer: str) -> None:
    assert not equal(gold, answer)


LETTERS = "abcdghklmnoprstuvz"
"""Some of them are units to math-verify, which drops them where they stand last."""


@pytest.mark.parametrize("letter", LETTERS)
def test_a_last_variable_is_no_unit(letter: str) -> None:
    for gold, right, wrong in (
        ("2\\cos 3{}", "\\cos(3{})\\cdot 2", "2\\cos 3"),
        ("q\\cos\\omega {0}+\\sin\\omega {0}", "\\sin\\omega {0}+q\\cos\\omega {0}", "\\sin\\omega {0}+q\\cos\\omega"),
        ("f({0})=3{0}", "3 {0}", "3"),
        ("x_0+w_0{}", "w_0{}+x_0", "x_0+w_0"),
        ("x_{{0}}+w_{{0}} {}", "w_0{}+x_0", "x_0+w_0"),
        ("\\frac{{1}}{{2}}{}", "\\frac{{{}}}{{2}}", "\\frac{{{}}}{{3}}"),
    ):
        assert equal(gold.format(letter), right.format(letter))
        assert equal(right.format(letter), gold.format(letter))
        assert not equal(gold.format(letter), wrong.format(letter))


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations("abcst", 2)))
def test_a_last_product_is_no_unit(first: str, second: str) -> None:
    gold = f"\\frac{{1}}{{2}}{first}{second}"
    assert equal(gold, f"\\frac{{{second}{first}}}{{2}}")
    assert not equal(gold, f"\\frac{{{first}}}{{2}}")
    assert not equal(gold, f"\\frac{{1}}{{2}}{first}q")


@pytest.mark.parametrize("unit", ["m", "s", "cm", "kg", "ft", "mph"])
@pytest.mark.parametrize("number", ["5", "2\\sqrt{3}", "\\frac{3}{4}"])
def test_a_unit_behind_a_number_stays_one(unit: str, number: str) -> None:
    assert equal(number, f"{number} {unit}")
    assert equal(f"y={number}", f"y={number}\\text{{ {unit}}}")
    assert equal(f"{number}\\text{{ {unit}}}", number)


@pytest.mark.parametrize("text", ["\\le " * 5000 + "5 t", "5 " * 10_000 + "q", " " * 20_000 + "x", "3 " + "s" * 20_000])
def test_a_long_text_takes_no_longer_than_its_length(text: str) -> None:
    assert rewrite_pair("3t", text)
