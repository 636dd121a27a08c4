"""The answer out of a response text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox_gym.verifiers.math import MathOptions, choice_letter, extract_answer, plain_gold, strip_delimiters
from tests.math.library import judged

DATA = Path(__file__).parent / "data"
PLAIN = MathOptions(plain_answer=True)
THINK = MathOptions(drop_thinking=True)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("so \\boxed{4}.", "4"),
        ("\\boxed{\\frac{1}{2}} done", "\\frac{1}{2}"),
        ("\\boxed{3} no wait, \\boxed{4}", "4"),
        ("\\boxed{ 7 }", "7"),
        ("\\boxed{5", None),
        ("\\boxed{1} and then \\boxed{5", None),
        ("\\boxed{}", None),
        ("\\boxed{  }", None),
        ("The answer is 5", None),
        ("\\fbox{12}", None),
        ("", None),
        ("so \\boxed 42.", "42"),
        ("$\\boxed42$", "42"),
        ("\\boxed\\frac{1}{2}", "\\frac{1}{2}"),
        ("\\boxed {5}", "5"),
        ("\\boxed 3, no: \\boxed{4}", "4"),
        ("\\boxed{3}, no: \\boxed 4", "4"),
        ("\\boxed", None),
        ("<think>\\boxed{4}</think> \\boxed{5}", "5"),
        ("<think>I get \\boxed{4} so", "4"),
    ],
)
def test_default_is_the_last_box(text: str, answer: str | None) -> None:
    assert extract_answer(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("✅ Final Answer: **73**", "73"),
        ("**Final Answer:** 73", "73"),
        ("The answer is 5.", "5"),
        ("The answer is: $\\frac{1}{2}$.", "\\frac{1}{2}"),
        ("Sum is 3.\n#### 1,234\n", "1,234"),
        ("Answer: (B)", "(B)"),
        ("The final answer is $4$. I hope it is correct.", "4"),
        ("So it is **42**.", "42"),
        ("\\fbox{12}", "12"),
        ("answer is 3, but \\boxed{4}", "4"),
        ("The answer is 4 and \\boxed{5", None),
        ("no number here", None),
        ("**Answer:**\n\\[\n42\n\\]", "42"),
        ("Answer:\n$$\n9\n$$\nDone.", "9"),
        ("Answer:\n\\[\n42", None),
        ("The answer is given by\n\\[\nx = 4\n\\]", "x = 4"),
        ("Final Answer: The largest $n$ is 34.", "34"),
        ("The answer is 4 and we are done.", "4"),
        ("The answer is $4$ or $5$.", "4 or 5"),
        ("The answer is $5$ meters because of that.", "5 meters"),
        ("The answer is George Washington.", "George Washington"),
    ],
)
def test_plain_answers(text: str, answer: str | None) -> None:
    assert extract_answer(text, PLAIN) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>\\boxed{4}</think> The answer is \\boxed{5}", "5"),
        ("<think>\\boxed{4}</think> The answer is five", None),
        ("<think>I get \\boxed{4} so", None),
        ("\\boxed{4}</think>", None),
        ("\\boxed{4}", "4"),
    ],
)
def test_thinking_is_no_answer(text: str, answer: str | None) -> None:
    assert extract_answer(text, THINK) == answer


def test_an_open_think_may_hold_the_answer_if_asked() -> None:
    options = MathOptions(drop_thinking=True, open_think_is_answer=True)
    assert extract_answer("<think>I get \\boxed{4} so", options) == "4"


def test_all_boxes_together() -> None:
    every = MathOptions(last_box="all")
    assert extract_answer("\\boxed{1} and \\boxed{\\frac{1}{2}}", every) == "1, \\frac{1}{2}"
    assert extract_answer("\\boxed{\\boxed{3}}", every) == "\\boxed{3}"
    assert extract_answer("nothing", every) is None


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"), ("(B)", "B"), ("\\text{B}", "B"), ("\\text{(C) }42", "C"), ("\\textbf{(D)}\\ 7", "D"),
        ("b) seven", "B"), ("B. Paris", "B"), ("**C**", "C"),
        ("A, B", None), ("(A) or (B)", None), ("A or B", None), ("Because", None), ("42", None), ("", None),
    ],
)  # fmt: skip
def test_choice_letters(text: str, letter: str | None) -> None:
    assert choice_letter(text) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("I think \\boxed{\\text{B}}", "B"),
        ("Answer: (C)", "C"),
        ("The correct answer is D.", "D"),
        ("\\boxed{(A) 3}", "A"),
    ],
)
def test_multiple_choice_responses(text: str, letter: str) -> None:
    assert extract_answer(text, MathOptions(multiple_choice=True)) == letter


@pytest.mark.parametrize(
    ("gold", "bare"),
    [
        ("\\(x+1\\)", "x+1"),
        ("$5$", "5"),
        ("$$5$$", "5"),
        ("\\[5\\]", "5"),
        ("$1$ and $2$", "$1$ and $2$"),
        ("\\$5", "\\$5"),
        ("5", "5"),
    ],
)
def test_golds_without_delimiters(gold: str, bare: str) -> None:
    assert strip_delimiters(gold) == bare


def test_golds_as_data_sets_write_them() -> None:
    assert plain_gold("\\boxed{5}") == "5"
    assert plain_gold("$\\boxed{5}$") == "5"
    assert plain_gold("long way <<1+1=2>>\n#### 1,234") == "1,234"
    assert plain_gold("x \\in \\boxed{[0,7)}") == "x \\in \\boxed{[0,7)}"


@pytest.mark.parametrize("options", [MathOptions(), PLAIN], ids=["default", "plain"])
def test_labelled_texts_without_a_box(options: MathOptions) -> None:
    """By math-verify's search of the text, and by our reading of it."""
    rows = [json.loads(line) for line in (DATA / "unboxed.jsonl").read_text(encoding="utf-8").splitlines()]
    missed = [row for row in rows if judged(row["gold"], row["text"], options).equal != bool(row["expected"])]
    assert len(rows) >= 60
    assert not missed


