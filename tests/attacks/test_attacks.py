"""Every folder here worked somewhere: a row, a payload that must not earn it, an honest answer that must."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine, open_engine
from tests.attacks.running import FOLDERS, check_earns_nothing
from tests.e2b.servers import PoolServer

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["local", "docker", "e2b-on-local"])
async def engine(request: pytest.FixtureRequest, pools: Callable[[str], PoolServer]) -> AsyncIterator[Engine]:
    given: dict[str, object] = {"provider": request.param, "boxes": 2}
    if request.param == "e2b-on-local":
        url = pools("local").url
        given |= {"provider": "e2b", "e2b_api_url": url, "e2b_api_key": "any", "e2b_creates_per_s": 100}
    async with open_engine(Settings.from_flat(given)) as opened:
        yield opened


def test_the_corpus_is_there() -> None:
    assert len(FOLDERS) >= 170


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
async def test_the_attack_earns_nothing_and_the_honest_answer_everything(engine: Engine, folder: Path) -> None:
    await check_earns_nothing(engine, folder)
