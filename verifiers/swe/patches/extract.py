"""The patch in a model's answer: a fenced diff, a tag's content, or a raw diff; the last one is what the model meant.
Fences that each have files of their own are one patch.

Linear in the answer's length: lines are taken apart by string methods. A line of a diff begins with a mark, so a fence
or tag inside the patched file never ends the block that the diff is in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sandbox_gym.verifiers.swe.patches.diff import MAX_BYTES, read_patch

_TAGS = ("patch", "solution", "diff", "model_patch", "answer")
_HEADERS = ("diff --git ", "--- ", "+++ ", "@@ -")
_MARKS = ("+", "-", " ", "\\")
_MAX_NESTING = 2
_MAX_PARTS = 50
_MAX_REPAIR = 3
"""Blank context lines at the end that may have been lost with the white space there."""

Source = Literal["fence", "tag", "raw"]


@dataclass(frozen=True, slots=True)
class ExtractedPatch:
    """A patch as it goes to `git apply`: newline at its end, no prose after it."""

    text: str
    source: Source
    candidates: int
    """How many patches the answer has; this is the last one, or all of them."""


@dataclass(slots=True)
class _Block:
    source: Source
    end: str = ""
    """A fence's marks or a tag's name."""
    indent: int = 0
    lines: list[str] = field(default_factory=list)
    closed: bool = False

    def take(self, line: str) -> None:
        """One more line, which may be the last."""
        if self.source == "fence" and _indent(line) == self.indent:
            bare = line.strip()
            self.closed = bare.startswith(self.end) and not bare.strip(self.end[0])
        elif self.source == "tag" and line[:1] not in _MARKS and line.rstrip().endswith(f"</{self.end}>"):
            self.closed = True
            self.lines.append(line.rstrip()[: -len(self.end) - 3])
        if not self.closed:
            self.lines.append(line[self.indent :] if line[: self.indent].isspace() else line)


def extract_patch(text: str) -> ExtractedPatch | None:
    """The answer's patch, or None where it has none. What stands before the last `</think>` is not the answer."""
    found = _candidates(text.rpartition("</think>")[2].split("\n"))
    if not found:
        return None
    texts = [_repaired(_unix("\n".join(block.lines))) for block in found]
    return ExtractedPatch("".join(texts if _parts(found, texts) else texts[-1:]), found[-1].source, len(found))


def normalised(patch: str) -> str:
    """A patch that came without text around it, as a tool's submission or `model_patch` does."""
    return _repaired(_unix(patch)) if patch.strip() else ""


def _parts(blocks: list[_Block], texts: list[str]) -> bool:
    """Whether several fences are the parts of one patch: well-formed, and no file in two of them."""
    if len(blocks) > _MAX_PARTS or any(block.source != "fence" for block in blocks):
        return False
    readings = [read_patch(text.encode("utf-8", "surrogatepass")) for text in texts]
    paths = [path for reading in readings for path in reading.paths]
    return len(paths) == len(set(paths)) and not any(reading.damage or reading.problem for reading in readings)


def _candidates(lines: list[str], depth: int = 0) -> list[_Block]:
    found: list[_Block] = []
    opened: _Block | None = None
    for number, line in enumerate(lines):
        begun = _opening(line, in_raw=opened is not None) if opened is None or opened.source == "raw" else None
        if begun is None and opened is None and _is_header(lines[number : number + 3]):
            begun = _Block("raw", lines=[line])
        if begun is not None:
            found.append(begun)
            opened = None if begun.closed else begun
        elif opened is not None:
            opened.take(line)
            opened = None if opened.closed else opened
    return [block for block in (_unwrapped(block, depth) for block in found) if _is_diff(block.lines)]


def _opening(line: str, *, in_raw: bool) -> _Block | None:
    """The block that a line opens. Every line of a raw diff has a mark, or is one of its headers."""
    if in_raw and line[:1] in _MARKS:
        return None
    bare = line.strip()
    if bare.startswith(("```", "~~~")):
        info = bare.lstrip(bare[0])
        if "`" not in info:
            return _Block("fence", bare[0] * (len(bare) - len(info)), _indent(line))
    for tag in _TAGS:
        mark = f"<{tag}>"
        if bare.startswith(mark) or bare.endswith(mark):
            inner, closing, _ = line.partition(mark)[2].partition(f"</{tag}>")
            return _Block("tag", tag, lines=[inner] if inner.strip() else [], closed=bool(closing))
    if not in_raw and line.startswith("diff --git "):
        return _Block("raw", lines=[line])
    return None


def _is_header(lines: list[str]) -> bool:
    """Whether a file of a diff begins there that diff(1) made."""
    marks = ("--- ", "+++ ", "@@ -")
    return len(lines) == len(marks) and all(map(str.startswith, lines, marks))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _unwrapped(block: _Block, depth: int) -> _Block:
    """What is inside, for a fence in a tag or a tag in a fence, and for a tag that prose named and nothing closed."""
    first = next((line.lstrip() for line in block.lines if line.strip()), "")
    wrapped = first.startswith(("```", "~~~", *(f"<{tag}>" for tag in _TAGS)))
    unclosed = block.source == "tag" and not block.closed
    if unclosed:
        block.lines = _before_glued_end(block.lines, f"</{block.end}>")
    if block.source == "raw" or depth >= _MAX_NESTING or not (wrapped or unclosed):
        return block
    inner = _candidates(block.lines, depth + 1)
    return _Block(block.source, lines=inner[-1].lines) if inner else block


def _before_glued_end(lines: list[str], tag: str) -> list[str]:
    """Up to the last line that ends with the closing tag behind a line of the patch, as `+x = 2</patch>`."""
    for index in range(len(lines) - 1, -1, -1):
        if lines[index].rstrip().endswith(tag):
            return [*lines[:index], lines[index].rstrip()[: -len(tag)]]
    return lines


def _is_diff(lines: list[str]) -> bool:
    for index, line in enumerate(lines):
        if line.startswith("diff --git "):
            return True
        if line.startswith("--- ") and index + 1 < len(lines) and lines[index + 1].startswith("+++ "):
            return True
    return False


def _unix(patch: str) -> str:
    """Without the carriage returns that a transport put on every line. Those of the patched files stay: there the
    headers have none."""
    headers = [line for line in patch.split("\n") if line.startswith(_HEADERS)]
    if headers and all(line.endswith("\r") for line in headers):
        return patch.replace("\r\n", "\n").removesuffix("\r")
    return patch


def _repaired(patch: str) -> str:
    """From the first header to the last line of the last hunk, with a newline at the end."""
    patch = patch if patch.endswith("\n") else patch + "\n"
    data = patch.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        return patch
    reading = read_patch(data)
    if not reading.changes:
        return patch
    if 0 < reading.missing_lines <= _MAX_REPAIR:
        return patch + " \n" * reading.missing_lines
    if any(change.binary for change in reading.changes):
        return patch.rstrip("\n") + "\n\n"  # a blank line ends such data
    if reading.damage:
        return patch
    return data[: reading.end].decode("utf-8", "surrogatepass")
