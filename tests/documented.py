"""Commands out of the documentation, so that tests run what readers will."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
_BLOCK: Final = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> Path:
    """The one page of docs/ that has this file name."""
    (found,) = (_ROOT / "docs").rglob(name)
    return found


def commands(name: str) -> list[str]:
    """Each command of a page's bash blocks, continued lines joined."""
    blocks = _BLOCK.findall(page(name).read_text())
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def command(name: str, begins: str, swaps: Mapping[str, str]) -> list[str]:
    """The page's one command that begins so, as arguments, with a test's own names swapped in: all have to be there."""
    (found,) = [line for line in commands(name) if line.startswith(begins)]
    for old, new in swaps.items():
        assert old in found, f"{name}: {begins} has no {old}"
        found = found.replace(old, new)
    return shlex.split(found)
