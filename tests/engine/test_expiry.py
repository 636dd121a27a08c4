"""A box past its lifetime goes to no other task, whether it was in use or idle."""

from __future__ import annotations

import pytest

from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.containers.container import ContainerOptions
from sandbox_gym.sandbox.docker.provider import DockerProvider
from sandbox_gym.sandbox.fake import FakeMachine, FakeProvider
from sandbox_gym.sandbox.pool.pool import Pool

pytestmark = pytest.mark.anyio


class AgeingProvider(FakeProvider):
    def make_machine(self) -> FakeMachine:
        self.last = super().make_machine()
        return self.last


async def test_an_idle_box_that_has_expired_is_replaced() -> None:
    provider = AgeingProvider()
    pool = Pool(provider, boxes=1, box_max_tasks=8, queue_size=8)
    for expired in (False, True):
        async with pool.lease("python") as lease:
            first = lease.boxes[0].box_id
        provider.last.expired = expired
        async with pool.lease("python") as lease:
            assert (lease.boxes[0].box_id != first) is expired
    assert (pool.stats.started, pool.stats.discarded) == (2, 1)
    await pool.aclose()


@pytest.mark.parametrize(("lifetime_s", "reusable"), [(3600.0, True), (0.0, False)])
async def test_a_container_is_reused_within_its_lifetime_only(lifetime_s: float, reusable: bool) -> None:
    provider = DockerProvider(options=ContainerOptions(lifetime_s=lifetime_s))
    box = await provider.create(SandboxSpec())
    try:
        assert await box.reset() is reusable
    finally:
        await box.aclose()
        await provider.aclose()
