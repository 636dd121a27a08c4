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
    r"x=1,y=2 \text{ or } x=3,y=4": (["(x,y)=(1,2),(3,4)", "(y,x)=(4,3),(2,1)"], ["(y,x)=(1,2),(3,4)", "(y,x)=(2,1)"]),
    "x=y=z=1": (["(1,1,1)", "x=1,y=1,z=1", "(x,y,z)=(1,1,1)", "1"], ["x=1", "(1,1,2)", "x=y=z", "x=1,y=1"]),
    r"\frac{x-1}{2}=\frac{y+1}{3}=z": ([r"z=\frac{y+1}{3}=\frac{x-1}{2}"], [r"\frac{x-1}{3}=\frac{y+1}{2}=z"]),
    "R=2r": (["2r=R", "R=r+r"], ["r=2R", "2R=r"]),
    r"P(x)=\pm x^n": ([r"P(x)=x^n \text{ or } P(x)=-x^n", r"\pm x^n"], ["x^n", "-x^n"]),
    "1,000,000": (["10^6", "1000000"], ["1,000,00", "1,0,0"]),
    r"f'(x)=2x": ([r"\frac{d}{dx}f(x)=2x", r"\frac{df}{dx}=2x"], ["f(x)=2x", "f''(x)=2x"]),
    r"\frac{\partial f}{\partial x}": ([r"\partial f/\partial x", r"\partial_x f", "f_x"], [r"\partial f/\partial y"]),
    r"k\pi, k\in\mathbb{Z}": (
        [r"\{k\pi : k \in \mathbb{Z}\}", r"\{n\pi \mid n\in\mathbb{Z}\}"], [r"\{2k\pi : k \in \mathbb{Z}\}"]
    ),
    r"\text{Option B}": (["B", "(B)", r"\text{B}"], ["A", r"\text{Option C}", "AB"]),
    r"\text{C. } 42": ([r"\text{(C) }42", "C", "42"], [r"\text{(C) }41", r"\text{(B) }42", "B"]),
    r"\text{all odd primes}": (
        [r"\text{all primes except } 2", r"\text{all primes } p > 2", r"\text{all primes greater than 2}"],
        [r"\text{all primes}", r"\text{all primes except } 3", r"\text{all primes } p > 3", r"\text{all odd numbers}"],
    ),
    r"\text{all primes } p \equiv 1 \pmod 4": (
        [r"p \equiv 1 \pmod 4", r"\text{primes congruent to 1 mod 4}"], [r"p \equiv 3 \pmod 4", r"n \equiv 1 \pmod 4"]
    ),
    r"\text{all } n \ge 3": ([r"n \geq 3", r"\text{every } n \ge 3"], ["n > 3", r"n \le 3"]),
    r"\cos\theta": ([r"\sin(90^\circ-\theta)", r"-\cos(180^\circ-\theta)"], [r"\sin(60^\circ-\theta)"]),
    r"\cos\frac{\pi}{7}": ([r"\cos\frac{180^\circ}{7}"], [r"\cos\frac{90^\circ}{7}"]),
    r"\log_2 3 - 1": ([r"\log_2 1.5", r"\log_2(1.5)"], [r"\log_2 1.25", "0.585"]),
    r"f^{-1}(x)": ([r"f^{ -1 }(x)"], [r"\frac{1}{f(x)}", "f(x)^{-1}"]),
    r"f^{-1}(x)=\frac{x-1}{2}": ([r"y=\frac{x-1}{2}", r"\frac{x-1}{2}"], [r"\frac{x+1}{2}"]),
    r"(f\circ g)(x)": (["f(g(x))"], [r"(g\circ f)(x)", "g(f(x))", "f(x)g(x)"]),
    r"\nabla\times F": ([r"\nabla \times F"], [r"\nabla F", r"\nabla\cdot F"]),
    r"A\times B": ([r"A \times B"], [r"B\times A", "AB"]),
    r"x>0 \land y>0": ([r"y>0 \text{ and } x>0"], [r"x>0 \lor y>0", r"x>0 \text{ or } y>0"]),
    r"\|x\|": ([r"\lVert x\rVert", "||x||"], ["x", r"\|y\|"]),
    r"P(A\mid B)": (["P(A|B)"], ["P(B|A)", "P(A)"]),
    r"\text{Re}(z)": ([r"\Re(z)", r"\Re z", r"\mathrm{Re}\,z"], [r"\Im(z)", "z"]),
    r"\mathbb{Z}_6": ([r"\mathbb{Z}/6\mathbb{Z}", r"\mathbb{Z}/6"], [r"\mathbb{Z}/5\mathbb{Z}", r"\mathbb{Z}", "6"]),
    "g(x,y)=x-2y": (["g(a,b)=a-2b", "g(y,x)=y-2x", "x-2y"], ["g(y,x)=x-2y", "g(a,b)=b-2a"]),
    r"m\mid n": (["m|n"], [r"n\mid m", "n|m"]),
    r"\det(A)": ([r"\det A"], ["A", r"\det B"]),
    r"\text{mean}=5,\text{median}=4": (["5,4", r"\text{Mean: 5, Median: 4}"], ["4,5"]),
    "p=3": ([r"\text{only } p=3", r"\text{Only } p = 3 \text{ works}"], [r"\text{only } p=5", "p=2,3"]),
    r"n\equiv 0,1\pmod 4": (
        [r"n=4k \text{ or } n=4k+1", r"n\equiv 0\pmod 4 \text{ or } n\equiv 1 \pmod 4"],
        [r"n=4k \text{ or } n=4k+2", r"n\equiv 0\pmod 4", r"n=2k \text{ or } n=4k+1"],
    ),
    r"\text{all } n \text{ except } 2 \text{ and } 3": (
        [r"n\ne 2,3", r"n\notin\{2,3\}", r"\text{all } n \text{ other than } 2 \text{ and } 3"],
        ["n=2,3", r"n\ne 2", r"n\notin\{2,3,4\}", r"\text{all } n"],
    ),
    r"\{n\in\mathbb{Z}: n\ge 2\}": (
        [r"\text{all integers } n\ge 2", r"\mathbb{Z}_{\ge 2}", r"n\ge 2, n\in\mathbb{Z}"],
        [r"\{n\in\mathbb{Z}: n>2\}", r"\mathbb{Z}_{>2}", r"\mathbb{Z}"],
    ),
    r"\text{Such a number does not exist}": ([r"\text{no such number exists}"], [r"\text{Such a number exists}", "0"]),
    r"\text{Player 1}": ([r"\text{Player 1 wins}"], [r"\text{Player 2 wins}", r"\text{Player 2}"]),
    r"f(x)=\frac1x": ([r"f(x)=1/x \text{ for all } x > 0"], [r"f(x)=1/x \text{ for } x > 1", r"f(x)=x"]),
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
