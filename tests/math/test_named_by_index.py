"""What math-verify drops or rounds away: the index of a current, words as an index, powers of T, the small part of a
large sum, another vector product; and the notations around them that are equal."""

from __future__ import annotations

from itertools import permutations, product

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

NAMES = [
    "I_1",
    "I_2",
    "V_{\\text{in}}",
    "V_{\\text{out}}",
    "V_{\\mathrm{m}}",
    "x_{\\text{a}}",
    "x_{\\text{b}}",
    "I_{0}",
]
FORMULAS = ["{}", "2{}R", "\\frac{{{}}}{{R}}", "{}e^{{-t}}", "{}+1", "\\sqrt{{{}}}"]
POWERS = ["2^T", "(1+r)^T", "e^{T}", "x^{T}", "A^T", "B^TA"]
LARGE = [
    "\\binom{2024}{1012}",
    "\\binom{9000}{250}",
    "e^{100}",
    "100!\\sqrt{2}",
    "(1+\\sqrt{2})^{100}",
    "7^{1000}\\pi",
]
SMALL = ["", "+1", "-1", "-2^{30}", "+\\frac{1}{3}", "+\\pi"]


def _rewarded(gold: str, answer: str) -> bool:
    return judged(gold, f"\\boxed{{{answer}}}", MathOptions()).equal


@pytest.mark.parametrize("formula", FORMULAS)
def test_an_index_is_part_of_the_name(formula: str) -> None:
    for mine, theirs in product(NAMES, NAMES):
        assert _rewarded(formula.format(mine), formula.format(theirs)) is (mine == theirs), (mine, theirs)
    assert _rewarded("\\frac{I_1}{I_2+I_3}R", "R\\frac{I_{1}}{I_{3}+I_{2}}")
    assert not _rewarded("\\frac{I_1}{I_2}", "\\frac{I_2}{I_1}")


@pytest.mark.parametrize("power", POWERS)
def test_a_power_of_t_stays(power: str) -> None:
    bare = power.replace("^{T}", "").replace("^T", "")
    assert not _rewarded(power, bare)
    assert not _rewarded(bare, power)
    assert _rewarded(f"3{power}+1", f"1+3{power}")


@pytest.mark.parametrize("large", LARGE)
def test_the_small_part_of_a_large_sum_counts(large: str) -> None:
    for mine, theirs in product(SMALL, SMALL):
        assert _rewarded(large + mine, large + theirs) is (mine == theirs), (mine, theirs)
    assert _rewarded(f"{large}+5", f"5+{large}")


@pytest.mark.parametrize(
    ("gold", "rounded", "short"),
    [
        ("\\log_2 3", "1.5849625", "1.58496"),
        ("\\sqrt[3]{2}", "1.259921", "1.2599"),
        ("\\sin 1", "0.841471", "0.8415"),
        ("\\ln 2", "0.693147", "0.6931"),
        ("e^{\\sqrt{2}}", "4.11325", "4.1"),
    ],
)
def test_a_decimal_rounds_a_number(gold: str, rounded: str, short: str) -> None:
    assert _rewarded(gold, rounded)
    assert not _rewarded(gold, short)


VECTORS = ["\\vec{a}", "\\mathbf{a}", "\\overrightarrow{AB}"]


@pytest.mark.parametrize("vector", VECTORS)
def test_products_of_vectors(vector: str) -> None:
    other = vector.replace("a", "b").replace("AB", "CD")
    cross, dot = f"{vector}\\times{other}", f"{vector}\\cdot{other}"
    assert _rewarded(cross, f"{vector} \\times {other}")
    assert not _rewarded(cross, dot)
    assert not _rewarded(dot, cross)
    assert not _rewarded(cross, f"{other}\\times{vector}")


RATIOS = ["1:\\sqrt{3}:2", "1:2:\\sqrt{3}", "\\sqrt{3}:1:2", "a:b:c", "a:c:b", "2:3:4"]


def test_ratios_have_an_order() -> None:
    for mine, theirs in product(RATIOS, RATIOS):
        assert _rewarded(mine, theirs.replace(":", " : ")) is (mine == theirs), (mine, theirs)
    assert _rewarded("1:\\sqrt{3}:2", "2:2\\sqrt{3}:4")
    assert _rewarded("\\sqrt{2}:1", "2:\\sqrt{2}")


RESIDUES = {
    "x\\equiv 3\\pmod 7": ["x=7k+3", "3+7k", "x = 7k-4, k\\in\\mathbb{Z}", "3 \\bmod 7", "x\\equiv 10 \\pmod{7}"],
    "n\\equiv 1,4\\pmod 5": [
        "n\\equiv\\pm1\\pmod 5",
        "n\\equiv 4\\pmod 5\\text{ or }n\\equiv 1\\pmod 5",
        "1,4\\pmod{5}",
    ],
    "x\\equiv 3\\pmod 8": ["x=8k+3", "8m-5"],
    "n\\equiv 1\\pmod 5": ["n=5k+1", "6\\pmod 5"],
}


@pytest.mark.parametrize(("one", "other"), list(permutations(RESIDUES, 2)))
def test_residue_classes(one: str, other: str) -> None:
    for answer in (one, *RESIDUES[one]):
        assert _rewarded(one, answer), answer
    for answer in (other, *RESIDUES[other]):
        assert not _rewarded(one, answer), answer


