"""Commands out of the documentation, so that tests run what readers will.

A ```bash block has a mark in the line above it, an HTML comment that no reader sees:

- `run: KIND`: tests/docs/test_blocks.py runs it as it stands (`KINDS` there says how);
- `run by tests/...`: that file runs it, with names of its own swapped in;
- `as in docs/...`: a command of that page, which is run there;
- `not run: REASON`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_BLOCK: Final = re.compile(r"^(?:<!-- (.*?) -->\n)?```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One ```bash block: where it stands, its mark (empty without one) and its text."""

    page: str
    line: int
    mark: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Each command, continued lines joined."""
        return [line for line in self.text.replace("\\\n", " ").splitlines() if line.strip()]


def pages() -> list[Path]:
    """Every Markdown page for readers: the README, docs/, the servers' READMEs, what contributors read."""
    folders = [ROOT.glob("*.md"), (ROOT / "docs").rglob("*.md"), (ROOT / "resources_servers").glob("*/README.md")]
    return sorted(path for folder in folders for path in folder)


def blocks() -> list[Block]:
    """Every ```bash block of every page."""
    return [block for path in pages() for block in _blocks(path)]


def page(name: str) -> Path:
    """The one page of docs/ that has this file name."""
    (found,) = (ROOT / "docs").rglob(name)
    return found


def commands(name: str) -> list[str]:
    """Each command of a page of docs/."""
    return [command for block in _blocks(page(name)) for command in block.commands]


def command(name: str, begins: str, swaps: Mapping[str, str]) -> list[str]:
    """The page's one command that begins so, as arguments, with a test's own names swapped in: all have to be there."""
    (found,) = [line for line in commands(name) if line.startswith(begins)]
    for old, new in swaps.items():
        assert old in found, f"{name}: {begins} has no {old}"
        found = found.replace(old, new)
    return shlex.split(found)


def _blocks(path: Path) -> list[Block]:
    text = path.read_text()
    return [
        Block(path.relative_to(ROOT).as_posix(), text[: found.start()].count("\n") + 1, found[1] or "", found[2])
        for found in _BLOCK.finditer(text)
    ]
