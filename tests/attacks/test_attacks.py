"""Every folder here worked somewhere: a row, a payload that must not earn it, an honest answer that must."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from tests.e2b.servers import PoolServer

pytestmark = pytest.mark.anyio
FOLDERS = sorted(path.parent for path in Path(__file__).parent.glob("*/row.json"))


@pytest.fixture(params=["local", "docker", "e2b-on-local"])
async def engine(request: pytest.FixtureRequest, pools: Callable[[str], PoolServer]) -> AsyncIterator[Engine]:
    given: dict[str, object] = {"provider": request.param, "boxes": 2}
    if request.param == "e2b-on-local":
        url = pools("local").url
        given |= {"provider": "e2b", "e2b_api_url": url, "e2b_api_key": "any", "e2b_creates_per_s": 100}
    async with open_engine(Settings.from_flat(given)) as opened:
        yield opened


async def verdict(engine: Engine, folder: Path, name: str) -> Verdict:
    row = json.loads((folder / "row.json").read_text())["verifier_metadata"]
    task = parse_task(row, limits=Settings().limits(), early_stop=True)
    (source,) = folder.glob(f"{name}.*")
    return (
        await engine.verify(CodingVerifier(), task, Answer(f"```{task.language.name}\n{source.read_text()}\n```"))
    ).verdict


def test_the_corpus_is_there() -> None:
    assert len(FOLDERS) >= 170


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
async def test_the_attack_earns_nothing_and_the_honest_answer_everything(engine: Engine, folder: Path) -> None:
    hostile = await verdict(engine, folder, "payload")
    assert hostile.reward == 0.0
    assert hostile.attempts == 1, "an attack is the program's fault, never ours"
    assert hostile.failure_reason
    assert hostile.integrity == "isolated"
    honest = await verdict(engine, folder, "honest")
    assert honest.reward == 1.0, honest
