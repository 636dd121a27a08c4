"""Patches that are nearly the fix: one piece of it left out, or one line of it wrong. Nothing here is random."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SWAPS = (
    (" not ", " "),
    ("==", "!="),
    ("!=", "=="),
    ("True", "False"),
    ("return ", "return None and "),
    (" and ", " or "),
    ("if ", "if not "),
    (" in ", " not in "),
)


def mutated(patch: str) -> Iterator[str]:
    """Each part left out in turn, then each added line with one swap; all differ from the patch."""
    parts = re.split(r"(?m)^(?=diff --git )", patch)[1:]
    code = [part for part in parts if re.match(r"diff --git a/\S+\.py ", part)]
    for part in code:
        if len(parts) > 1:
            yield "".join(one for one in parts if one is not part)
    for part in code:
        head, *hunks = re.split(r"(?m)^(?=@@ )", part)
        for hunk in hunks if len(hunks) > 1 else ():
            yield patch.replace(part, head + "".join(one for one in hunks if one is not hunk))
    lines = patch.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if not line.startswith("+") or line.startswith("+++"):
            continue
        for old, new in _SWAPS:
            if old in line:
                yield "".join([*lines[:number], line.replace(old, new, 1), *lines[number + 1 :]])
                break
