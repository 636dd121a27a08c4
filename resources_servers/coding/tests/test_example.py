"""The example rows are worth what they were written to be worth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

ROWS = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "example.jsonl").read_text().splitlines()]
WORTH = {"wrong": "wrong_answer", "crash": "runtime_error", "endless": "time_limit", "hungry": "memory_limit"}
WORTH |= {"flood": "output_limit", "hack": "wrong_answer", "right": ""}


@pytest.mark.anyio
async def test_example_rows() -> None:
    settings = Settings(provider="local")
    async with open_engine(settings) as engine:
        for row in ROWS:
            text = row["response"]["output"][0]["content"][0]["text"]
            task = parse_task(row["verifier_metadata"], limits=settings.limits(), early_stop=True)
            verdict = (await engine.verify(CodingVerifier(), task, Answer(text))).verdict
            assert verdict.failure_reason == WORTH[row["response"]["id"].rpartition("_")[2]], row["response"]["id"]
