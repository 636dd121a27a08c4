"""A row of function tests with answers whose worth is known, and the text form that rows are written in.

A file holds rows: a line `=== name entry=function key=value ...` begins one, a line `--- part` begins one of its parts
(`prompt`, `test`, `test_list`, `right`, `wrong` ...); `right` and `wrong` are answers and may come several times. Nothing
is escaped.
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


def written_rows(folder: Path = FOLDER) -> list[Row]:
    """All hand-written rows, by file name and in the files' order. Raises ValueError for a row that is not whole."""
    rows = [row for file in sorted(folder.glob("*.txt")) for row in _rows(file.stem, file.read_text("utf-8"))]
    names = [row.name for row in rows]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two rows have the same name: {', '.join(sorted(twice))}")
    return rows


def _rows(stem: str, text: str) -> Iterator[Row]:
    _, *blocks = f"\n{text}".split("\n=== ")
    for block in blocks:
        header, _, body = block.partition("\n")
        name, *options = header.split()
        yield _row(f"{stem}/{name}", dict(option.split("=", 1) for option in options), body)


def _row(name: str, options: dict[str, str], body: str) -> Row:
    fields: dict[str, object] = {"entry_point" if key == "entry" else key: value for key, value in options.items()}
    answers: dict[str, list[str]] = {kind: [] for kind in _ANSWERS}
    _, *parts = f"\n{body}".split("\n--- ")
    for part in parts:
        title, _, content = part.partition("\n")
        title, content = title.strip(), content.strip("\n") + "\n"
        if title in answers:
            answers[title].append(content)
        elif title in fields:
            raise ValueError(f"{name} has {title} twice")
        else:
            fields[title] = _statements(content) if title in _LISTS else content
    if not answers["right"] or not answers["wrong"] or not {"test", "test_list"} & set(fields):
        raise ValueError(f"{name} lacks a test, a right answer or a wrong one")
    return Row(name, fields, tuple(answers["right"]), tuple(answers["wrong"]))


def _statements(content: str) -> list[str]:
    """One statement for each line that is not indented."""
    found: list[str] = []
    for line in content.rstrip().split("\n"):
        if line.startswith((" ", ")", "]", "}")) and found:
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found
