"""The words around an answer that math-verify picked out of a sentence: it takes the 5 of "the answer is not 5", of "5
or 6" and of "5 m".
"""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.expressions.quantities import read_parts, read_quantity
from sandbox_gym.verifiers.math.expressions.shapes import assigned
from sandbox_gym.verifiers.math.expressions.tex import normalise
from sandbox_gym.verifiers.math.ladder import decide
from sandbox_gym.verifiers.math.options import Decision, MathOptions
from sandbox_gym.verifiers.math.rungs.numbers import same_number
from sandbox_gym.verifiers.math.veto import veto

_BEFORE = 24
_AFTER = 60
_DENIED = re.compile(
    r"(?:\b(?:not|never|neither|cannot be|anything but|(?:other|more|less|greater|fewer|larger|smaller) than)"
    r"|n't|(?:is|are|be) at (?:least|most)"
    r"|no longer|twice|half(?: of)?|double|minus|plus|times|(?:square|cube)(?: root)? of"
    r"|不是|不为)"
    r"\s*(?:be\s+|equal to\s+|exactly\s+)?[$\\(\s*]*$|(?:[<>≤≥]|\\[gl](?:eq?|eqslant|t))\s*[$\\(\s*]*$"
)
_ANOTHER = re.compile(
    r"^(?:[\s,;(]*\b(?:or|and|nor)\s+(?:maybe |perhaps |possibly )?|\s*[,;&|?]\s*)[$\\(\s*]*"
    r"([-+]?(?:[0-9]|\\frac|\\sqrt|\\pi)[^\s$;)]*)"
)
_TAKEN_BACK = re.compile(
    r"^\s*(?:is|was)(?:n't| not| wrong| incorrect| too| never| no)\b|^\s*,?\s*or not\b|^[a-fin-ruv-z](?![A-Za-z])"
    r"|^\s*(?:plus|minus|times|modulo|mod|squared|cubed)\b|^[^.;\n]{0,40}\b(?:unless|otherwise)\b"
    r"|^\s*,? ?(?:if|when)\b[^.\n]{0,50}\b(?:if|when)\b"
)
_ANOTHER_BEFORE = re.compile(
    r"([^\s$*]+?)(?:\$|\\\)|\*\*)?,? n?or (?:[$\\(\s*]|[a-z] ?=)*$"
    r"|[0-9][$*]*, ?[$*]*(-?[0-9][^\s$*,]*)[$*]*,? ?(?:and )?[$*]*$"  # the third of a list
)
_CLOSING = re.compile(r"^[\s]*(?:\$+|\\\)|\\\]|\*\*)?")
_SENTENCE_END = re.compile(r"[.;:!?](?:\s|$)|\n|,|\(")
_WORDS = re.compile(r"\\(?:text|mathrm|mbox|operatorname) ?\{[^{}]*\}(?:\^[0-9])?|[^\s$]+")
_NO_UNIT_HERE = frozenset({"in", "a", "at", "as", "so", "am", "pm"})


def found_in_text(gold: str, answer: str, text: str, equal: bool, options: MathOptions) -> Decision | None:
    """Our word on an answer that math-verify found in a text and called equal or not; None: its word stands.

    An equality is denied by the rungs, the veto, or what stands around the answer; what it called different is equal
    where the rungs say so and nothing around it says otherwise.
    """
    decision = decide(gold, answer, options)
    against = _around(gold, answer, text, options) or veto(gold, answer, options)
    if equal:
        denied = decision if decision and not decision.equal and decision.rung != "caps" else None
        return against or denied
    return decision if decision and decision.equal and against is None else None


def _around(gold: str, answer: str, text: str, options: MathOptions) -> Decision | None:
    at = text.rfind(answer)
    if at < 0:
        return None
    before, after = text[max(0, at - _BEFORE) : at], text[at + len(answer) : at + len(answer) + _AFTER]
    sign = _currency_sign(before, after)
    after = _CLOSING.sub("", after, count=1)
    relation = any(sign in gold for sign in ("<", ">", "\\le", "\\ge", "≤", "≥", "least", "most"))
    if _TAKEN_BACK.match(after) or (_DENIED.search(before.lower()) and not relation):
        return Decision(False, "words", "the text says that it is not")
    several = "," in gold or "and" in gold or "or" in gold
    other = _ANOTHER_BEFORE.search(before)
    differs = decide(gold, other[1] or other[2], options) if other else None
    behind = _ANOTHER.match(after)
    same = decide(gold, behind[1].rstrip(".,"), options) if behind else None
    if ((behind and not (same and same.equal)) or (differs and not differs.equal)) and not several:
        return Decision(False, "words", "the text gives another answer beside it")
    return _other_unit(gold, sign + answer, after, options)


def _currency_sign(before: str, after: str) -> str:
    """The currency sign in front of an answer; a `$` that opens math is none."""
    bare = before.rstrip()
    if bare.endswith("\\$") or (before.endswith("$") and not before.endswith("$$") and "$" not in after):
        return "$"
    return bare[-1:] if bare[-1:] in ("€", "£", "¥", "₹") else ""


def _other_unit(gold: str, answer: str, after: str, options: MathOptions) -> Decision | None:
    """The unit beside the answer, where it differs from the gold's."""
    phrase = _WORDS.findall(_SENTENCE_END.split(after, maxsplit=1)[0])
    mine = assigned(normalise(gold))[1]
    for count in range(min(4, len(phrase)), -1, -1):
        words = phrase[:count]
        if words and words[0].lower() in _NO_UNIT_HERE:
            continue
        theirs = assigned(normalise(f"{answer} {' '.join(words)}"))[1]
        read = read_quantity(theirs)
        scaled = (parts := read_parts(theirs)) is not None and parts.scale != 1
        if read is not None and (scaled or read.kind.unit or read.kind.percent or read.kind.degrees):
            found = same_number(mine, theirs, options)
            return found if found and not found.equal else None
    return None
