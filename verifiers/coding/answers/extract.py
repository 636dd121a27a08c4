"""Extracts the code from a model's answer: the last fenced block that says the language, else the last one without a
tag, else the last one, else the whole text. A block without a tag behind the code is what the program prints.

Linear in the answer's length for any input: lines are parsed by string methods, not by patterns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.languages import PYTHON, Language

_BLANKS = " \t"
_ATTACHED = ",:;{"


@dataclass(frozen=True, slots=True)
class _Fence:
    """A fence line: its marks, its tag in lower case less what is attached to it (`rust,ignore`, `cpp:main.cpp`), and
    the number of blanks before it."""

    marks: str
    tag: str
    indent: int
    info: str = ""
    """All that stands behind the marks."""


@dataclass(slots=True)
class _Block:
    fence: _Fence
    lines: list[str] = field(default_factory=list)

    def body(self) -> str:
        """The lines, less the opening fence's own indentation (a fence in a list is indented with its code)."""
        return "\n".join(_dedented(line, self.fence.indent) for line in self.lines)


def extract_code(text: str, language: Language = PYTHON) -> str | None:
    """The answer's program, or None. Text before the last `</think>` is not the answer. Without a fence it is the whole
    text; its first line keeps its indentation, which a completion needs."""
    text = text.rpartition("</think>")[2].replace("\r\n", "\n")
    tags = {*language.tags, *language.fences}
    closed, unclosed = _blocks(text, tags)
    wanted = [block for block in closed if block.fence.tag in tags]
    if not wanted and (unclosed is None or unclosed.fence.tag not in tags):
        wanted = [block for block in closed if not block.fence.tag] or closed
    if wanted:
        return _unless_blank(wanted[-1].body())
    if unclosed is not None:
        return _unless_blank(unclosed.body())
    whole = text.rstrip()
    first = len(whole) - len(whole.lstrip())
    return whole[whole.rfind("\n", 0, first) + 1 :] or None


def blocks_of(text: str, language: Language) -> list[tuple[str, str]]:
    """(text after the opening marks, body) of every fenced block after the last `</think>`."""
    text = text.rpartition("</think>")[2].replace("\r\n", "\n")
    closed, _ = _blocks(text, {*language.tags, *language.fences})
    return [(block.fence.info, block.body()) for block in closed]


def fenced(code: str, language: Language = PYTHON) -> str:
    """An answer text from which exactly this code is extracted. Raises RequestError where there is none."""
    for fence in ("```", "~" * 40):
        text = f"{fence}{language.name}\n{code}\n{fence}"
        if (extract_code(text, language) or "").strip() == code.strip():
            return text
    raise RequestError("code", "can't be told from the text around it", "send code without </think> tags")


def _unless_blank(code: str) -> str | None:
    return code if code.strip() else None


def _dedented(line: str, indent: int) -> str:
    blanks = len(line) - len(line.lstrip(_BLANKS))
    return line[min(indent, blanks) :]


def _blocks(text: str, tags: set[str]) -> tuple[list[_Block], _Block | None]:
    """The closed blocks, and a last one that is never closed. A fence with the language's tag at an open block's own
    indentation starts a new block: the model abandoned the draft before it."""
    closed: list[_Block] = []
    opened: _Block | None = None
    for line in text.split("\n"):
        fence = _fence(line)
        if opened is None:
            fence = fence or _fence_after_text(line, tags)
            opened = _Block(fence) if fence else None
        elif fence and not fence.info and _closes(fence, opened.fence):
            closed.append(opened)
            opened = None
        elif fence and fence.tag in tags and (fence.marks, fence.indent) == (opened.fence.marks, opened.fence.indent):
            opened = _Block(fence)
        else:
            opened.lines.append(line)
    return closed, opened


def _closes(fence: _Fence, opening: _Fence) -> bool:
    return fence.marks[0] == opening.marks[0] and len(fence.marks) >= len(opening.marks)


def _fence(line: str) -> _Fence | None:
    bare = line.lstrip(_BLANKS)
    mark = bare[:1]
    if mark not in ("`", "~"):
        return None
    info = bare.lstrip(mark)
    count = len(bare) - len(info)
    if count < 3 or "`" in info:
        return None
    words = info.split(None, 1)
    tag = words[0].lower().strip("{.}") if words else ""
    for mark in _ATTACHED:
        tag = tag.partition(mark)[0]
    return _Fence(mark * count, tag, len(line) - len(bare), info.strip())


def _fence_after_text(line: str, tags: set[str]) -> _Fence | None:
    """A fence after a sentence on the same line, as code_gen accepts it; only with the language's tag."""
    before, mark, tag = line.rpartition("```")
    tag = tag.strip().lower()
    return _Fence("```", tag, 0) if mark and tag in tags and not before.endswith("`") else None


def has_reasoning_format_violation(output_text: str, reasoning_texts: Iterable[str]) -> bool:
    """code_gen's rule: think tags in the final text, or more than one of a kind in the reasoning."""
    if "<think>" in output_text or "</think>" in output_text:
        return True
    reasoning = "".join(reasoning_texts)
    return reasoning.count("<think>") > 1 or reasoning.count("</think>") > 1