def test_only_a_box_counts_where_that_is_asked() -> None:
    assert judged("3", "The answer is 3", MathOptions()).equal
    assert not judged("3", "The answer is 3", MathOptions(boxed_only=True)).equal
    assert judged("3", "The answer is \\boxed{3}", MathOptions(boxed_only=True)).equal


SAID = (
    "The answer is 42.", "**42**", "So $x = 42$.", "The answer is 42, since 6*7=42.", "<answer>42</answer>",
    "<answer>\n$42$\n</answer>", "The correct option is 42.", "It is $42$, or $\\frac{84}{2}$.",
)  # fmt: skip
NOT_SAID = (
    "The answer is 42 (or maybe 43).", "The answer is 42; or 43.", "The answer: 42? 43? 44?", "Answer: 42|43|44",
    "The answer is 42 & 43.", "The answer is at least 42.", "x > 42", "The answer is 42 plus 1.", "It can't be 42.",
    "The answer is 42 thousand.", "The answer is 42 mod 43.", "The answer is twice 42.", "42 is not the answer.",
    "The answer is the square of 42.", "The answer is no longer 42.", "The answer is 42 or not.", "It is $42x$.",
    "The answer is 42 if n is even and 43 if n is odd.", "<answer>42 or 43</answer>", "<answer>42</answer> \\boxed{43}",
    "<answer>42</answer> <answer>43</answer>",
)  # fmt: skip


@pytest.mark.parametrize("options", [MathOptions(), PLAIN])
@pytest.mark.parametrize(("text", "equal"), [*((text, True) for text in SAID), *((text, False) for text in NOT_SAID)])
def test_what_a_text_without_a_box_says(text: str, equal: bool, options: MathOptions) -> None:
    assert judged("42", text, options).equal is equal
