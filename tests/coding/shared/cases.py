"""Programs that leave something behind between tests: written out, or made of what to look at and what to leave.

A way in process.txt, library.txt or depths.txt has a `setup`, a `look` whose value an earlier test may have changed,
and a `leave` that changes it. SHAPES makes programs of it, each of which must see what a new interpreter sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent
from typing import Final

HERE: Final = Path(__file__).parent
INPUTS: Final = tuple(f"{n}\n{n} {n + 1} {n + 2}\n".encode() for n in (1, 2, 3))


@dataclass(frozen=True)
class Case:
    name: str
    files: Mapping[str, bytes]


def cases() -> list[Case]:
    """Every program."""
    return [
        *_programs(),
        *_folders(),
        *(case for file in ("process.txt", "library.txt", "depths.txt") for case in _ways(file)),
    ]


def _blocks(file: str) -> Iterator[tuple[str, str]]:
    """(name, text) of each block of a file."""
    for block in (HERE / file).read_text(encoding="utf-8").split("=== ")[1:]:
        name, _newline, text = block.partition("\n")
        yield name, text


def _programs() -> Iterator[Case]:
    for name, text in _blocks("programs.txt"):
        yield Case(name, {"main.py": text.encode()})


def _folders() -> Iterator[Case]:
    for name, text in _blocks("folders.txt"):
        files = dict(one.split("\n", 1) for one in text.split("--- ")[1:])
        yield Case(name, {path: content.encode() for path, content in files.items()})


def _ways(file: str) -> Iterator[Case]:
    for name, text in _blocks(file):
        before, _leave, leave = text.partition("leave:")
        setup, look = (line.partition(": ")[2] for line in before.splitlines())
        for shape, template in SHAPES.items():
            yield Case(f"{name} ({shape})", {"main.py": _filled(template, setup, look, dedent(leave.lstrip(" ")))})


def _filled(template: str, setup: str, look: str, leave: str) -> bytes:
    lines = []
    for line in template.splitlines():
        text = line.replace("SETUP", setup).replace("LOOK", look)
        margin = line[: len(line) - len(line.lstrip())]
        lines.append(indent(dedent(leave).strip("\n"), margin) if line.strip() == "LEAVE" else text)
    return "\n".join([*lines, ""]).encode()


SHAPES: Final = {
    "plain": """\
SETUP
n = int(input())
print(n, LOOK)
LEAVE
""",
    "in a function": """\
import sys
SETUP
def main():
    n = int(sys.stdin.readline())
    print(n, LOOK)
    LEAVE
if __name__ == '__main__':
    main()
""",
    "for one input": """\
import sys
SETUP
n = int(sys.stdin.buffer.readline())
print(LOOK, n)
if n == 1:
    LEAVE
""",
}
