"""Sets by a condition, made at random and written in other ways; primes; a function's value; constants and logarithms
of a family; ratios of several numbers; an answer that is a letter alone."""

from __future__ import annotations

import random

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

_BARS = (":", "\\mid ", "|", "\\;\\middle|\\;", "\\text{ such that }")
_CONDITIONS = (
    ("{0}>{1}", "{1}<{0}", "{0}\\ge{1}"),
    ("{0}^2<{1}", "{1}>{0}^2", "{0}^2>{1}"),
    ("{0}={1}k, k\\in\\mathbb{{Z}}", "{0}={1}k, k\\in\\mathbb{{Z}}", "{0}={1}k+1, k\\in\\mathbb{{Z}}"),
    ("{0}\\text{{ is prime and }}{0}<{1}", "{0}\\text{{ is prime and }}{0}<{1}", "{0}\\text{{ is even and }}{0}<{1}"),
)
_PLANES = (
    ("y={1}x", "{1}x=y", "x={1}y"),
    ("x^2+y^2<{1}", "{1}>y^2+x^2", "x^2+y^2>{1}"),
    ("|x|+|y|\\le{1}", "|y|+|x|\\le{1}", "|x|-|y|\\le{1}"),
)


def equal(gold: str, answer: str, options: MathOptions | None = None) -> bool:
    return judged(gold, f"So \\boxed{{{answer}}}.", options or MathOptions()).equal


def built(rng: random.Random, member: str, condition: str) -> str:
    left, right = rng.choice((("\\{", "\\}"), ("\\left\\{", "\\right\\}")))
    return f"{left}{member}{rng.choice(_BARS)}{condition}{right}"


@pytest.mark.parametrize("seed", range(30))
def test_sets_by_a_condition(seed: int) -> None:
    rng = random.Random(seed)
    number = rng.randrange(2, 30)
    if rng.random() < 0.5:
        same, turned, other = rng.choice(_CONDITIONS)
        name = rng.choice("xatp")
        gold = built(rng, "x", same.format("x", number))
        member = rng.choice((name, f"{name}\\in\\mathbb{{R}}")) if ">" in same else name
    else:
        same, turned, other = rng.choice(_PLANES)
        name = "x"
        gold = built(rng, "(x,y)", same.format("x", number))
        member = rng.choice(("(x,y)", "(x,y)\\in\\mathbb{R}^2"))
    assert equal(gold, built(rng, member, same.format(name, number)))
    assert equal(gold, built(rng, member, turned.format(name, number)))
    assert not equal(gold, built(rng, member, other.format(name, number)))
    assert not equal(gold, built(rng, member, same.format(name, number + 1)))
    assert not equal(gold, built(rng, f"{name}\\in\\mathbb{{N}}", same.format(name, number)))


@pytest.mark.parametrize("member", ["2k", "k^2", "(k,2k)", "3k+1"])
def test_elements_of_a_set(member: str) -> None:
    gold = f"\\{{{member}: k\\in\\mathbb{{Z}}\\}}"
    assert equal(gold, f"\\{{{member.replace('k', 'n')} \\mid n\\in\\mathbb{{Z}}\\}}")
    assert not equal(gold, "\\{5k \\mid k\\in\\mathbb{Z}\\}")
    assert not equal(gold, f"\\{{{member} \\mid k\\in\\mathbb{{R}}\\}}")


@pytest.mark.parametrize(
    ("gold", "same", "other"),
    [
        ("f'(x)", "f^{\\prime}(x)", "f(x)"),
        ("f''(x)", "f^{\\prime\\prime}(x)", "f'(x)"),
        ("2xf'(x^2)", "2x f'(x^2)", "2xf(x^2)"),
        ("f'(x)g(x)+f(x)g'(x)", "f(x)g'(x)+f'(x)g(x)", "f'(x)g'(x)"),
        ("f'(g(x))g'(x)", "g'(x)f'(g(x))", "f(g(x))g'(x)"),
        ("f(2)=5", "5", "f(3)=5"),
        ("f(\\frac12)=3", "3", "f(\\frac12)=4"),
        ("f(1)=2,f(2)=3", "f(2)=3,f(1)=2", "f(1)=3,f(2)=2"),
        ("f(x)=2x+1", "x\\mapsto 2x+1", "x\\mapsto 2x+2"),
        ("\\mathcal{N}(0,1)", "N(0,1)", "N(1,0)"),
        ("10\\text{ and }20", "10\\ \\&\\ 20", "10\\ \\&\\ 30"),
        ("-7", "\\text{minus }7", "\\text{minus }8"),
        ("x^2y+\\cos y=C", "\\cos y+x^2y=K", "\\cos y-x^2y=K"),
        ("xy=C", "xy=\\text{const}", "xy=T"),
    ],
)
def test_written_in_another_way(gold: str, same: str, other: str) -> None:
    assert equal(gold, same)
    assert not equal(gold, other)


