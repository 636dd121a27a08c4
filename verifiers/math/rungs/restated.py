"""Answers that give the problem back: an integral, a sum or a limit that is not evaluated, or the very formula that the
question says to compute, simplify or factor. Their value is the expected answer's, but they answer nothing."""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.expressions.shapes import split_top
from sandbox_gym.verifiers.math.expressions.tex import normalise, squeezed
from sandbox_gym.verifiers.math.options import Decision

NAME = "restated"
_LONGEST_QUESTION = 10_000
OPERATION = re.compile(
    r"\\(?:i{0,3}int|oint|sum|prod|lim|limsup|liminf|max|min|sup|gcd|lcm|det|arg(?:max|min))(?![A-Za-z])"
    r"|\\begin\{vmatrix\}|\\frac ?\{ ?d ?\}? ?\{ ?d ?[a-z] ?\}|(?<![A-Za-z\\])d ?/ ?d ?[a-z](?![A-Za-z])"
)
"""What is to be evaluated."""
_TASK = re.compile(
    r"\b(?:compute|evaluate|calculate|simplify|factori[sz]e|factor|expand|rationali[sz]e|reduce|convert|write|express"
    r"|what(?: is|'s)|(?:find|determine|give) (?:the|an?) [a-z ]{0,40}?"
    r"(?:value|sum|product|quotient|form|factori[sz]ation) of)"
    r"\b:?[^$\\?.]{0,80}?"
    r"(?:\$\$?(?P<dollars>[^$]{1,600})\$|\\\((?P<round>.{1,600}?)\\\)|\\\[(?P<square>.{1,600}?)\\\]"
    r"|(?P<plain>(?<=[ :])(?:(?!\\[(\[])[^$?\n]){1,200}?)(?=\?|\.(?:\s|$)|\n|$))",
    re.IGNORECASE | re.DOTALL,
)
_FRACTION = re.compile(r"\\frac ?(?:([0-9])([0-9])|\{([^{}]{1,80})\} ?\{([^{}]{1,80})\})")


def unevaluated(gold: str, answer: str) -> Decision | None:
    """Both normalised. `\\int_0^1 x^2 dx` does not answer `\\frac13`; `\\int_0^1 x^2 dx = \\frac13` does."""
    last = split_top(answer, "=")[-1]
    found = OPERATION.search(last)
    return Decision(False, NAME, f"not evaluated: {found[0]}") if found and not OPERATION.search(gold) else None


def restated(question: str, gold: str, answer: str) -> Decision | None:
    """An answer that is the formula of "Compute ...", while the expected one is another."""
    question = question[:_LONGEST_QUESTION]
    wanted = _bare(answer)
    if not question or len(answer) > len(question) or wanted == _bare(gold):
        return None
    for found in _TASK.finditer(question):
        formula = next(filter(None, (found[name] for name in ("dollars", "round", "square", "plain"))))
        if _bare(formula) == wanted:
            return Decision(False, NAME, "the question's own formula")
    return None


def _bare(text: str) -> str:
    """What a formula is made of, whatever brackets and spaces are in it."""
    plain = _FRACTION.sub(r"\1\3/\2\4", squeezed(normalise(text.strip(" =?.,\n"))))
    return re.sub(r"[\s(){}*]", "", plain)
