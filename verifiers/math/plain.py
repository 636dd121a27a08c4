"""The final answer where nothing is boxed, by the words around it: `#### X`, "The answer is X", bold text.

Linear in the text's length. An unclear answer is None: math-verify may still search the text.
"""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.expressions.units import parse_unit

_LINE_CHARS = 2000
_ANCHORS = (
    "final answer",
    "the answer is",
    "answer is",
    "answer:",
    "answer =",
    "answer",
    "option is",
    "choice is",
    "答案",
)
_AFTER_ANCHOR = re.compile(r"(?:\*\*|__|\s*\})?\s*(?:is|are|=|是|为)?\s*[:：]?\s*(?:\*\*|__)?\s*")
_BOLD = re.compile(r"\*\*([^*\n]{1,500})\*\*")
_DISPLAYS = (("\\[", "\\]"), ("$$", "$$"))
_DELIMITERS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"))
_SPAN = re.compile(
    r"\$\$[^$]{1,1000}\$\$|\$[^$]{1,1000}\$|\\\([^()]{0,500}?\\\)|\\\(.{1,500}?\\\)|\\\[[\s\S]{1,500}?\\\]"
)
_WORD = re.compile(r"(?<![A-Za-z\\{])[A-Za-z]{2,}(?![A-Za-z(^])")
_COPULA = re.compile(r"(?<![A-Za-z\\])(?:is equal to|is|are|was|equals|be)(?![A-Za-z])\s*:?\s*")
_IF = re.compile(r"\b(?:if|when)\b")
_DENIED = re.compile(r"\b(?:not|never)\b|n't")
_REASON = re.compile(
    r",?\s+(?:because|since|which|where|when|as|so that|given|by|after|if|not|rather than|instead of)\s"
)
_LEAD = re.compile(r"(?:exactly|approximately|about|simply|just|only)\s+")
_STARTS = re.compile(r"[$\\]?[-+]?(?:[0-9]|\\)|\$")
_NUMBER_THEN = re.compile(
    r"([-+]?[0-9][0-9.,/]*)[\s,]+(?:in|and|as|at|for|to|by|on|we|of|so|which|there|this|that)\s+[A-Za-z]"
)
_FEW_WORDS = 3


def plain_answer(text: str) -> str | None:
    """The last `####`, the last "answer is X" or the last bold text; None where none of them names an answer."""
    if "####" in text:
        return _line(text.rpartition("####")[2]) or None
    lowered = text.lower() if text.isascii() else "".join(c.lower() if c.isascii() else c for c in text)
    for anchor in _ANCHORS:
        at = lowered.rfind(anchor)
        if at >= 0:
            rest = text[at + len(anchor) : at + len(anchor) + _LINE_CHARS]
            after = _AFTER_ANCHOR.match(rest)
            found = _said(rest[after.end() if after else 0 :])
            if found:
                return found
    bold = _BOLD.findall(text[-_LINE_CHARS:])
    return _line(bold[-1]) or None if bold else None


def tagged(text: str) -> str | None:
    """What the last `<answer>` element holds, or GLM's box, where that is no sentence."""
    text = text.replace("<|begin_of_box|>", "<answer>").replace("<|end_of_box|>", "</answer>")
    inner = _line(text.rpartition("<answer>")[2].partition("</answer>")[0]) if "</answer>" in text else ""
    return inner if inner and len(_WORD.findall(_SPAN.sub(" ", inner))) <= _FEW_WORDS else None


def last_math(text: str) -> str | None:
    """The last formula of the text's end, on one line."""
    spans = _SPAN.findall(text[-_LINE_CHARS:])
    return " ".join(strip_delimiters(spans[-1]).split()) or None if spans else None


def strip_delimiters(text: str) -> str:
    """A text without its one outer pair of `$`, `$$`, `\\(` `\\)` or `\\[` `\\]`."""
    text = text.strip()
    for opening, closing in _DELIMITERS:
        inner = text[len(opening) : len(text) - len(closing)]
        whole = len(text) > len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing)
        if whole and "$" not in inner.replace("\\$", "") and closing not in inner and not inner.endswith("\\"):
            return inner.strip()
    return text


def _said(text: str) -> str | None:
    """The answer in a sentence after "answer"; display math may stand on lines of its own."""
    text = text.strip()
    if (shown := _display(text)) is not None:
        return shown
    opening, _newline, below = text.partition("\n")
    if not re.search(r"[0-9$\\]", opening) and (shown := _display(below.strip())) is not None:
        return shown
    line = _line(text)
    words = _WORD.findall(_SPAN.sub(" ", line))
    if not words:
        return line or None
    if len(_IF.findall(line)) > 1:
        return None
    if reason := _REASON.search(line):
        line = line[: reason.start()]
    if _STARTS.match(line):
        return _value(line)
    copulas = list(_COPULA.finditer(_SPAN.sub(lambda found: "#" * len(found.group()), line)))
    if copulas and _DENIED.search(line[: copulas[-1].start()]):
        return None
    if copulas:
        line = line[copulas[-1].end() :]
    return _value(line.strip())


def _value(text: str) -> str | None:
    """A sentence's rest as an answer: its math with a unit behind it, or its few words; else its last math."""
    text = _LEAD.sub("", text, count=1)
    spans = list(_SPAN.finditer(text))
    words = _WORD.findall(_SPAN.sub(" ", text))
    if not spans:
        number = _NUMBER_THEN.match(text)
        return number.group(1) if number else strip_delimiters(text) or None
    first = spans[0]
    if first.start() == 0 and words and {word.lower() for word in words} <= {"and", "or"}:
        return _SPAN.sub(lambda found: strip_delimiters(found.group()), text)
    if first.start() == 0 and words:
        inner, tail = strip_delimiters(first.group()), text[first.end() :].strip()
        return f"{inner} {tail}" if parse_unit(tail) or tail.startswith(("percent", "%")) else inner
    if len(words) > _FEW_WORDS:
        return strip_delimiters(spans[-1].group())
    return strip_delimiters(text)


def _display(text: str) -> str | None:
    """The display math that opens the text, on one line; None where there is none or it does not close."""
    for opening, closing in _DISPLAYS:
        if text.startswith(opening):
            inner, closed, _rest = text[len(opening) :].partition(closing)
            return " ".join(inner.split()).rstrip(".").strip() or None if closed else None
    return None


def _line(text: str) -> str:
    """The first line that says something, without bold marks, math delimiters and the sentence's own full stop."""
    if (shown := _display(text.strip())) is not None:
        return shown
    first = text.strip().split("\n", 1)[0][:_LINE_CHARS].strip()
    if first in ("\\[", "$$"):
        return ""
    for mark in ("I hope", "**"):
        first = first.partition(mark)[0] if not first.startswith(mark) else first[len(mark) :].partition(mark)[0]
    first = first.strip().rstrip(".").rstrip("*_").strip()
    return strip_delimiters(first).rstrip(".").strip()
