"""A commit as R2E-Gym's rows have it: parsed, each file with its hunks."""

from __future__ import annotations

import difflib
import re
from typing import Any

from tests.swe.imitations.projects import Files

_KINDS = {" ": "context", "+": "added", "-": "deleted"}


def parsed_commit(before: Files, after: Files) -> dict[str, Any]:
    """Of what changed, whole files. The form: see verifiers/swe/datasets/commits.py."""
    return {
        "file_diffs": [parsed_file(path, before.get(path), new) for path, new in after.items()],
        "old_commit_hash": "0" * 40,
        "new_commit_hash": "1" * 40,
        "commit_message": "Mend it",
        "commit_date": "2024-01-01T00:00:00",
    }


def parsed_file(path: str, old: str | None, new: str) -> dict[str, Any]:
    """One file; `old` is None for a new one."""
    hunks: list[dict[str, Any]] = []
    for line in difflib.unified_diff((old or "").splitlines(keepends=True), new.splitlines(keepends=True), n=3):
        if found := re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line):
            ranges = [{"start": int(found[at]), "length": int(found[at + 1] or 1)} for at in (1, 3)]
            descriptor = {"old_range": ranges[0], "new_range": ranges[1], "section": ""}
            hunks.append({"descriptor": descriptor, "line_group": {"all_lines": []}})
        elif hunks:
            lines = hunks[-1]["line_group"]["all_lines"]
            lines.append({"content": line[1:].removesuffix("\n"), "type": _KINDS[line[0]]})
            if not line.endswith("\n"):
                lines.append({"content": "No newline at end of file", "type": "note"})
    return {
        "old_file_content": old or "",
        "new_file_content": new,
        "header": {"file": {"path": path}, "misc_line": "new file mode 100644" if old is None else None},
        "index_line": {"old_commit_hash": "0" * 7, "new_commit_hash": "1" * 7, "mode": "100644"},
        "is_binary_file": False,
        "binary_line": None,
        "minus_file": {"path": "/dev/null" if old is None else f"a/{path}"},
        "plus_file": {"path": f"b/{path}"},
        "hunks": hunks,
    }
