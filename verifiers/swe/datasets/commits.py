"""The fix of an R2E-Gym row: it has no patch, but the whole commit, parsed.

Source: R2E-Gym's dataset. `parsed_commit_content` is JSON of `{file_diffs: [{header: {file: {path}, misc_line},
minus_file: {path}, plus_file: {path}, is_binary_file, hunks: [{descriptor: {old_range: {start, length}, new_range},
line_group: {all_lines: [{content, type}]}}]}]}`, where a type is context, added, deleted or note.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from typing import Any, Final

from sandbox_gym.verifiers.swe.patches.paths import is_test

_NOWHERE: Final = "/dev/null"
_SIGNS: Final = {"context": " ", "added": "+", "deleted": "-", "note": "\\ "}
_MISREAD: Final = (LookupError, TypeError, AttributeError, ValueError, OverflowError)


def fix_of(commit: object, relevant: Collection[str]) -> str:
    """What the commit changes, its tests aside, as a unified diff; empty where it can't be read. `relevant`: paths that
    the row says are no tests."""
    with contextlib.suppress(*_MISREAD):
        diffs: list[Any] = commit["file_diffs"]  # type: ignore[index]
        by_path = {one["header"]["file"]["path"]: one for one in diffs}
        return "".join(_of_file(path, one) for path, one in by_path.items() if path in relevant or not is_test(path))
    return ""


def _of_file(path: str, diff: Mapping[str, Any]) -> str:
    if diff.get("is_binary_file"):
        return ""
    made, gone = (_is_nowhere(diff.get(name)) for name in ("minus_file", "plus_file"))
    more = str(diff["header"].get("misc_line") or "")
    made, gone = made or more.startswith("new file"), gone or more.startswith("deleted file")
    mode = more.rpartition(" ")[2] if more.startswith(("new file", "deleted file")) else "100644"
    head = f"diff --git a/{path} b/{path}\n"
    if made or gone:
        head += f"{'new' if made else 'deleted'} file mode {mode}\n"
    hunks = "".join(map(_of_hunk, diff.get("hunks") or ()))
    if not hunks:
        return f"{head}index 0000000..e69de29\n" if made else ""
    return f"{head}--- {_NOWHERE if made else f'a/{path}'}\n+++ {_NOWHERE if gone else f'b/{path}'}\n{hunks}"


def _is_nowhere(file: Mapping[str, Any] | None) -> bool:
    return file is not None and file["path"] == _NOWHERE


def _of_hunk(hunk: Mapping[str, Any]) -> str:
    """The lengths are counted, as what was parsed may have lost them."""
    lines = [(one["type"], one["content"]) for one in hunk["line_group"]["all_lines"]]
    old, new = (sum(kind in ("context", side) for kind, _ in lines) for side in ("deleted", "added"))
    ranges = hunk["descriptor"]
    head = f"@@ -{int(ranges['old_range']['start'])},{old} +{int(ranges['new_range']['start'])},{new} @@\n"
    return head + "".join(f"{_SIGNS[kind]}{content}\n" for kind, content in lines)
