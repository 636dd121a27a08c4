"""Every folder of in_process_rows/ is an answer to a row of its own, in one process with its test; it earns nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

pytestmark = pytest.mark.anyio
FOLDERS = sorted(path.parent for path in (Path(__file__).parent / "in_process_rows").glob("*/row.json"))


@pytest.fixture(params=["local", "docker"])
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    async with open_engine(Settings.model_validate({"provider": request.param, "boxes": 2})) as opened:
        yield opened


async def verdict(engine: Engine, folder: Path, name: str) -> Verdict:
    row = json.loads((folder / "row.json").read_text())["verifier_metadata"]
    task = parse_task(row, limits=Settings().limits(), early_stop=True)
    source = (folder / f"{name}.py").read_text()
    return (await engine.verify(CodingVerifier(), task, Answer(f"```python\n{source}\n```"))).verdict


def test_the_corpus_is_there() -> None:
    assert len(FOLDERS) >= 13


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
async def test_the_attack_earns_nothing_and_the_honest_answer_everything(engine: Engine, folder: Path) -> None:
    hostile = await verdict(engine, folder, "payload")
    assert hostile.reward == 0.0, hostile
    assert hostile.failure_reason
    honest = await verdict(engine, folder, "honest")
    assert honest.reward == 1.0, honest
    assert honest.integrity == "in_process"
