"""The fake provider keeps the part of the contract that needs no program: caps, order, loss, closing.

Kills, namespaces, files and networks have no fake counterpart: nothing runs there. test_run_caps.py and
test_run_walls.py hold those.
"""

from __future__ import annotations

import pytest

from sandbox_gym.contract import Outcome, Program, Run, Status
from sandbox_gym.errors import BoxLost, ProviderDown
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider

pytestmark = pytest.mark.anyio
LIMITS = Limits(cpu_time_s=1, wall_time_s=2, memory_bytes=64 * MIB, stdout_bytes=10, stderr_bytes=10)


async def run(behaviour: Behaviour) -> Outcome:
    box = await FakeProvider(lambda run: behaviour).create(SandboxSpec())
    async with box.run_all([Run("one", Program("fork", {"main.py": b""}), b"", LIMITS)]) as outcomes:
        return await anext(outcomes)


@pytest.mark.parametrize(
    ("behaviour", "status"),
    [
        (Behaviour(stdout=b"x"), Status.OK),
        (Behaviour(exit_code=3), Status.RUNTIME_ERROR),
        (Behaviour(signal=11), Status.RUNTIME_ERROR),
        (Behaviour(stdout=b"x" * 11), Status.OUTPUT_LIMIT),
        (Behaviour(stderr=b"x" * 161), Status.OUTPUT_LIMIT),
        (Behaviour(cpu_time_s=1.5), Status.CPU_TIME_LIMIT),
        (Behaviour(wall_time_s=3), Status.WALL_TIME_LIMIT),
        (Behaviour(peak_memory_bytes=65 * MIB), Status.MEMORY_LIMIT),
    ],
)
async def test_caps(behaviour: Behaviour, status: Status) -> None:
    outcome = await run(behaviour)
    assert outcome.status is status
    assert len(outcome.stdout) <= LIMITS.stdout_bytes


async def test_order_loss_and_closing() -> None:
    box = await FakeProvider(lambda run: Behaviour(stdout=run.stdin, lose_box=run.stdin == b"9")).create(SandboxSpec())
    runs = [Run(str(i), Program("fork", {}), str(i).encode(), LIMITS) for i in range(10)]
    seen = []
    with pytest.raises(BoxLost):  # noqa: PT012 - the loss may come at any outcome
        async with box.run_all(runs) as outcomes:
            async for outcome in outcomes:
                seen.append(outcome.stdout)
    assert seen == [str(i).encode() for i in range(9)]
    assert not await box.reset()
    await box.aclose()
    await box.aclose()


async def test_down() -> None:
    with pytest.raises(ProviderDown):
        await FakeProvider(down=True).create(SandboxSpec())
