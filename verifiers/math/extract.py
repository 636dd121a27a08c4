"""The final answer in a response text. Linear in the text's length: string methods and anchored patterns only.

By default this is math_with_judge's gate: the last `\\boxed{`, its braces matched; missing, unclosed or blank is none.
"""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.options import MathOptions

_BOX = "\\boxed{"
_FRAMES = ("\\boxed{", "\\fbox{")
_LINE_CHARS = 2000
_ANCHORS = ("final answer", "the answer is", "answer is", "answer:", "answer =", "answer")
_AFTER_ANCHOR = re.compile(r"(?:\*\*|__)?\s*(?:is|are|=)?\s*:?\s*(?:\*\*|__)?\s*")
_LETTER = re.compile(r"\(?\s*([A-Za-z])\s*(?:[).:]|$)")
_ANOTHER = re.compile(r"\([A-Za-z]\)|^[\s,.:)]*(?:(?:and|or|&|/)\s*)?\(?[A-Z](?:[\s).:,]|$)")
_BOLD = re.compile(r"\*\*([^*\n]{1,500})\*\*")


def extract_answer(text: str, options: MathOptions | None = None) -> str | None:
    """The answer's own text, or None where there is none; several boxes under `last_box="all"` are joined by commas."""
    options = options or MathOptions()
    visible = _after_thinking(text, options)
    if visible is None:
        return None
    frames = _FRAMES if options.plain_answer or options.multiple_choice else (_BOX,)
    found = _all_boxes(visible, frames) if options.last_box == "all" else last_box(visible, frames)
    if found is None and options.plain_answer and not _has_frame(visible, frames):
        found = plain_answer(visible)
    if options.multiple_choice:
        found = choice_letter(found if found is not None else (plain_answer(visible) or "")) or found
    return found


def last_box(text: str, frames: tuple[str, ...] = (_BOX,)) -> str | None:
    """What the last frame holds, braces matched; None where it is missing, unclosed or blank."""
    start, frame = max(((text.rfind(frame), frame) for frame in frames), key=lambda found: found[0])
    if start < 0:
        return None
    end = _closing(text, start + len(frame))
    inner = text[start + len(frame) : end].strip() if end is not None else ""
    return inner or None


def strip_delimiters(text: str) -> str:
    """A gold without its one outer pair of `$`, `$$`, `\\(` `\\)` or `\\[` `\\]`."""
    text = text.strip()
    for opening, closing in (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")):
        inner = text[len(opening) : len(text) - len(closing)]
        whole = len(text) > len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing)
        if whole and "$" not in inner.replace("\\$", "") and closing not in inner and not inner.endswith("\\"):
            return inner.strip()
    return text


def plain_gold(text: str) -> str:
    """A gold as data sets write it: delimiters stripped, GSM8K's `####` tail taken, a box around all of it opened."""
    text = strip_delimiters(text)
    if "####" in text:
        text = text.rpartition("####")[2].strip()
    box = last_box(text)
    if box is not None and text.startswith(_BOX) and _closing(text, len(_BOX)) == len(text.rstrip(" .")) - 1:
        return strip_delimiters(box)
    return text


def plain_answer(text: str) -> str | None:
    """The answer where nothing is boxed: the last `####`, the last "answer is X" line, the last bold text, or a short
    last line that ends in math."""
    if "####" in text:
        return _line(text.rpartition("####")[2]) or None
    lowered = text.lower() if text.isascii() else "".join(c.lower() if c.isascii() else c for c in text)
    for anchor in _ANCHORS:
        at = lowered.rfind(anchor)
        if at >= 0:
            rest = text[at + len(anchor) : at + len(anchor) + _LINE_CHARS]
            after = _AFTER_ANCHOR.match(rest)
            found = _line(rest[after.end() if after else 0 :])
            if found:
                return found
    bold = _BOLD.findall(text[-_LINE_CHARS:])
    return _line(bold[-1]) or None if bold else None


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


def _line(text: str) -> str:
    """The first line that says something, without bold marks, math delimiters and the sentence's own full stop."""
    first = text.strip().split("\n", 1)[0][:_LINE_CHARS].strip()
    for mark in ("I hope", "**"):
        first = first.partition(mark)[0] if not first.startswith(mark) else first[len(mark) :].partition(mark)[0]
    first = first.strip().rstrip(".").rstrip("*_").strip()
    return strip_delimiters(first).rstrip(".").strip()


def _after_thinking(text: str, options: MathOptions) -> str | None:
    """The text that may hold the answer, or None where the thinking never ended."""
    if not options.drop_thinking:
        return text
    text = text.rpartition("</think>")[2]
    if "<think>" in text and not options.open_think_is_answer:
        return None
    return text


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


def _closing(text: str, start: int) -> int | None:
    """Where the brace that is open before `start` closes. Escaped braces are counted too, as math_with_judge does."""
    depth = 1
    for brace in re.finditer("[{}]", text[start:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return start + brace.start()
    return None
