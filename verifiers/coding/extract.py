"""The code in a model's answer, as the field takes it: the last fenced block of the language, or the whole text."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TAGS = {"python": {"python", "py", "python3", ""}}
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n`]*$")


def extract_code(text: str, language: str = "python") -> str | None:
    """The answer's program, or None. What stands before the last `</think>` is not the answer."""
    text = text.rpartition("</think>")[2].replace("\r\n", "\n")
    closed, unclosed = _blocks(text)
    tags = _TAGS.get(language, {language, ""})
    for blocks in ([body for tag, body in closed if tag.lower() in tags], [body for _, body in closed]):
        if blocks:
            return blocks[-1] if blocks[-1].strip() else None
    if unclosed is not None:
        return unclosed if unclosed.strip() else None
    whole = text.rstrip()
    lines = whole.split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    return "\n".join(lines) or None


def _blocks(text: str) -> tuple[list[tuple[str, str]], str | None]:
    """Closed blocks as (tag, body), and the body of a last block that never closes."""
    closed: list[tuple[str, str]] = []
    opened: tuple[str, str, list[str]] | None = None
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if opened is None:
            if fence:
                opened = (fence[1], fence[2], [])
        elif fence and not fence[2] and fence[1][0] == opened[0][0] and len(fence[1]) >= len(opened[0]):
            closed.append((opened[1], "\n".join(opened[2])))
            opened = None
        else:
            opened[2].append(line)
    return closed, "\n".join(opened[2]) if opened is not None else None


def has_reasoning_format_violation(output_text: str, reasoning_texts: Iterable[str]) -> bool:
    """code_gen's rule: think tags in the final text, or more than one of a kind in the reasoning."""
    if "<think>" in output_text or "</think>" in output_text:
        return True
    reasoning = "".join(reasoning_texts)
    return reasoning.count("<think>") > 1 or reasoning.count("</think>") > 1
