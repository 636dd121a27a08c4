"""A hint at what comes next has boxes started at once, not when the pool next looks around; a broken provider is not
asked more often for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from sandbox_gym.errors import ProviderDown
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.sandbox.pool import pool as pool_module
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.sandbox.sandbox import Sandbox

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


class Counting(FakeProvider):
    def __init__(self) -> None:
        super().__init__()
        self.asked, self.broken = 0, False

    async def create(self, spec: SandboxSpec) -> Sandbox:
        self.asked += 1
        if self.broken:
            raise ProviderDown("down")
        return await super().create(spec)


@asynccontextmanager
async def tended(provider: Counting) -> AsyncIterator[Pool]:
    pool = Pool(provider, boxes=4, box_max_tasks=8, queue_size=8)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pool.run)
        yield pool
        tasks.cancel_scope.cancel()
    await pool.aclose()


async def test_a_hinted_box_is_started_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "HOUSEKEEPING_S", 3600.0)
    async with tended(Counting()) as pool:
        for count in (1, 3):
            pool.prefetch("python", count)
            while pool.warm_boxes < count:
                await anyio.sleep(0.01)
        async with pool.lease("python"):
            pool.prefetch("python", 1)  # a box is at work, which is as many as are wanted
            await anyio.sleep(0.2)
            assert pool.warm_boxes == 2
        assert pool.stats.started == 3


async def test_hints_do_not_hurry_a_provider_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "HOUSEKEEPING_S", 3600.0)
    provider = Counting()
    provider.broken = True
    async with tended(provider) as pool:
        for _ in range(20):
            pool.prefetch("python", 1)
            await anyio.sleep(0.01)
        assert provider.asked == 1
