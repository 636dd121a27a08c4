"""The final answer in a response text. Linear in the text's length: string methods and anchored patterns only.

The last `\\boxed{`, its braces matched. Where there is none, math-verify may search the text (`searchable`).
"""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.options import MathOptions
from sandbox_gym.verifiers.math.plain import plain_answer, strip_delimiters, tagged

_BOX = "\\boxed{"
_FRAMES = ("\\boxed{", "\\fbox{")
_LINE_CHARS = 2000
_LETTER = re.compile(r"\(?\s*([A-Za-z])\s*(?:[).:]|$)")
_ANOTHER = re.compile(r"\([A-Za-z]\)|^[\s,.:)]*(?:(?:and|or|&|/)\s*)?\(?[A-Z](?:[\s).:,]|$)")
_UNESCAPED = r"(?<!\\)[{}]"
_SPACED_BOX = re.compile(r"\\boxed\s+\{")
_ONLY_LETTER = re.compile(
    r"[\s*$]{0,9}(?:\\text(?:bf)?\{)?\(?[A-J](?:[\s*$().:}]{0,9}$"
    r"|[).:] (?!.*(?:\b[A-J][).:]|\b(?:not|wrong|incorrect|false|neither)\b)).{1,200}$)"
)
"""A text that is a letter, or a line that begins with one as choices do."""
_BARE_BOX = re.compile(
    r"\\boxed\s*(-?(?:[0-9][0-9.,]*[0-9]|[0-9])(?:/[0-9]+)?|-?\\[A-Za-z]+(?:\{[^{}]{0,200}\}){0,2}|[A-Za-z](?![A-Za-z]))"
)
SEARCHED_CHARS = 20_000
"""How much of a text's end math-verify searches for an answer."""


def extract_answer(text: str, options: MathOptions | None = None) -> str | None:
    """The answer's own text, or None where there is none; several boxes under `last_box="all"` are joined by commas."""
    options = options or MathOptions()
    visible = after_thinking(text, options)
    if visible is None:
        return None
    frames = _FRAMES if options.plain_answer or options.multiple_choice else (_BOX,)
    found = _all_boxes(visible, frames) if options.last_box == "all" else last_box(visible, frames)
    if found is None and not options.boxed_only and not _has_frame(visible, (*frames, "\\boxed")):
        found = tagged(visible)
    if found is None and options.plain_answer and not _has_frame(visible, frames):
        found = plain_answer(visible)
    if options.multiple_choice:
        alone = visible if _ONLY_LETTER.match(visible) else ""
        found = choice_letter(found if found is not None else (plain_answer(visible) or alone)) or found
    return found


def searchable(text: str, options: MathOptions) -> str:
    """The end of a text without an answer of its own that math-verify may search, as math_with_judge does; empty where
    it may not: a box that is unclosed or blank is where the answer would have been."""
    visible = after_thinking(text, options)
    if visible is None or options.boxed_only or options.multiple_choice or "\\boxed" in visible:
        return ""
    return visible.strip()[-SEARCHED_CHARS:]


def last_box(text: str, frames: tuple[str, ...] = (_BOX,)) -> str | None:
    """What the last frame holds, braces matched; None where it is missing, unclosed or blank. `\\boxed 42` holds 42."""
    text = _SPACED_BOX.sub(_opened, text)
    start, frame = max(((text.rfind(frame), frame) for frame in frames), key=lambda found: found[0])
    bare = _BARE_BOX.match(text, at) if (at := text.rfind("\\boxed")) > start else None
    if bare:
        return bare.group(1)
    if start < 0:
        return None
    at = start + len(frame)
    end = _closing(text, at) or _closing(text, at, _UNESCAPED)  # `\\left\\{ ... \\right.`
    inner = text[start + len(frame) : end].strip() if end is not None else ""
    return inner or None


def plain_gold(text: str) -> str:
    """A gold as data sets write it: delimiters stripped, GSM8K's `####` tail taken, a box around all of it opened."""
    text = strip_delimiters(text)
    if "####" in text:
        text = text.rpartition("####")[2].strip()
    box = last_box(text)
    if box is not None and text.startswith(_BOX) and _closing(text, len(_BOX)) == len(text.rstrip(" .")) - 1:
        return strip_delimiters(box)
    return text


def choice_letter(text: str) -> str | None:
    """The letter that a multiple choice answer names, in upper case: `B`, `(B)`, `\\text{(B) }42`, `B. Paris`."""
    text = text.strip().strip("$*").strip()
    for wrapper in ("\\textbf{", "\\text{", "\\mathrm{", "\\mathbf{", "\\boxed{"):
        text = text.removeprefix(wrapper)
    bare = text.replace("}", " ", 4).strip()
    found = _LETTER.match(bare)
    if not found or _ANOTHER.search(bare[found.end() :][:_LINE_CHARS]):
        return None  # two letters are no choice
    return found.group(1).upper()


def after_thinking(text: str, options: MathOptions) -> str | None:
    """The text that may hold the answer, or None where the thinking never ended."""
    if not options.drop_thinking:
        return text
    text = text.rpartition("</think>")[2]
    if "<think>" in text and not options.open_think_is_answer:
        return None
    return text


def _opened(_found: re.Match[str]) -> str:
    return _BOX


def _has_frame(text: str, frames: tuple[str, ...]) -> bool:
    return any(frame in text for frame in frames)


def _all_boxes(text: str, frames: tuple[str, ...]) -> str | None:
    """Every closed box from left to right; a box inside another is part of it. One pass over the text."""
    found: list[str] = []
    at = 0
    while True:
        starts = [(text.find(frame, at), frame) for frame in frames]
        starts = [start for start in starts if start[0] >= 0]
        if not starts:
            break
        start, frame = min(starts)
        end = _closing(text, start + len(frame))
        if end is None:
            break
        if inner := text[start + len(frame) : end].strip():
            found.append(inner)
        at = end
    return ", ".join(found) or None


def _closing(text: str, start: int, braces: str = "[{}]") -> int | None:
    """Where the brace that is open before `start` closes. Escaped braces are counted too, as math_with_judge does."""
    depth = 1
    for brace in re.finditer(braces, text[start:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return start + brace.start()
    return None
