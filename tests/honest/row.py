"""A row of function tests with answers whose worth is known, and the text form that rows are written in.

A file holds blocks: a line `=== name key=value ...` begins one, a line `--- part` begins one of its parts. Nothing is
escaped. A row's parts are its fields (`prompt`, `test`, `test_list` ...) and its answers (`right` and `wrong`, which
may come several times); `entry=name` gives its entry point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).with_name("rows")
_ANSWERS: Final = ("right", "wrong")
_LISTS: Final = ("test_list", "challenge_test_list", "test_imports")


@dataclass(frozen=True, slots=True)
class Row:
    """`fields` is the row's verifier_metadata."""

    name: str
    fields: Mapping[str, object]
    right: tuple[str, ...]
    wrong: tuple[str, ...]

    def cases(self) -> Iterator[Case]:
        for passes, answers in ((True, self.right), (False, self.wrong)):
            for number, answer in enumerate(answers, 1):
                yield Case(f"{self.name}/{'right' if passes else 'wrong'}{number}", self, answer, passes)

    def field(self, name: str) -> str:
        """A text field; empty where the row has none."""
        return str(self.fields.get(name, ""))


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to one row. `passes`: what plain CPython says, as the row claims it."""

    name: str
    row: Row
    answer: str
    passes: bool


@dataclass(frozen=True, slots=True)
class Block:
    """`parts`: title and content of each, in order."""

    name: str
    options: Mapping[str, str]
    parts: tuple[tuple[str, str], ...]

    def all(self, title: str) -> tuple[str, ...]:
        return tuple(content for name, content in self.parts if name == title)

    def part(self, title: str) -> str:
        """The part of this title; empty where there is none. Raises ValueError where there are several."""
        found = self.all(title)
        if len(found) > 1:
            raise ValueError(f"{self.name} has {title} twice")
        return found[0] if found else ""


def read_blocks(file: Path) -> list[Block]:
    """The blocks of a file, in its order."""
    _, *blocks = f"\n{file.read_text('utf-8')}".split("\n=== ")
    return [_block(text) for text in blocks]


def _block(text: str) -> Block:
    header, _, body = text.partition("\n")
    name, *options = header.split()
    _, *parts = f"\n{body}".split("\n--- ")
    titled = [part.partition("\n") for part in parts]
    pairs = tuple((title.strip(), content.strip("\n") + "\n") for title, _, content in titled)
    return Block(name, dict(option.split("=", 1) for option in options), pairs)


def written_rows(folder: Path = FOLDER) -> list[Row]:
    """All hand-written rows, by file name and in the files' order. Raises ValueError for a row that is not whole."""
    rows = [_row(file.stem, block) for file in sorted(folder.glob("*.txt")) for block in read_blocks(file)]
    names = [row.name for row in rows]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two rows have the same name: {', '.join(sorted(twice))}")
    return rows


def _row(stem: str, block: Block) -> Row:
    name = f"{stem}/{block.name}"
    fields: dict[str, object] = {"entry_point" if key == "entry" else key: text for key, text in block.options.items()}
    for title, _ in block.parts:
        if title not in _ANSWERS:
            content = block.part(title)
            fields[title] = statements(content) if title in _LISTS else content
    right, wrong = block.all("right"), block.all("wrong")
    if not right or not wrong or not {"test", "test_list"} & set(fields):
        raise ValueError(f"{name} lacks a test, a right answer or a wrong one")
    return Row(name, fields, right, wrong)


def statements(content: str) -> list[str]:
    """One statement for each line that is not indented."""
    found: list[str] = []
    for line in content.rstrip().split("\n"):
        if line.startswith((" ", ")", "]", "}")) and found:
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found
