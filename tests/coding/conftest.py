"""An engine on each real provider, and one line to judge an answer with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

Judge = Callable[..., Awaitable[Verdict]]


@pytest.fixture(params=["local", "docker"])
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    async with open_engine(Settings(provider=request.param, boxes=2)) as opened:
        yield opened


@pytest.fixture
def judge(engine: Engine) -> Judge:
    """judge(code, row): the verdict on a fenced answer."""

    async def judged(code: str, row: dict[str, object]) -> Verdict:
        task = parse_task(row, limits=Settings().limits(), early_stop=True)
        return (
            await engine.verify(CodingVerifier(), task, Answer(f"````{row.get('language', 'python')}\n{code}\n````"))
        ).verdict

    return judged
