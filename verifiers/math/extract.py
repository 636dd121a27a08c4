"""The final answer in a response text. Linear in the text's length: string methods and anchored patterns only.

The last box (`boxes.last_box`). Where there is none, math-verify may search the text (`searchable`).
"""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.boxes import BOX, all_boxes, boxes_of_parts, closing, last_box
from sandbox_gym.verifiers.math.options import MathOptions
from sandbox_gym.verifiers.math.plain import plain_answer, strip_delimiters, tagged

_FRAMES = (BOX, "\\fbox{")
_LINE_CHARS = 2000
_LETTER = re.compile(r"\(?\s*([A-Za-z])\s*(?:[).:]|$)")
_ANOTHER = re.compile(r"\([A-Za-z]\)|^[\s,.:)]*(?:(?:and|or|&|/)\s*)?\(?[A-Z](?:[\s).:,]|$)")
_ONLY_LETTER = re.compile(
    r"[\s*$]{0,9}(?:\\text(?:bf)?\{)?\(?[A-J](?:[\s*$().:}]{0,9}$"
    r"|[).:] (?!.*(?:\b[A-J][).:]|\b(?:not|wrong|incorrect|false|neither)\b)).{1,200}$)"
)
"""A text that is a letter, or a line that begins with one as choices do."""
SEARCHED_CHARS = 20_000
"""How much of a text's end math-verify searches for an answer."""


def extract_answer(text: str, options: MathOptions | None = None) -> str | None:
    """The answer's own text, or None where there is none; several boxes under `last_box="all"` are joined by commas."""
    options = options or MathOptions()
    visible = after_thinking(text, options)
    if visible is None:
        return None
    frames = _FRAMES if options.plain_answer or options.multiple_choice else (BOX,)
    found = (", ".join(all_boxes(visible, frames)) or None) if options.last_box == "all" else last_box(visible, frames)
    if found is None and not options.boxed_only and not _has_frame(visible, (*frames, "\\boxed")):
        found = tagged(visible)
    if found is None and options.plain_answer and not _has_frame(visible, frames):
        found = plain_answer(visible)
    if options.multiple_choice:
        alone = visible if _ONLY_LETTER.match(visible) else ""
        found = choice_letter(found if found is not None else (plain_answer(visible) or alone)) or found
    return found


def answer_of_parts(text: str, options: MathOptions) -> str | None:
    """What the boxes of a text's parts hold, as a list; None where they are in no parts."""
    visible = after_thinking(text, options)
    found = boxes_of_parts(visible) if visible is not None and options.last_box == "last" else []
    return ", ".join(found) or None


def searchable(text: str, options: MathOptions) -> str:
    """The end of a text without an answer of its own that math-verify may search, as math_with_judge does; empty where
    it may not: a box that is unclosed or blank is where the answer would have been."""
    visible = after_thinking(text, options)
    if visible is None or options.boxed_only or options.multiple_choice or "\\boxed" in visible:
        return ""
    return visible.strip()[-SEARCHED_CHARS:]


def plain_gold(text: str) -> str:
    """A gold as data sets write it: delimiters stripped, GSM8K's `####` tail taken, a box around all of it opened."""
    text = strip_delimiters(text)
    if "####" in text:
        text = text.rpartition("####")[2].strip()
    box = last_box(text)
    if box is not None and text.startswith(BOX) and closing(text, len(BOX)) == len(text.rstrip(" .")) - 1:
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


def _has_frame(text: str, frames: tuple[str, ...]) -> bool:
    return any(frame in text for frame in frames)
