"""Values that words or names tell apart, opposite words, and numbers whose commas may be of thousands or of a list."""

from __future__ import annotations

from itertools import permutations, product

import pytest

from sandbox_gym.verifiers.math import MathOptions, decide
from tests.math.library import judged

LABELS = [
    ("\\text{max}=", "\\text{min}="),
    ("\\text{mean: }", "\\text{median: }"),
    ("\\text{Alice is }", "\\text{Bob is }"),
    ("\\sin\\theta=", "\\cos\\theta="),
    ("f(1)=", "f(2)="),
    ("x^2=", "y^2="),
    ("x+y=", "x-y="),
    ("E(X)=", "\\text{Var}(X)="),
    ("\\text{length }", "\\text{ width }"),
]
NOUNS = [
    ("\\text{ boys}", "\\text{ girls}"),
    (" \\text{ red balls}", "\\text{ blue balls}"),
    ("\\text{ m}", "\\text{ s}"),
    ("\\text{ (mean)}", "\\text{ (median)}"),
]
VALUES = [("5", "3"), ("\\frac{1}{2}", "-2"), ("12", "\\sqrt{2}"), ("0.5", "100")]
LINKS = (", ", ",", "\\text{ and }", ",\\ ", "; ")
FORMS = [(one + "{}", two + "{}") for one, two in LABELS] + [("{}" + one, "{}" + two) for one, two in NOUNS]


def _rewarded(gold: str, answer: str) -> bool:
    return judged(gold, f"\\boxed{{{answer}}}", MathOptions()).equal


@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("values", VALUES)
def test_labels_tell_values_apart(forms: tuple[str, str], values: tuple[str, str]) -> None:
    one, other = (form.replace("{}", value) for form, value in zip(forms, values, strict=True))
    wrong = [form.replace("{}", value) for form, value in zip(forms, values[::-1], strict=True)]
    gold = f"{one}, {other}"
    for link in LINKS:
        assert _rewarded(gold, f"{one}{link}{other}"), link
        assert _rewarded(gold, f"{other}{link}{one}"), link
        for mine, theirs in permutations(wrong):
            assert not _rewarded(gold, f"{mine}{link}{theirs}"), link
    assert _rewarded(gold, ", ".join(values))


@pytest.mark.parametrize("opposites", ["north south", "left right", "before after", "more less", "upward downward"])
@pytest.mark.parametrize("number", ["5", "5\\text{ km}", "-2.5", "\\frac{1}{2}\\text{ hours}"])
def test_opposite_words_are_different_answers(opposites: str, number: str) -> None:
    one, other = opposites.split()
    for mine, theirs in ((one, other), (other, one)):
        gold = f"{number} \\text{{ {mine}}}"
        assert _rewarded(gold, gold.replace("\\text{ ", "\\text{"))
        assert not _rewarded(gold, f"{number}\\text{{ {theirs}}}")
        assert not _rewarded(gold, f"{number} {theirs}")


def test_a_bearing_has_an_order() -> None:
    gold = "30^\\circ\\text{ north of east}"
    assert not _rewarded(gold, "30^\\circ\\text{ east of north}")
    assert _rewarded(gold, "30° north of east")


@pytest.mark.parametrize("members", [("120", "240"), ("30", "150"), ("15", "120", "345"), ("5", "100", "1", "999")])
def test_numbers_of_three_digits_may_be_members(members: tuple[str, ...]) -> None:
    golds = [", ".join(members), f"\\{{{', '.join(members)}\\}}", ", ".join(f"{member}^\\circ" for member in members)]
    wrong = (*members[:-1], str(int(members[-1]) + 1))
    for gold, order in product(golds, permutations(members)):
        for answer in (",".join(order), ", ".join(order), f"x={','.join(order)}", f"\\{{{','.join(order)}\\}}"):
            assert _rewarded(gold, answer), (gold, answer)
    for gold in golds:
        assert not _rewarded(gold, ",".join(wrong))
        assert not _rewarded(gold, f"\\{{{','.join(wrong)}\\}}")
    tight = f"\\{{{','.join(members)}\\}}"
    assert _rewarded(tight, f"\\{{{','.join(members[::-1])}\\}}")


@pytest.mark.parametrize(
    ("gold", "answer", "equal"),
    [
        ("1000, 2000", "1,000, 2,000", True),
        ("1000, 2000", "\\$2,000\\text{ and }\\$1,000", True),
        ("1000, 2000", "1,000, 2,001", False),
        ("120240", "120,240", True),
        ("120240", "240,120", False),
        ("(120,240)", "240,120", False),
        ("1\\text{ and }2\\text{ respectively}", "2\\text{ and }1\\text{ respectively}", False),
        ("1,2", "1\\text{ and }2\\text{, respectively}", True),
    ],
)
def test_thousands_in_lists(gold: str, answer: str, equal: bool) -> None:
    found = decide(gold, answer)
    assert found is not None
    assert found.equal is equal
