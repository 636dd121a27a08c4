"""Extracts the code from a model's answer: the last fenced block that says the language, else the last one without a
tag, else the last one, else the whole text. A block without a tag behind the code is what the program prints, and one
that prints nothing is no program.

Linear in the answer's length for any input: lines are parsed by string methods and a pattern without choices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.languages import PYTHON, Language

_BLANKS = " \t"
_ATTACHED = ",:;{"
_TRIPLE = re.compile("\"\"\"|'''")
_QUOTED = "\n> ```"
_INVISIBLE = re.compile("^[\ufeff\u200b\u2060]+|(?<![\ufeff\u200b\u2060])[\ufeff\u200b\u2060]+$", re.M)
"""Marks that a model, or what it was copied through, leaves where a line begins or ends."""
_DOCUMENTS = ("markdown", "md")
_PRINTS = re.compile(r"print|writ|out|put|echo|log|say|disp|show|exec|eval|main|import|include|open|emit", re.I)
"""In each language's way to print, or to leave that to something else."""
_SHOWN = ("#", "//", "--", ">>>", "$ ")
"""Lines of comments, of a dialogue with an interpreter or with a shell."""
_AROUND_CODE = ("answer", "solution", "code", "python")
_BRACKETS = (("[PYTHON]", "[/PYTHON]"), ("[BEGIN]", "[DONE]"))
"""Code Llama's, and those of MBPP's prompt, which has the opening one itself; a base model goes on behind the other."""
_REASONING_ENDS = ("</think>", "[/THINK]", "</seed:think>", "<|channel|>final<|message|>")
_ENDS = ("</s>", "<eos>", "<end_of_turn>", "<\uff5cend\u2581of\u2581sentence\uff5c>")
_LONGEST_TOKEN = 40
_DEEPEST = 3
"""How much further in than its opening fence a closing one may stand: others are an answer's own, in its docstrings."""


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


def extract_code(text: str, language: Language = PYTHON, names: Sequence[str] = ()) -> str | None:
    """The answer's program, or None. Text before the last end of reasoning is not the answer. Without a fence it is the
    whole text; its first line keeps its indentation, which a completion needs. `names`: what is asked for; a block that
    defines one of them goes before those that only use it."""
    text = _without_end_tokens(_without_reasoning(text))
    if _QUOTED in f"\n{text}":
        text = "\n".join("" if line == ">" else line.removeprefix("> ") for line in text.split("\n"))
    return _extracted(text, language, names)


def defines(code: str, name: str) -> bool:
    """Whether a line defines the name: a function, a method, a class or a variable of the module."""
    name = re.escape(name)
    statement = rf"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b"
    return re.search(rf"{statement}|^{name}[ \t]*(?::[^=\n]+)?=(?!=)", code, re.M) is not None


def _extracted(text: str, language: Language, names: Sequence[str], within: bool = False) -> str | None:
    """`within`: the text stood in a block of its own."""
    tags = {*language.tags, *language.fences}
    closed, unclosed = _blocks(text, tags, quotes=language.forks)
    ends = [unclosed] if unclosed else []
    for blocks, named in ((closed, tags), (ends, tags), (closed, {""}), (closed, None), (ends, None)):
        some = [block for block in blocks if named is None or block.fence.tag in named]
        some = [block for block in some if block.body().strip()]
        if some and some[-1].fence.tag in _DOCUMENTS and not within:
            return _extracted(some[-1].body(), language, names, within=True)
        if some:
            body = _asked_for([block.body() for block in some], names)
            return body if blocks is closed else body.rstrip().removesuffix("```")
    if closed or ends:
        return None
    for tag in _AROUND_CODE:
        if f"<{tag}>" in text and f"</{tag}>" in text:
            text = text.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    for opening, closing in _BRACKETS:
        if closing in text:
            text = text.partition(closing)[0].rpartition(opening)[2]
    whole = text.rstrip()
    first = len(whole) - len(whole.lstrip())
    return whole[whole.rfind("\n", 0, first) + 1 :] or None


def _asked_for(bodies: Sequence[str], names: Sequence[str]) -> str:
    """The last one that defines what is asked for, or may print where a program is: behind it an answer shows how to
    use it, a step of it, what it prints. One that is indented goes on with its prompt."""
    if len(bodies) > 1 and bodies[-1][:1] not in (" ", "\t"):
        asked = [body for body in bodies if any(defines(body, name) for name in names)]
        bodies = asked or [body for body in bodies if names or _may_print(body)] or bodies
    return bodies[-1]


