"""What people call a task. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_LABEL_CHARS: Final = 120
_NAMES: Final = ("task_id", "instance_id", "problem_id", "question_id", "id", "name", "title")


def label_of(row: Mapping[str, object], body: Mapping[str, object]) -> str:
    """What people call the task: its id by one of the usual names, else how its prompt begins."""
    for holder in (row, body):
        for name in _NAMES:
            value = holder.get(name)
            if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
                return str(value)[:_LABEL_CHARS]
    return _prompt(body)[:_LABEL_CHARS] or "unnamed task"


def _prompt(body: Mapping[str, object]) -> str:
    params = body.get("responses_create_params")
    given = params.get("input") if isinstance(params, Mapping) else None
    if isinstance(given, list):
        last = given[-1] if given else None
        given = last.get("content") if isinstance(last, Mapping) else None
    return given[: 4 * _LABEL_CHARS].strip().partition("\n")[0] if isinstance(given, str) else ""
