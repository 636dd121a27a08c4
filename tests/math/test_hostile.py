"""Hostile texts: read in linear time, never computed, never raised out of. pytest's time limit is the backstop: what
is quadratic in a million characters doesn't end within it."""

from __future__ import annotations

import pytest

from sandbox_gym.verifiers.math import MathOptions, MathTask, ask, decide, extract_answer, plain_gold, rewrite, veto

MILLION = 1_000_000
EVERYTHING = MathOptions(last_box="all", plain_answer=True, drop_thinking=True, multiple_choice=True)
UNITS = {
    "braces": "{", "boxes": "\\boxed{", "nines": "9", "zeros": "0", "spaces": " ", "commas": ",", "opens": "(",
    "answers": "answer is ", "hashes": "####", "stars": "**", "texts": "\\text{", "carets": "2^", "ones": "1 ",
    "roots": "sqrt(", "minuses": "-", "dollars": "$", "thinks": "<think>", "signs": "\\pm ", "ands": " and ",
    "thousands": ",000", "fractions": "\\frac1", "bangs": "!", "dots": ".", "colons": "1:", "equals": "x=",
    "unions": "(1,2)\\cup", "less": "x<", "marks": "‹", "newlines": "\n", "surrogates": "\ud800", "degrees": "1°",
    "gaps": "1\\,000", "letters": "ab", "percents": "%", "quotes": "x'", "subscripts": "_{1}", "mods": "\\pmod",
    "semicolons": "; ", "braced commas": "{,}", "parts": ",‹,(",
}  # fmt: skip


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("chars", [MILLION, 19_900, 3_900])
def test_repeated_pieces(name: str, chars: int) -> None:
    unit = UNITS[name]
    text = (unit * (chars // len(unit) + 1))[:chars]
    for options in (MathOptions(), EVERYTHING):
        extract_answer(text, options)
        extract_answer(f"\\boxed{{{text}}}", options)
        found = decide("123457", f"7{text}8", options)
        assert found is None or not found.equal
        decide(f"{text}1", f"{text}2", options)
        decide("123457", f"a{text}b", options)
    plain_gold(text)
    ask(MathTask("123457"), text)
    ask(MathTask("123457"), f"The answer is ${text}$")
    if chars < 20_000:
        veto(text, f"1{text}")
        rewrite(text)


@pytest.mark.parametrize(
    "answer",
    [
        "9^{9^{9^9}}", "9^9^9^9", "10^{10^{10}}", "2^{10000000000}", "10000000!", "5!!!!!!!!!!", "1e1000000000",
        "10^{-1000000000}", "\\frac{1}{10^{10^9}}", "(((2^{30000})^{30000})^{30000})", "1" * 5000 + ".5",
        "\\binom{100000000}{50000000}^{99999999}", "(" * 500 + "1" + ")" * 500, "{" * 100_000 + "1" + "}" * 100_000,
    ],
)  # fmt: skip
def test_what_is_too_large_is_no_verdict_of_the_library(answer: str) -> None:
    found = decide("4", answer)
    assert found is not None
    assert (found.equal, found.rung) == (False, "caps")
    assert "too large" in found.why


@pytest.mark.parametrize("text", ["9^9^9^9", "1/" * 700, "The answer is $9^{9^{9^9}}$.", "so\n\\[\n10^{10^{10}}\n\\]"])
def test_texts_without_a_box_that_are_too_large_are_not_searched(text: str) -> None:
    asked = ask(MathTask("4"), text)
    assert asked.decision is not None
    assert (asked.decision.equal, asked.decision.rung) == (False, "caps")


@pytest.mark.parametrize("item", ["3000!", "3^{60000}", "\\sqrt{999999000001}", "\\binom{3000}{1500}", "1.5e9999"])
def test_many_costly_members_are_not_evaluated(item: str) -> None:
    text = ",".join([item] * (15_000 // len(item))) + ",7"
    for gold in ("4", "\\{1,2\\}", "(1,2)", "1,2,3"):
        found = decide(gold, text)
        assert found is not None
        assert (found.equal, found.rung) == (False, "caps")


@pytest.mark.parametrize("text", ["9^{9^9}", "100000000!", "9" * MILLION, "(" * 500 + "1" + ")" * 500])
def test_large_texts_equal_themselves(text: str) -> None:
    found = decide(text, f" {text} ")
    assert found is not None
    assert found.equal


def test_long_integers_are_compared_as_text() -> None:
    nines = "9" * MILLION
    for other, equal in ((nines, True), (nines + ".0", True), ("00" + nines, True), (nines[:-1] + "8", False)):
        found = decide(nines, other)
        assert found is not None
        assert (found.equal, found.rung) in ((equal, "integer"), (equal, "text"))


@pytest.mark.parametrize(
    "power", ["x^2+y^2+z^2+{}", "2^{{2^{{3}}}}x+{}", "x^{{2}}y^{{2}}z^{{2}}+{}", "x^2y^2z^2+{}", "2^{{1000}}x+{}"]
)
def test_ordinary_powers_are_not_too_large_for_the_library(power: str) -> None:
    assert decide(power.format(1), power.format(2)) is None


@pytest.mark.parametrize(
    "answer",
    ["__import__('os').system('true')", "().__class__",
     "\\frac{0}{0}", "\\frac{1}{0}", "0^0", "0^{-1}", "\ud800", "\x00",
     "\\", "\\frac", "^", "_", "}", "{", "\\sqrt", "\\sqrt[", "\\sqrt[0]{2}", "\\sqrt[-1]{2}",
     "e^", "1/",
     "\\begin{pmatrix}",
     "\\begin{pmatrix}\\end{pmatrix}", "(,)", "[,]", "(1,]", "<", "x<", "<1", "1<", "\\cup", ":", "1:", "0:0", "\\pmod",
     "5 \\pmod 0", "1_0", "1_1", "1_{99}", "=", "x=", "=5", "f(x)=", "%", "^\\circ", "$", "+C", "\\pm", "\\text{}",
     "/", "!"],
)  # fmt: skip
def test_broken_math_raises_nothing_and_equals_nothing(answer: str) -> None:
    for gold in ("4", "x^2+C", "(1,2)", "x<3", "f(t)=t", "101_2", "2 \\pmod 7", "3:4", "A", "90^\\circ"):
        for found in (decide(gold, answer), decide(answer, gold)):
            assert found is None or not found.equal
        veto(gold, answer)
        rewrite(answer)


PIECES = (
    "about ", "= ", "‹about› ", "\\approx ", ": ", "1, ", "1, \\ldots, ", "for 1 ", "for all x ", "if ", "x \\ne 1, ",
    "x < 1 or ", "\\text{kg}", "\\mu ", "\\Omega ", "10^{3} ", "C_{2n}^n", "(B) ", "B. ", "choice ", "C_1e^x+",
    "& x ↵ ", "| x ", "H2", "(A)", "\\text{m^{2}}", "(42 or ", "7 pm ", "twice ", ", ", "‹ ", "› ",
)  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("end", ["x", "(", ";", "\\"])
def test_what_repeats_is_read_in_linear_time(piece: str, end: str) -> None:
    """A pattern that reads one sign in two ways takes twice as long for each more, which no time limit waits for."""
    text = piece * (1_900 // len(piece)) + end
    for gold in ("4", "y=Ce^x", "2 if n is even, 1 for 1 if odd", "(B) 12"):
        assert not equal_both(gold, text)


def equal_both(gold: str, answer: str) -> bool:
    found = decide(gold, answer)
    veto(gold, answer)
    rewrite(answer)
    return found is not None and found.equal
