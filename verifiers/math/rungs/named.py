"""Names of two kinds. Formulas of words, `\\frac12 \\text{base} \\times \\text{height}`, and of substances,
`2\\mathrm{H_2} + \\mathrm{O_2} \\to 2\\mathrm{H_2O}`: math-verify drops words, so it is given a letter for each.
Vectors with an arrow, in bold or as plain letters: to math-verify these are three names."""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.expressions.units import parse_unit
from sandbox_gym.verifiers.math.options import Decision

_INDEX = r"(?: ?_ ?(?:[A-Za-z0-9]|\{[A-Za-z0-9]{1,8}\})| ?\^ ?(?:[0-9]?[-+]|\{ ?[0-9]{0,2}[-+] ?\}))"
_WORD = re.compile(rf"(?:‹ ?[^‹›]{{1,40}}? ?›{_INDEX}*){{1,9}}")
_FORMULA = re.compile(r"(?:#|[0-9.\s+\-=*/(){}]|\\(?:frac|times|cdot|div|to|rightleftharpoons)(?![A-Za-z])){3,400}")
_OPERATOR = re.compile(r"[-+=*/]|\\(?:frac|times|cdot|div|to|rightleftharpoons)")
_ARROW = re.compile(r"\\(?:to|rightleftharpoons)(?![A-Za-z])")
_OF_WORD = re.compile(r"‹[^‹›]{1,40}› ?=")
_VECTOR = re.compile(r"\\(?:vec|overrightarrow) ?\{ ?([A-Za-z0]) ?\}")
_BOLD_OR_ARROW = re.compile(rf"{_VECTOR.pattern}|‹ ?([A-Za-z]) ?›")
_LETTERS = re.compile(rf"{_BOLD_OR_ARROW.pattern}|\\[A-Za-z]+|‹[^›]*›|([A-Za-z])")
_SET_OF_NUMBERS = re.compile(r"\\mathbb\{[RZNQC]\}")
_BOLD_SET = re.compile(r"‹([RZNQC])›")
_MARKS = str.maketrans("", "", "{}‹› ")
_SHORT = 3


def words_as_names(gold: str, answer: str) -> tuple[str, str]:
    """Both with a variable for each word, where the gold is a formula of words and the answer has some, too; what
    becomes of what as a pair."""
    if "=" not in answer and gold.count("=") == 1 and (of := _OF_WORD.match(gold)):
        gold = gold[of.end() :].strip()
    becomes = _ARROW.search(gold)
    words = [found[0] for found in _WORD.finditer(gold) if becomes or parse_unit(found[0].strip("‹› ")) is None]
    if len(words) < 2 or not _WORD.search(answer):
        return gold, answer
    bare = _WORD.sub("#", gold)
    if not _FORMULA.fullmatch(bare) or not _OPERATOR.search(bare):
        return gold, answer
    names: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        word = found[0].translate(_MARKS)
        word = word.lower() if len(word) > _SHORT and word.isalpha() else word
        return names.setdefault(word, f" w_{{{len(names)}}}")

    first, second = (_WORD.sub(named, text) for text in (gold, answer))
    if becomes:
        first, second = (_pair(text) for text in (first, second))
    return first, second


def with_sets_of_numbers(gold: str, answer: str) -> str:
    """The answer with `\\mathbb{R}` for an R in bold, or for one that is all of it, where the gold has such a set."""
    if "\\mathbb" in answer or not _SET_OF_NUMBERS.search(gold) or _BOLD_SET.search(gold):
        return answer
    alone = _SET_OF_NUMBERS.fullmatch(gold) and _BOLD_SET.fullmatch(f"‹{answer}›")
    return f"\\mathbb{{{answer}}}" if alone else _BOLD_SET.sub(r"\\mathbb{\1}", answer)


def another_set(gold: str, answer: str) -> Decision | None:
    """`\\mathbb{N}` for `\\mathbb{Z}`, which math-verify takes for one another."""
    differ = gold != answer and _SET_OF_NUMBERS.fullmatch(gold) and _SET_OF_NUMBERS.fullmatch(answer)
    return Decision(False, "words", "another set of numbers") if differ else None


def without_arrows(gold: str, answer: str) -> tuple[str, str]:
    """Both with plain letters for vectors, where one has arrows that the other has not, or bold letters in place of all
    of its plain ones; as they are where a letter stands for a vector and a number in one of them."""
    found = [list(map(set, zip(*_LETTERS.findall(text), strict=True))) or [set()] * 3 for text in (gold, answer)]
    (arrows, bold, plain), (others, also_bold, also_plain) = ([one - {""} for one in kinds] for kinds in found)
    restyled = len(bold ^ also_bold) > 1 and {*bold, *plain} == {*also_bold, *also_plain}
    names = {*arrows, *others} | ({*bold, *also_bold} if restyled else set())  # 5 \text{ m} is a unit's
    either = (({*arrows, *(bold & names)}, plain), ({*others, *(also_bold & names)}, also_plain))
    if (arrows == others and not restyled) or any(vectors & numbers for vectors, numbers in either):
        return gold, answer

    def bare(found: re.Match[str]) -> str:
        letter = found[1] or found[2]
        return f" {letter}" if letter in names else found[0]

    first, second = (_BOLD_OR_ARROW.sub(bare, text).strip() for text in (gold, answer))
    return first, second


def _pair(text: str) -> str:
    sides = _ARROW.split(text) if _ARROW.search(text) else text.split("=")
    return f"({sides[0].strip()}, {sides[1].strip()})" if len(sides) == 2 else text
