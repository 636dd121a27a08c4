"""verifiers, and prime-rl through it: a taskset over a file of rows, `sandbox-gym` by its id (sandbox_gym/__init__.py).

Without a verdict the reward raises: verifiers records a TaskError on the trace, which is no reward, and whose trace is
not `ok`. verifiers' own taskset `nemo_gym` takes a masked sample's filler for its reward; this one knows masks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import verifiers.v1 as vf  # noqa: TID251  # PyPI's package is meant

from sandbox_gym.trainers.scores import reward_soon

__all__ = ["SandboxGymTaskset"]


class RowsConfig(vf.TasksetConfig):
    rows: Path
    """JSON lines, one row each, with `responses_create_params`, `question` or `prompt`."""


class RowData(vf.TaskData):
    row: dict[str, Any]


class RowTask(vf.Task[RowData, vf.State, vf.TaskConfig]):
    @vf.reward(weight=1.0)
    async def verdict(self, trace: vf.Trace) -> float:
        """Raises NoVerdict after all patience, RequestRefused where the row is wrong."""
        return await reward_soon(self.data.row, trace.last_reply)


class SandboxGymTaskset(vf.Taskset[RowTask, RowsConfig]):
    def load(self) -> Iterator[RowTask]:
        with self.config.rows.expanduser().open(encoding="utf-8") as lines:
            for line in filter(str.strip, lines):
                row = json.loads(line)
                yield RowTask(RowData(prompt=_prompt(row), row=row), self.config.task)


def _prompt(row: dict[str, Any]) -> Any:
    given = row.get("responses_create_params")
    asked = given.get("input") if isinstance(given, dict) else None
    return asked or row.get("question") or row.get("prompt")