def _may_print(body: str) -> bool:
    lines = [line for line in body.split("\n") if line.strip()]
    return not lines[0].lstrip().startswith(">>>") and any(
        _PRINTS.search(line) for line in lines if not line.lstrip().startswith(_SHOWN) or line.startswith("#include")
    )


def _without_reasoning(text: str) -> str:
    for end in _REASONING_ENDS:
        text = text.rpartition(end)[2]
    return _INVISIBLE.sub("", text.replace("\r\n", "\n"))


def _without_end_tokens(text: str) -> str:
    """The text less what a model ends it with and a server did not take off: `<|im_end|>`."""
    for _ in range(4):
        bare = text.rstrip()
        start = bare.rfind("<|", -_LONGEST_TOKEN) if bare.endswith("|>") else -1
        end = next((end for end in _ENDS if bare.endswith(end)), "")
        if start < 0 and not end:
            break
        text = bare[:start] if start >= 0 else bare.removesuffix(end)
    return text


def blocks_of(text: str, language: Language) -> list[tuple[str, str]]:
    """(text after the opening marks, body) of every fenced block after the last end of reasoning."""
    closed, _ = _blocks(_without_reasoning(text), {*language.tags, *language.fences})
    return [(block.fence.info, block.body()) for block in closed]


def fenced(code: str, language: Language = PYTHON) -> str:
    """An answer text from which exactly this code is extracted. Raises RequestError where there is none."""
    for fence in ("```", "~" * 40):
        text = f"{fence}{language.name}\n{code}\n{fence}"
        if (extract_code(text, language) or "").strip() == code.strip():
            return text
    raise RequestError(
        "code", "can't be told from the text around it", "send code without ends of reasoning, such as </think>"
    )


def _dedented(line: str, indent: int) -> str:
    blanks = len(line) - len(line.lstrip(_BLANKS))
    return line[min(indent, blanks) :]


def _blocks(text: str, tags: set[str], quotes: bool = False) -> tuple[list[_Block], _Block | None]:
    """The closed blocks, and a last one that is never closed. `quotes`: no fence between Python's triple quotes
    closes a block."""
    if quotes and _TRIPLE.search(text):
        closed, unclosed = _read(text, tags, _DEEPEST, quotes)
        if unclosed is None:
            return closed, None
    closed, unclosed = _read(text, tags, _DEEPEST)
    return _read(text, tags, len(text)) if unclosed else (closed, None)


def _read(text: str, tags: set[str], deepest: int, quotes: bool = False) -> tuple[list[_Block], _Block | None]:
    """The blocks where a closing fence may stand so much further in. A fence with the language's tag at an open block's
    own indentation starts a new block: the model abandoned the draft before it."""
    quoted = ""
    closed: list[_Block] = []
    opened: _Block | None = None
    for line in text.split("\n"):
        fence = _fence(line)
        if opened is None:
            fence = fence or _fence_after_text(line, tags)
            opened = _Block(fence) if fence else None
        elif fence and not quoted and _closes(fence, opened.fence, deepest):
            closed.append(opened)
            opened = None
        elif fence and fence.tag in tags and (fence.marks, fence.indent) == (opened.fence.marks, opened.fence.indent):
            opened = _Block(fence)
        else:
            opened.lines.append(line)
            quoted = _quoted_after(line, quoted) if quotes else ""
            continue
        quoted = ""
    return closed, opened


def _quoted_after(line: str, quoted: str) -> str:
    """The triple quotes that are open after a line; `quoted`: before it."""
    for mark in _TRIPLE.findall(line):
        quoted = mark if not quoted else "" if mark == quoted else quoted
    return quoted


def _closes(fence: _Fence, opening: _Fence, deepest: int) -> bool:
    """A sentence behind the marks is no tag, nor is the end of an element (`</answer>`)."""
    same = fence.marks[0] == opening.marks[0] and len(fence.marks) >= len(opening.marks)
    bare = not fence.info or fence.info.endswith((".", ":", "!")) or fence.info.startswith("</")
    return same and bare and fence.indent - opening.indent <= deepest


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
    for attached in _ATTACHED:
        tag = tag.partition(attached)[0]
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
