"""SandboxFusion's /run_jupyter: cells of Python in one process, without a kernel or a network."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from sandbox_gym import judging
from sandbox_gym.contract import Status, answers_outcome
from sandbox_gym.engine import Engine
from sandbox_gym.errors import Unavailable
from sandbox_gym.limits import Limits
from sandbox_gym.server.coding.sandbox_fusion import (
    CommandRun,
    Timeouts,
    command_result,
    decoded,
    encoded_files,
    fetched,
    sandbox_error,
    tightened,
    to_fetch,
)
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.tools.shapes import tool_method
from sandbox_gym.verifiers.coding import STARTER, cells_of, notebook_plan


class FusionCells(BaseModel):
    """SandboxFusion's RunJupyterRequest."""

    cells: list[str]
    cell_timeout: float = Field(0, ge=0)
    total_timeout: float = Field(45, gt=0)
    memory_limit_MB: float = -1
    kernel: Literal["python3"] = "python3"
    files: dict[str, str | None] = Field(default_factory=dict)
    fetch_files: list[str] = Field(default_factory=list)


class FusionCell(TypedDict):
    """SandboxFusion's CellRunResult; displays and errors as notebooks hold them."""

    stdout: str
    stderr: str
    display: list[dict[str, object]]
    error: list[dict[str, object]]


class FusionCellsRan(TypedDict):
    """SandboxFusion's RunJupyterResponse."""

    status: Literal["Success", "Failed"]
    message: str
    driver: CommandRun
    cells: list[FusionCell]
    executor_pod_name: None
    files: dict[str, str]


class FusionJupyter:
    """The route, under the server's caps."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    @tool_method(FusionCells, FusionCellsRan)
    async def run_jupyter(self, engine: Engine, call: ToolCall, wanted: FusionCells) -> FusionCellsRan:
        """Run cells of Python one after the other, as SandboxFusion does."""
        token = secrets.token_hex(16)
        marks = (f"{token} cell ", f"\n{token} files ")
        fetch = to_fetch(wanted.fetch_files)
        times = Timeouts(run_timeout=wanted.total_timeout, compile_timeout=1)
        plan = notebook_plan(
            [cell.encode("utf-8", "replace").decode() for cell in wanted.cells],
            tightened(self._limits, times, wanted.memory_limit_MB),
            cell_s=wanted.cell_timeout,
            marks=marks,
            files=decoded(wanted.files, {STARTER}),
            fetch=list(fetch.values()),
        )
        try:
            state = await engine.run(plan, caller=times.caller(call.caller))
        except Unavailable as error:
            raise sandbox_error(error) from error
        step = state.outcomes[0]
        assert step is not None, "a run that ended has an outcome"
        outcome = answers_outcome(step)
        ended = outcome.status is Status.OK

        def told() -> tuple[list[FusionCell], Mapping[str, bytes]]:
            stdout, files = fetched(outcome.stdout, marks[1], fetch)
            return [_cell(one) for one in cells_of(stdout, marks[0], len(wanted.cells))], files

        cells, files = await judging.read(len(outcome.stdout), told) if ended else ([], {})
        return {
            "status": "Success" if ended else "Failed",
            "message": "",
            "driver": command_result(replace(outcome, stdout=b"")),
            "cells": cells,
            "executor_pod_name": None,
            "files": encoded_files(files),
        }


def _cell(told: Mapping[str, object]) -> FusionCell:
    """What a cell reported, of the wire's types whatever the box sent."""
    return {
        "stdout": str(told.get("stdout") or ""),
        "stderr": str(told.get("stderr") or ""),
        "display": _documents(told.get("display")),
        "error": _documents(told.get("error")),
    }


def _documents(value: object) -> list[dict[str, object]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
