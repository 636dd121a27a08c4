"""Names, orders and notations of one meaning: each right answer is taken beside its nearest wrong ones."""

from __future__ import annotations

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

CASES = {
    "x=1+4t, y=2+5t": (["y=2+5t, x=1+4t", "(1+4t,2+5t)"], ["x=2+5t, y=1+4t", "y=1+4t, x=2+5t"]),
    r"f(x)=x^2, g(x)=x^3": (["g(x)=x^3, f(x)=x^2"], ["f(x)=x^3, g(x)=x^2"]),
    r"a=\ln 2, b=\ln 3": ([r"b=\ln 3, a=\ln 2"], [r"a=\ln 3, b=\ln 2"]),
    r"A=\text{red}, B=\text{blue}": ([r"B=\text{blue}, A=\text{red}"], [r"A=\text{blue}, B=\text{red}"]),
    "A(1,2), B(3,4)": (["B(3,4), A(1,2)", "A=(1,2), B=(3,4)", "(1,2), (3,4)"], ["A(3,4), B(1,2)", "A(1,2)"]),
    "f(g(x))": (["f( g(x) )"], ["g(f(x))"]),
    "f^{(3)}(x)": (["f'''(x)"], ["f^3(x)", "f^{(2)}(x)"]),
    "y^{(4)}+y=0": (["y^{(4)}=-y"], ["y^4+y=0", "y''+y=0"]),
    "42": (["42.0"], [r"42\ldots", "42..."]),
    "3.14159": ([r"3.14159\ldots", "3.14159..."], ["3..."]),
    r"\{1,2\}": (["2, 1"], [r"\{1\}, \{2\}"]),
    r"\{1\}, \{2\}": ([r"\{2\}, \{1\}"], [r"\{1,2\}"]),
    "x^2-5x+6=0": (["(x-2)(x-3)=0"], ["2, 3", "x=2,3"]),
    r"3 \pmod 7": (["3", r"x\equiv 3 \pmod 7"], ["4", "7", "-3", r"3 \pmod 8"]),
    "3:45 PM": (["15:45", "3:45pm"], ["3:45 AM", "15:54", "4:45 PM"]),
    "15:45": (["3:45 PM"], ["3:45 AM", "45:15"]),
    "12:30 AM": (["00:30"], ["12:30 PM"]),
    r"A \cup B \cup C": ([r"C\cup A\cup B", "B∪C∪A"], [r"A\cup B\cap C", r"A\cup B"]),
    r"A \cap B^c": ([r"B^c\cap A"], [r"A\cup B^c", r"A^c\cap B"]),
    r"A \setminus B": ([r"A\backslash B"], [r"B\setminus A"]),
    r"3\log_2 x": ([r"\log_2 x^3", r"\log_2(x^3)"], [r"\log_2 3x", r"(\log_2 x)^3", r"\log_2 x^2", r"\log_3 x^3"]),
    r"(1,2,3)+t(4,5,6)": (
        ["(1+4t,2+5t,3+6t)", r"\mathbf{r}=(1,2,3)+t(4,5,6)",
         r"\begin{pmatrix}1\\2\\3\end{pmatrix}+t\begin{pmatrix}4\\5\\6\end{pmatrix}"],
        ["(4,5,6)+t(1,2,3)", "(1,2,3)", "(1+4t,2+5t,3-6t)", "(1,2,3)+(4,5,6)"],
    ),
    "Ce^{-x}": (["Ae^{-x}", "ce^{-x}"], ["Ce^{x}", "Axe^{-x}", "Ce^{-x}+1"]),
    r"\frac{1}{2}Cv^2": ([r"\frac{Cv^2}{2}"], [r"\frac12Lv^2", r"\frac12Kv^2"]),
    r"x=(-1)^n\frac{\pi}{6}+n\pi": ([r"x=(-1)^k\frac{\pi}{6}+k\pi"], [r"x=\frac{\pi}{6}+2k\pi"]),
    "f(x)=cx": ([r"f(x)=cx,\ c\in\mathbb{R}"], ["f(x)=x"]),
    r"(1\ 3\ 2)(4\ 5)": (["(132)(45)", "(1,3,2)(4,5)", "(54)(321)"], ["(123)(45)", "(132)"]),
    "July 4, 1776": (["1776-07-04"], ["1776-04-07", "1776-07-05"]),
    "1234567": (["1.234.567", "1_234_567"], ["1.234567", "1.234.56"]),
    "5": ([r"\text{La respuesta es } 5"], [r"\text{no es } 5"]),
    "Yes": (["YES", "yes"], ["NO"]),
    r"\frac{\pi}{2}": (["np.pi/2", "math.pi/2"], ["np.e/2"]),
    r"(-\infty,-1)\cup(2,\infty)": (["(-oo,-1) U (2,oo)"], ["(-oo,-1] U (2,oo)"]),
    "[0.5, 0.25]": (["(0.5,0.25)", "0.5, 0.25"], ["(0.25,0.5)", "(0.5,0.25]"]),
}  # fmt: skip


@pytest.mark.parametrize("gold", CASES)
def test_right_ones_and_their_neighbours(gold: str) -> None:
    right, wrong = CASES[gold]
    for answer in (gold, *right, *wrong):
        assert judged(gold, f"So it is $\\boxed{{{answer}}}$.", MathOptions()).equal is (answer not in wrong), answer


@pytest.mark.parametrize("said", ["答案是{}", "答案：{}。", "所以答案为 {}"])
def test_chinese_words_before_an_answer(said: str) -> None:
    assert judged("42", said.format(42), MathOptions()).equal
    assert not judged("42", said.format(43), MathOptions()).equal
    assert not judged("42", "答案不是42", MathOptions()).equal