EQUAL = [
    ("5", "\\text{The answer is 5}"),
    ("x^2+1", "\\text{Answer: }x^2+1"),
    ("42", "m+n = 35+7 = 42"),
    ("42", "a=42,"),
    ("\\frac{1}{2}", "\\mathbf{\\frac{1}{2}}"),
    ("\\frac{1}{2}", "\\left.\\frac12\\right."),
    ("\\frac{2}{5}", "\\frac{2}{5}\\text{ or }0.4"),
    ("25\\sqrt3\\text{ cm}^2", "25√3 cm²"),
    ("3,-3", "3\\text{ 或 }-3"),
    ("(-\\infty,-2)\\cup(5,\\infty)", "x<-2\\text{ 或 }x>5"),
    ("50000", "5万元"),
    ("(1,2),(3,4)", "x=3,y=4\\text{ or }x=1,y=2"),
    ("(1,2),(3,4)", "A(1,2), B(3,4)"),
    ("y=x^2\\ (x\\neq 0)", "y=x^2, x\\ne0"),
    ("\\frac{x^2}{4}+y^2=1\\ (y\\neq 0)", "x^2+4y^2=4 \\text{ for } y\\ne 0"),
    ("\\frac{\\pi}{6}+2k\\pi", "30^\\circ+360^\\circ k, k\\in\\mathbb{Z}"),
    ("\\frac{-1\\pm\\sqrt5}{2}", "\\frac{-1\\mp\\sqrt5}{2}"),
    ("\\mathbb{R}\\setminus\\{0,2\\}", "x\\ne 0, 2"),
    ("a_n=3n-2", "a_n=3n-2\\ (n\\in N^{*})"),
    ("\\vec{a}-\\vec{b}", "\\vec a-\\vec b"),
    ("\\overline{AB}", "BA"),
    ("\\angle ABC", "\\angle CBA"),
    ("p\\wedge q", "p\\land q"),
    ("1234567", "12,34,567"),
    ("25\\%\\text{ decrease}", "25\\%"),
    ("\\text{odd}", "\\text{an odd function}"),
    ("\\text{no solution}", "\\text{The equation has no real solutions}"),
    ("(1\\,2\\,3)(4\\,5)", "(5\\ 4)(2\\ 3\\ 1)"),
    ("\\text{(a) }5\\text{ (b) }7", "(b) 7; (a) 5"),
    ("(0,1)\\cup\\{2\\}", "0<x<1\\text{ or }x=2"),
    ("m\\le-2\\text{ or }m=1", "(-\\infty,-2]\\cup\\{1\\}"),
    ("\\{-3\\}\\cup[0,\\infty)", "x=-3\\text{ or }x\\ge0"),
    ("x=1,\\ y=2", "x=1 \\quad y=2"),
    ("\\frac{L}{R}\\ln 2", "\\ln2\\cdot\\frac{L}{R}"),
    ("\\text{Fe}^{3+}", "\\mathrm{Fe^{3+}}"),
    ("\\text{C}_6\\text{H}_{12}\\text{O}_6", "\\mathrm{C_6H_{12}O_6}"),
    ("0", "m-n=5-5=0"),
    ("4", "4\\text{ even numbers}"),
]
UNEQUAL = [
    ("5", "\\text{The answer is not 5}"),
    ("42", "m+n = 35+8 = 42"),
    ("43", "m+n = 35+7 = 42"),
    ("\\frac{2}{5}", "\\frac{2}{5}\\text{ or }0.5"),
    ("5", "5\\text{万}"),
    ("5", "5亿"),
    ("(1,2),(3,4)", "x=1,y=4\\text{ or }x=3,y=2"),
    ("y=x^2\\ (x\\neq 0)", "y=x^2, x\\ne1"),
    ("y=x^2\\ (x\\neq 0)", "y=x^2"),
    ("\\frac{\\pi}{6}+2k\\pi", "30^\\circ+180^\\circ k"),
    ("\\mathbb{R}\\setminus\\{0,2\\}", "x\\ne 0, 3"),
    ("\\angle ABC", "\\angle BCA"),
    ("\\triangle ABC", "\\angle ABC"),
    ("p\\wedge q", "p\\vee q"),
    ("\\text{Alice and Bob}", "\\text{Alice or Bob}"),
    ("25\\%\\text{ decrease}", "25\\%\\text{ increase}"),
    ("\\frac{GMm}{r^2}", "\\frac{Gmm}{r^2}"),
    ("\\frac{\\partial f}{\\partial x}", "\\frac{\\partial f}{\\partial y}"),
    ("\\{x\\}", "x"),
    ("2", "2\\text{ when }n\\text{ is even}"),
    ("B", "[[A=B]]"),
    ("\\text{even}", "\\text{odd function}"),
    ("(1\\,2\\,3)", "(1\\,3\\,2)"),
    ("(1\\,2\\,3)", "6"),
    ("\\text{(a) }5\\text{ (b) }7", "(b) 5; (a) 7"),
    ("(0,1)\\cup\\{2\\}", "(0,1)\\cup\\{3\\}"),
    ("(0,1)\\cup\\{2\\}", "0<x<1"),
    ("2", "x=1 \\quad y=2"),
    ("x=1,\\ y=2", "x=2 \\quad y=1"),
    ("\\gcd(m,n)", "\\gcd(m,k)"),
    ("\\gcd(m,n)", "1"),
    ("n\\text{ odd}", "n\\text{ even}"),
    ("n\\text{ odd}", "n"),
    ("n\\ge 3", "n\\ge3\\text{ odd}"),
    ("4", "x=5 and x=4"),
    ("50\\%", "0.5\\text{ or }50"),
    ("e^{10000}+1", "e^{10000}"),
]


@pytest.mark.parametrize(
    ("gold", "answer", "equal"), [(*pair, True) for pair in EQUAL] + [(*pair, False) for pair in UNEQUAL]
)
def test_notations_of_answers(gold: str, answer: str, equal: bool) -> None:
    assert _rewarded(gold, answer) is equal
