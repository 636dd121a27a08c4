"""Problem packages made for a test: folders out of paths and texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ECHO: Mapping[str, str] = {
    "problem.yaml": "name: Echo\nlimits:\n  time_limit: 1\n",
    "data/sample/1.in": "1\n",
    "data/sample/1.ans": "1\n",
    "data/secret/1.in": "22\n",
    "data/secret/1.ans": "22\n",
    "data/secret/2.in": "333\n",
    "data/secret/2.ans": "333\n",
    "submissions/accepted/good.py": "print(input())\n",
}
"""Print what was read."""


def write_package(folder: Path, files: Mapping[str, str | bytes | None], base: Mapping[str, str] = ECHO) -> Path:
    """`base` with these files instead; None leaves a file out."""
    merged: dict[str, str | bytes | None] = {**base, **files}
    for name, content in merged.items():
        if content is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
