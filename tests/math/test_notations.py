"""Other countries' and other people's notations of an answer are the answer, and none of their neighbours is.

Judged as the server does, math-verify included.
"""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from sandbox_gym.verifiers.math.options import MathOptions
from tests.math.library import judged

RIGHT: dict[str, tuple[str, ...]] = {
    "y'=2x": (r"\frac{dy}{dx}=2x", "dy/dx = 2x", r"y^{\prime}=2x", r"\frac{\mathrm{d}y}{\mathrm{d}x}=2x", "2x"),
    r"\frac{dy}{dx}+y=0": ("y'+y=0", "y' = -y", "dy/dx + y = 0"),
    r"y''+4y=0": (r"\frac{d^2y}{dx^2}+4y=0", "y''=-4y"),
    "101_2": (r"101_{\text{base }2}", r"101\text{ base }2", r"101_{\text{two}}", r"101 \text{ in base } 2"),
    "FF_{16}": ("FF", r"\text{FF}_{16}"),
    "(3,-2)": ("P(3,-2)", "y=-2, x=3", r"A\left(3,-2\right)"),
    "[2,5)": (r"x\ge2\text{ and }x<5", r"x<5\text{ and }x\ge2"),
    r"\begin{pmatrix}1&2\\3&4\end{pmatrix}": ("[[1,2],[3,4]]", "[[1, 2], [3, 4]]"),
    r"\mathbb{R}\setminus\{0\}": (r"x\ne0", r"(-\infty,0)\cup(0,\infty)", r"\mathbb R\setminus\{0\}"),
    "B, C": ("BC", "(B),(C)", r"B \text{ and } C", "C,B"),
    r"\$18.90": ("USD 18.90", r"\text{USD }18.9"),
    "y=2x+3": ("f(x)=2x+3", "2x-y+3=0"),
    "x^2+C": (r"x^{2}+\text{C}", r"x^2+\text{constant}", "x^2+k"),
    "P(X>2)=0.3": ("0.3", r"P(X > 2) = \frac{3}{10}", r"\Pr(X>2)=0.3", r"\mathbb{P}[X>2]=\frac{3}{10}"),
    r"m=\frac{2}{3}": (r"\text{slope}=\frac23",),
    r"x=\frac{\pi}{4}+k\pi, k\in\mathbb{Z}": (r"\frac{\pi}{4}+k\pi", r"x=n\pi+\frac{\pi}{4},\ n \in \mathbb Z"),
    r"\angle ABC=30^\circ": (r"\frac{\pi}{6}", "30"),
    "AB=5": (r"\overline{AB}=5", "|AB|=5"),
    r"\vec{v}=(1,2)": (r"\mathbf{v}=(1,2)", r"\langle1,2\rangle"),
    "a_n=2n-1": ("a(n)=2n-1",),
    r"\text{(C)}\ 12": ("C", r"\textbf{(C)}"),
    "5": ("f'(2)=5", r"\text{The answer is }5", "5\\ ", r"\text{Area}=5"),
    r"\frac{\sqrt{3}}{2}": (r"\cos\frac\pi6", r"\sin 60^o"),
    "3\\sqrt{2}": ("3sqrt2",),
    r"5\text{ cm}": (r"5\ \rm{cm}", r"5\ {\rm cm}"),
    r"2\pi r h": (r"2\pi rh", r"2\pi hr"),
    r"2x\cos(x^2)": ("2xcos(x^2)",),
    r"\frac12": (r"\nicefrac{1}{2}", r"\sfrac12"),
    "10:30": ("10{:}30",),
    "42": (
        r"\color{red}{42}", r"\textcolor{blue}{42}", r"42\hspace{1mm}", r"{42}", r"\mathtt{42}", r"42\tag{1}",
        r"\textbf{Answer: }42", r"\text{答案：}42", r"42 个", r"\text{42 人}",
    ),
    "1000000": (r"1{\,}000{\,}000", "1'000'000", r"\num{1000000}"),
    r"6.02\times10^{23}": (r"6.02 \text{ x } 10^{23}", "6.02x10^23"),
    "10 m/s": (r"\SI{10}{\meter\per\second}", r"10\ [\mathrm{m/s}]"),
    r"25^\circ\text{C}": ("25℃",),
    r"60^\circ": (r"60^\text{o}", r"60^\degree", r"60 ^ \circ"),
    r"x=\frac{\pi}{4}+n\pi": (
        r"x=\frac{\pi}{4}+k\pi, k\in\mathbf{Z}", r"x=\frac{\pi}{4}+n\pi \text{ for integer } n",
        r"\frac{\pi}{4}+k\pi, k \in Z",
        r"x=\frac{\pi}{4}+k\pi\text{ where }k\text{ is an integer}",
    ),
    r"\emptyset": (r"\text{There is no solution}", r"\{\ \}", r"\text{no solution exists}"),
    "x>2": ("x&gt;2", r"x>2, x\in\mathbb{R}"),
    "x<1 or x>4": ("x<1, x>4", r"x>4,\ x<1"),
    r"0\le x<1": (r"x \ge 0, x<1",),
    r"\mathbb{R}\setminus\{1\}": (r"x\not=1", r"\text{all real numbers except }1", r"x\in\mathbb{R}, x\ne 1"),
    r"\begin{pmatrix}1\\2\end{pmatrix}": (
        "(1,2)^T", r"\begin{bmatrix}1&2\end{bmatrix}^{T}", r"\begin{pmatrix}1\\[2pt]2\end{pmatrix}",
    ),
    "x=1,y=2": (r"\begin{cases}x=1\\y=2\end{cases}", r"\left\{\begin{array}{l}x=1,\\y=2\end{array}\right."),
    r"\ln 2": (r"\log 2", r"\log(2)"),
    r"\log|x|+C": (r"\ln|x|+C",),
    r"2\sin x\cos x": (r"2\sin x\cdot\cos x",),
    "17th": ("17", r"17^{\text{th}}"),
    r"\text{infinitely many}": (r"\text{infinitely many solutions}", r"\text{There are infinitely many}"),
    "(2,3)": (r"\{(2,3)\}",),
    r"67.5^\circ": (r"67^\circ 30'", r"67^{\circ}30^{\prime}"),
    "B": (r"\text{The answer is B}", r"\underline{\mathbf{B}}"),
    "120": ("10C3", "nCr(10,3)", r"\text{10 choose 3}", r"{10\choose 3}"),
    "720": ("10P3", "P_{10}^3"),
    r"\binom{2n}{n}": (r"C_{2n}^n", r"\mathrm{C}_{2n}^{n}", r"\frac{(2n)!}{n!^2}"),
    r"\frac{n(n+1)}{2}": ("C_{n+1}^2", r"\mathrm{C}_{n+1}^2"),
    r"\binom{n}{k}": ("C_n^k", r"\binom nk", r"{n \choose k}"),
    r"f(x)=\begin{cases}x&x\ge0\\-x&x<0\end{cases}": (r"f(x) = \begin{cases} x, & x \ge 0 \\ -x, & x < 0 \end{cases}",),
    r"\frac{x^3}{3}+C": (r"\frac{x^3}{3}+C, \text{ where } C \text{ is a constant}",),
    r"\begin{cases}x^2&x\ge0\\-x&x<0\end{cases}": (
        r"\begin{cases}-x&x<0\\x^2&x\ge0\end{cases}", r"\left\{\begin{array}{ll}x^2&x\ge0\\-x&x<0\end{array}\right.",
        r"\begin{cases} x^2, & \text{for } x \geq 0, \\ -x, & \text{for } x < 0. \end{cases}",
    ),
    r"x=\frac{\pi}{3}+k\pi, k\in\mathbb{Z}": (r"\left\{x \mid x=\frac{\pi}{3}+k\pi, k\in\mathbb{Z}\right\}",),
    "2n-1": (r"a_n=2n-1,n\in\mathbb{N}^*", r"a_n = 2n-1\ (n\in\mathbb{N}_{+})"),
    "f(x)=x+1": (r"f(x)=x+1\text{ for all }x", r"f(x)=x+1\text{ for all real }x", r"f(x)=x+1\ \forall x\in\mathbb{R}"),
    "y=C_1e^{2x}+C_2e^{-x}": (r"y = C_1 \exp(2x) + C_2 \exp(-x)", "y=c_1e^{2x}+c_2e^{-x}"),
    "y=Ce^{x^2}": ("y(x)=Ce^{x^2}", "Ce^{x^2}"),
    "ABD": ("A,B,D", r"\text{A, B and D}"),
    r"\text{ellipse}": (r"\text{an ellipse}", "The ellipse"),
    r"\text{infinite}": (r"\infty", r"\text{infinitely many}"),
    r"(1,2,3)\text{ and all permutations}": (r"(1,2,3)\text{ and its permutations}",),
    "12.57": (r"\approx 12.57", r"\approx12.57\text{ m}^2", "=12.57"),
    "-285.8": (r"-285{,}8\text{ kJ/mol}",),
    "[1,\\infty)": ("{x|x≥1}", r"\{x|x\geqslant1\}"),
    r"\epsilon_0+\phi": (r"\varepsilon_0+\varphi",),
    r"\text{H}_2\text{SO}_4": (r"\ce{H2SO4}", "H₂SO₄"),
    "-2": (r"\sqrt[3]{-8}", r"2\sqrt[5]{-1}"),
    r"\sigma^2=4": ("4", r"\sigma^{2} = 4"),
    r"\nabla f=(2x,2y)": ("(2x,2y)", r"\nabla f = (2x, 2y)"),
    r"x^{n+1}e^{t}": (r"x^{n+1}e^t",),
    "105": ("7!!", "共105种", "105。"),
}  # fmt: skip
WRONG: dict[str, tuple[str, ...]] = {
    "42": (r"\ge 42", "42'", r"42 \text{ or } 43", "42或43", r"\text{not: }42", r"\color{42}{43}", r"\phantom{42}43"),
    r"\frac34": (r"\ge\frac34", r"\not\frac34"),
    "x\\equiv3\\pmod7": (r"x\not\equiv3\pmod7",),
    r"\frac{dx}{dt}=3x": (r"\frac{dx}{ds}=3x", "dx/dy=3x", r"\frac{\mathrm{d}x}{\mathrm{d}y}=3x"),
    r"\ln 2": (r"\log_{10} 2", r"\log_2 3", r"\lg 2"),
    "120": ("10P3", r"\text{10 choose 4}"),
    r"\mathbb{R}\setminus\{1\}": (r"\text{all real numbers except }2",),
    r"2\sin x\cos x": (r"2\sin(x\cdot\cos x)",),
    r"67^\circ 30'": (r"67^\circ 30''", r"67.3^\circ", r"67^\circ"),
    "y'=2x": ("y'=-2x", r"\frac{dy}{dx}=-2x", r"\frac{dx}{dy}=2x", "y''=2x", "y=2x+1"),
    r"\frac{dy}{dx}+y=0": (r"\frac{dy}{dx}-y=0", "y+y=0", "y''+y=0", "0"),
    "FF_{16}": ("FE", "FF_{17}"),
    "101_2": (r"101_{\text{base }3}", r"101\text{ base }3"),
    "(3,-2)": ("P(3,2)", "y=3, x=-2", "P(-2,3)"),
    "[2,5)": (r"x\ge2\text{ or }x<5", r"x>2\text{ and }x<5", r"x\ge5\text{ and }x<2"),
    r"\begin{pmatrix}1&2\\3&4\end{pmatrix}": ("[[1,3],[2,4]]", "[1,2,3,4]"),
    r"\mathbb{R}\setminus\{0\}": (r"x\ne1", r"\mathbb{R}", r"\mathbb{R}\setminus\{1\}"),
    "B, C": ("BD", "B", "BCD", "A and B"),
    "(B,C)": ("(C,B)",),
    r"\$18.90": ("EUR 18.90", "USD 18"),
    "P(X>2)=0.3": ("0.7", "P(X>2)=0.03", r"\Pr(X>2)=0.7"),
    "5": (r"\text{The answer is not }5", r"\text{less than}=5", "f'(2)=6"),
    r"x=\frac{\pi}{4}+k\pi, k\in\mathbb{Z}": (r"\frac{\pi}{4}", r"x=2n\pi+\frac{\pi}{4}, n\in\mathbb{Z}"),
    "2 < x < 3": (r"\{2,3\}", "[2,3]"),
    r"\angle ABC=30^\circ": (r"30\text{ rad}", r"\frac{\pi}{3}"),
    r"\text{(C)}\ 12": ("D",),
    "AB=5": ("CD=6", "|AB|=6"),
    r"\begin{cases}x^2&x\ge0\\-x&x<0\end{cases}": (
        r"\begin{cases}x^2&x<0\\-x&x\ge0\end{cases}",
        r"\begin{cases}x^2&x\ge0\\x&x<0\end{cases}",
    ),
    r"x=\frac{\pi}{3}+k\pi, k\in\mathbb{Z}": (r"x=\frac{\pi}{3}+k\pi, k\in\mathbb{N}",),
    "ABD": ("A,B", "A,B,C,D"),
    "x=3 or x=5": ("x=3, y=5",),
    "6": ("不是6", "6或7"),
    "7!": ("7!!",),
    r"\text{ellipse}": (r"\text{not an ellipse}",),
    r"\sqrt{\frac{2GM}{R}}": (r"\sqrt{\frac{2Gm}{R}}", r"\sqrt{\frac{2GM}{r}}"),
    r"\frac{a+b}{2}": (r"\frac{A+B}{2}",),
    r"\frac{1}{2}": (
        r"\frac{1}{2}\cup 6",
        r"\frac{1}{2}\to 6",
        r"\det(\frac{1}{2},6)",
        r"\frac{1}{2}\\6",
        r"\cancel{\frac{1}{2}}6",
        r"x_\frac12",
        r"\sum_{k=1}^\frac12 k",
        r"\text{\frac{1}{2} and 6}",
        r"\frac{1}{2}'",
        r"\frac12\text{ squared}",
        r"\frac12\text{ (wrong)}",
    ),
    "x+1": (r"(x+1)\text{ dozen}", r"(x+1)\text{ factorial}"),
    "f(x)=2x": ("f'(x)=2x", "f(2x)=2x", "2f(x)=2x"),
    r"(1,2,3)\text{ and all permutations}": ("(1,2,3)", "(1,2,4)"),
    "(1,2,3)": (r"(1,2,3)\text{ and its permutations}", "x=1,-y=2,z=3"),
    r"2\text{ if }n\text{ is even, }1\text{ if }n\text{ is odd}": ("2", "1", "2,1"),
    r"5\text{ or more}": ("5",),
    r"\binom{2n}{n}": ("C_{2n}^{n-1}", "C_n^2", r"\frac{(2n)!}{n!}"),
    r"\frac{3}{56}": (r"-P=\frac{3}{56}",),
    r"n\equiv1\pmod 3": (r"-n\equiv1\pmod3", r"2n\equiv1\pmod3"),
    r"\omega^2 r": (r"\Omega^2 r",),
    r"\Delta": (r"\delta",),
    r"\langle 15, 3\rangle": (r"\begin{vmatrix}15&3\end{vmatrix}",),
}


