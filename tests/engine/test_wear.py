"""A box past its lifetime goes to no other task, whether it was in use or idle."""

from __future__ import annotations

import pytest

from sandbox_gym.sandbox.docker.provider import DockerProvider
from sandbox_gym.sandbox.fake import FakeBox, FakeProvider, silent
from sandbox_gym.sandbox.pool.pool import Pool

pytestmark = pytest.mark.anyio


class AgeingBox(FakeBox):
    worn = False


class AgeingProvider(FakeProvider):
    async def start(self, image: str) -> AgeingBox:
        self.last = AgeingBox(silent)
        return self.last


async def test_an_idle_box_that_has_worn_out_is_replaced() -> None:
    provider = AgeingProvider()
    pool = Pool(provider, boxes=1, box_max_tasks=8, queue_size=8)
    for worn in (False, True):
        async with pool.lease("python") as lease:
            first = lease.boxes[0].box_id
        provider.last.worn = worn
        async with pool.lease("python") as lease:
            assert (lease.boxes[0].box_id != first) is worn
    assert (pool.stats.started, pool.stats.discarded) == (2, 1)
    await pool.aclose()


@pytest.mark.parametrize(("lifetime_s", "reusable"), [(3600.0, True), (0.0, False)])
async def test_a_container_is_reused_within_its_lifetime_only(lifetime_s: float, reusable: bool) -> None:
    provider = DockerProvider(lifetime_s=lifetime_s)
    box = await provider.start("python")
    try:
        assert await box.reset() is reusable
    finally:
        await box.aclose()
        await provider.aclose()
