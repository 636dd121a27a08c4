"""An engine on each real provider for the honest rows."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from sandbox_gym.engine import Engine
from tests.honest.judging import opened


@pytest.fixture(params=["local", "docker"])
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    async with opened(request.param) as engine:
        yield engine