def _pairs(table: dict[str, tuple[str, ...]], equal: bool) -> list[tuple[str, str, bool]]:
    return [(gold, answer, equal) for gold, answers in table.items() for answer in answers]


@pytest.mark.parametrize(("gold", "answer", "equal"), [*_pairs(RIGHT, True), *_pairs(WRONG, False)])
def test_notations(gold: str, answer: str, equal: bool) -> None:
    found = judged(gold, f"So it is $\\boxed{{{answer}}}$.", MathOptions())
    assert found.equal is equal, found


@pytest.mark.parametrize(("many", "few"), [(10, 3), (7, 5), (20, 1), (6, 0), (12, 12)])
def test_combinations_and_permutations(many: int, few: int) -> None:
    chosen = (
        "C({0},{1})", "_{{{0}}}C_{{{1}}}", "{{}}_{{{0}}}C_{1}", "^{{{0}}}C_{{{1}}}", "C_{{{0}}}^{{{1}}}",
        "C^{{{1}}}_{{{0}}}", "\\binom{{{0}}}{{{1}}}", "{{}}_{{{0}}}\\mathrm{{C}}_{{{1}}}",
    )  # fmt: skip
    ordered = ("P({0},{1})", "_{{{0}}}P_{{{1}}}", "{{}}^{{{0}}}P_{{{1}}}", "A_{{{0}}}^{{{1}}}")
    for forms, number in ((chosen, math.comb(many, few)), (ordered, math.perm(many, few))):
        for form in forms:
            answer = form.format(many, few)
            for gold, equal in ((number, True), (number + 1, False)):
                found = judged(str(gold), f"\\boxed{{{answer}}}", MathOptions())
                assert found.equal is equal, (gold, answer, found)


def test_a_letter_with_indices_is_no_combination_beside_variables() -> None:
    for one, other in combinations(("C_5^2+x", "C_5^3+x", "10+x"), 2):
        assert not judged(one, f"\\boxed{{{other}}}", MathOptions()).equal
