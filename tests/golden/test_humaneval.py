"""All of HumanEval: every canonical solution earns 1.0 and every broken variant 0.0, on each real provider.

A third of the rows in the daily run.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from tests import humaneval
from tests.daily import part

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]


@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_humaneval(provider: str, data_folder: Path, whole: bool) -> None:
    every = list(enumerate(humaneval.load(data_folder)))
    rows = part(every, 3, whole=whole)
    settings = Settings(provider=provider, boxes=4)
    wrong: list[str] = []
    isolated = 0

    async def one(row: dict[str, str], kind: str, text: str, slots: anyio.Semaphore, dialogue: bool = False) -> None:
        nonlocal isolated
        async with slots:
            task = parse_task(humaneval.metadata(row), limits=settings.limits(), early_stop=True)
            task = replace(task, dialogue=dialogue)
            verdict = (await engine.verify(CodingVerifier(), task, Answer(text))).verdict
        isolated += verdict.integrity == "isolated" and kind == "right"
        if verdict.reward != (1.0 if kind == "right" else 0.0):
            wrong.append(f"{row['task_id']} {kind}: {verdict.reward} {verdict.failure_reason}")

    async with open_engine(settings) as engine, anyio.create_task_group() as tasks:
        slots = anyio.Semaphore(4)
        for index, row in rows:
            kind = humaneval.KINDS[index % len(humaneval.KINDS)]
            tasks.start_soon(one, row, "right", humaneval.right_answer(row), slots, index % 3 == 0)
            tasks.start_soon(one, row, kind, humaneval.broken_answer(row, kind), slots)
    assert wrong == []
    assert (len(every), isolated) == (164, len(rows))
