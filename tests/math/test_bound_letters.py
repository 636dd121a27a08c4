"""Letters that stand for nothing outside: indices of sums, variables of integrals, constants; names of a tuple in
another order."""

from __future__ import annotations

import random

import pytest

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged

LETTERS = "ijkm"
TERMS = (
    "a_{0}",
    "a_{0} b_{0}",
    "(x_{0}-y_{0})^2",
    "a_{{{0}+1}} x_{0}",
    "\\frac{{a_{0}}}{{{0}}}",
    "(1+x_{0})",
    "{0} c_{0}",
)
FUNCTIONS = ("f({0})", "{0}^3 g({0})")


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So \\boxed{{{answer}}}.", MathOptions()).equal


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("sign", ["sum", "prod"])
def test_the_index_of_a_sum(sign: str, term: str) -> None:
    rng = random.Random(term + sign)
    mine, other, third = rng.sample(LETTERS, 3)

    def written(index: str, shown: str = "", low: int = 1, top: str = "n") -> str:
        return f"\\{sign}_{{{index}={low}}}^{{{top}}} {term.format(shown or index)}"

    gold = written(mine)
    assert equal(gold, written(mine))
    assert equal(gold, written(other))
    assert equal(f"\\frac{{1}}{{2}}{gold}", f"\\frac{{{written(other)}}}{{2}}")
    for wrong in (
        written(other, third),
        written(mine, other),
        written(other, low=2),
        written(other, top="n+1"),
        term.format(mine),
        f"n {term.format(mine)}",
        f"({term.format(mine)})^n",
        written(other).replace("\\sum", "\\int").replace("\\prod", "\\sum"),
    ):
        assert not equal(gold, wrong), wrong


def test_an_index_of_another_form() -> None:
    for term in ("a_{2k}", "\\alpha_k", "a_{k,1}", "\\frac{1}{\\lambda_k}"):
        gold = f"\\sum_{{k=1}}^n {term}"
        assert equal(gold, gold.replace("k", "i"))
        assert not equal(gold, f"n {term}")
    gold = r"\sum_{i=1}^n\sum_{j=1}^m a_{ij}"
    assert equal(gold, r"\sum_{p=1}^n\sum_{q=1}^m a_{pq}")
    assert not equal(gold, "nm a_{ij}")


@pytest.mark.parametrize("term", FUNCTIONS)
def test_the_variable_of_an_integral(term: str) -> None:
    def written(name: str, shown: str = "", top: str = "1") -> str:
        return f"\\int_0^{{{top}}} {term.format(shown or name)}\\,d{name}"

    for name in "xtsu":
        assert equal(written("x"), written(name))
        assert not equal(written("x"), written(name, top="2"))
    assert not equal(written("x"), written("t", "x"))
    assert not equal(written("x", top="y"), written("t", top="t"))


@pytest.mark.parametrize(
    "said",
    [
        "",
        ", {0}\\in\\mathbb{{R}}",
        "\\text{{ for any constants }} {0}",
        "\\text{{, where }} {0} \\text{{ are real constants}}",
    ],
)
@pytest.mark.parametrize(
    ("body", "others"),
    [
        ("f(x)={0}x+{1}", ("f(x)={0}x", "f(x)={0}x^2+{1}", "f(x)={0}x+{0}", "f(x)={0}x+1")),
        ("f(x)={0}\\sin x+{1}\\cos x", ("f(x)={0}\\sin x+{0}\\cos x", "f(x)={0}\\sin x")),
    ],
)
def test_constants_that_a_gold_says_to_be_any(said: str, body: str, others: tuple[str, ...]) -> None:
    gold = body.format("a", "b") + "\\text{ for any real constants } a, b"
    for first, second in ("ab", "ba", "cd", "pq"):
        assert equal(gold, body.format(first, second) + said.format(f"{first}, {second}"))
    for other in others:
        assert not equal(gold, other.format("c", "d") + said.format("c, d"))
    assert not equal(gold, body.format("a", "b") + ", a,b>0")


def test_names_in_another_order() -> None:
    cases = ((("n", "p"), (2, 3)), (("a", "b", "c"), (1, 5, 7)), (("x", "y", "z"), (4, -1, 0)))
    for names, values in (*cases, (("\\mu", "\\sigma"), (5, 2)), (("a_1", "a_2"), (3, 4))):
        rng = random.Random(str(values))
        places = list(range(len(names)))
        for _ in range(4):
            order = rng.sample(places, len(places))
            mine = f"({','.join(names)})=({','.join(map(str, values))})"
            turned = ",".join(names[at] for at in order)
            one_by_one = ", ".join(f"{names[at]}={values[at]}" for at in order)
            assert equal(mine, one_by_one)
            assert equal(one_by_one, f"({turned})=({','.join(str(values[at]) for at in order)})")
            assert equal(mine, f"({turned})=({','.join(str(values[at]) for at in order)})")
            if order != places:
                assert not equal(mine, f"({turned})=({','.join(map(str, values))})")
                straight = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
                assert not equal(straight, f"({turned})=({','.join(map(str, values))})")
    assert equal(r"(x,y)=(1,2),(3,4)", r"(y,x)=(4,3),(2,1)")
    assert not equal(r"(x,y)=(1,2),(3,4)", r"(y,x)=(1,2),(4,3)")
    assert equal("x=y=z", "z=x=y")
    assert not equal("x=y=z", "x=y=w")
