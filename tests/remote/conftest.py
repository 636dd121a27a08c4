"""A pool by the local provider, and what reaches it: a provider, or a proxy that harms on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from sandbox_gym.sandbox.e2b.provider import E2bProvider
from tests.conftest import e2b_options
from tests.e2b.servers import PoolServer
from tests.remote.proxy import Proxy, proxied


@pytest.fixture
def pool(pools: Callable[[str], PoolServer]) -> PoolServer:
    return pools("local")


@pytest.fixture
async def provider(pool: PoolServer) -> AsyncIterator[E2bProvider]:
    made = E2bProvider(e2b_options(pool))
    yield made
    await made.aclose()


@pytest.fixture
async def proxy(pool: PoolServer) -> AsyncIterator[Proxy]:
    async with proxied(pool.port) as made:
        yield made