@pytest.mark.parametrize("value", ["\\frac12", "5", "3-4i", "x+1"])
@pytest.mark.parametrize(
    ("said", "same", "others"),
    [
        ("P(X=1)", "P(X = 1)", ("2P(X=1)", "P(X=8)", "1-P(X=1)", "-P(X=1)")),
        ("\\sum_{k=1}^{10}a_k", "\\sum_{k=1}^{10} a_k", ("\\sum_{k=1}^{11}a_k", "\\sum_{k=0}^{10}a_k")),
        ("\\int_0^1 f(t)dt", "\\int_{0}^{1} f(t)\\,dt", ("\\int_0^2 f(t)dt", "3\\int_0^1 f(t)dt")),
        ("\\left.\\frac{dy}{dt}\\right|_{t=1}", "\\frac{dy}{dt}|_{t=1}", ("\\left.\\frac{dy}{dt}\\right|_{t=3}",)),
        ("\\operatorname{Var}(X)", "\\text{Var}(X)", ("E(X)", "2\\operatorname{Var}(X)")),
        ("z", "z", ("\\bar z", "-z", "2z", "iz")),
        ("f(3)", "f(3)", ("f(2)", "2f(3)", "f'(3)")),
    ],
)
def test_the_same_value_of_something_else(said: str, same: str, others: tuple[str, ...], value: str) -> None:
    assert equal(f"{said}={value}", f"{same} = {value}")
    for other in others:
        assert not equal(f"{said}={value}", f"{other}={value}"), other
        assert not equal(f"{other}={value}", f"{said}={value}"), other


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("x_1+x_2=5", "x_2+x_1=5"),
        ("2x+3y=6", "3y+2x=6"),
        ("2x+4y=8", "x+2y=4"),
        ("3+x=5", "x+3=5"),
        ("\\overline{AB}=5", "AB=5"),
        ("\\vec v=(1,2)", "v=(1,2)"),
        ("P(A)=1/2", "\\text{P}(A)=0.5"),
        ("y=x+3", "y-3=x"),
        ("E(X)=3", "\\mathbb{E}[X]=3"),
    ],
)
def test_the_same_equation(gold: str, answer: str) -> None:
    assert equal(gold, answer)


@pytest.mark.parametrize("inner", ["x", "|x|", "(x+1)", "|2x-3|"])
def test_integrals_that_are_logarithms_have_a_base(inner: str) -> None:
    """sympy's derivative of a logarithm that it did not evaluate forgets the base."""
    for wrong in ("\\log_2", "\\log_{10}", "\\log_3"):
        assert not equal(f"\\ln{inner}+C", f"{wrong}{inner}+C")
        assert not equal(f"{wrong}{inner}+C", f"\\ln{inner}+C")
    assert equal(f"\\log_2{inner}+C", f"\\frac{{\\ln{inner}}}{{\\ln 2}}+K")


@pytest.mark.parametrize("seed", range(12))
def test_ratios_of_several_numbers(seed: int) -> None:
    rng = random.Random(seed)
    parts = rng.sample(range(1, 20), rng.randrange(2, 5))
    gold = ":".join(map(str, parts))
    assert equal(gold, ":".join(str(part * 3) for part in parts))
    assert equal(gold, " : ".join(map(str, parts)))
    assert not equal(gold, f"{gold}:1")
    assert not equal(f"{gold}:1", gold)
    assert len(parts) == 2 or not equal(gold, f"\\frac{{{parts[0]}}}{{{parts[1]}}}")


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        *((text, "B") for text in ("B", "(B)", "**B**", "$B$", "\\textbf{(B)}", "B) 42", "B. Paris")),
        *((text, "") for text in ("A) is wrong, B) is right", "A. Not this.\nB. This.", "b", "C: not C", "A cat")),
    ],
)
def test_a_letter_alone(text: str, letter: str) -> None:
    options = MathOptions(multiple_choice=True)
    assert [wanted for wanted in "ABC" if judged(wanted, text, options).equal] == list(letter)


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 42, not 41.",
        "\\textbf{Answer: } 42",
        "Answer: 42 rather than 41",
        "<|begin_of_box|>42<|end_of_box|>",
    ],
)
def test_answers_in_words(text: str) -> None:
    options = MathOptions(plain_answer=True)
    assert judged("42", text, options).equal
    assert not judged("41", text, options).equal
