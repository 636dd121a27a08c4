"""What becomes of a starved run: it is tried again on a quiet slot, and starved twice is no verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from sandbox_gym.contract import Build, Outcome, Plan, Query, Service, State, Status, StepOutcome
from sandbox_gym.engine import local_engine
from sandbox_gym.errors import Starved
from sandbox_gym.limits import MIB, STARVED_SHARE
from sandbox_gym.plans.builds import Builds
from sandbox_gym.plans.starvation import QuietSlot
from sandbox_gym.plans.steps import PlanRun
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.sandbox.pool.services import serving
from sandbox_gym.sandbox.sandbox import Sandbox
from tests.engine.starvation.boxes import LIMITS, SHORT, SLEEP, Weight, open_box, python, share

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


WORK = "import time\nwhile time.process_time() < 1: pass\nprint('well')"
"""A second of CPU: some twenty seconds for a starved program, whose limit is one and a half, then four and a half."""


async def _go_on(index: int, outcome: StepOutcome) -> bool:
    return True


async def run_plan(box: Sandbox, weight: Weight, plan: Plan, *, slot_is_quiet: bool) -> State:
    """On a machine that starves the plan's first try; `slot_is_quiet`: the quiet slot ends that."""

    @asynccontextmanager
    async def slot() -> AsyncIterator[None]:
        if slot_is_quiet:
            weight.large()
        yield

    weight.small()
    try:
        return await PlanRun(plan, [box], Builds(), QuietSlot(lambda: False, slot), _go_on).state("local")
    finally:
        weight.large()


PLANS = {
    "program": Plan((python(WORK, SHORT),)),
    "compiler": Plan((python("print('well')"),), builds=(Build("answer", python(WORK, SHORT, "compile")),)),
}


@pytest.mark.parametrize("what", PLANS)
async def test_starved_is_tried_again_on_a_quiet_slot(
    provider: LocalProvider, weight: Weight, crowd: None, what: str
) -> None:
    async with open_box(provider) as box:
        state = await run_plan(box, weight, PLANS[what], slot_is_quiet=True)
    (outcome,) = (*state.builds, *state.outcomes)[:1]
    assert isinstance(outcome, Outcome)
    assert (outcome.status, outcome.stdout) == (Status.OK, b"well\n")


@pytest.mark.parametrize("what", ["program", pytest.param("compiler", marks=pytest.mark.extended)])
async def test_starved_twice_is_no_verdict(provider: LocalProvider, weight: Weight, crowd: None, what: str) -> None:
    async with open_box(provider) as box:
        with pytest.raises(Starved, match="twice"):
            await run_plan(box, weight, PLANS[what], slot_is_quiet=False)


async def test_a_sleeper_is_over_its_limit_at_once_on_the_same_machine(
    provider: LocalProvider, weight: Weight, crowd: None
) -> None:
    patient = replace(LIMITS, wall_time_s=4.0)  # it waits before it sleeps, too
    async with open_box(provider) as box:
        state = await run_plan(box, weight, Plan((python(SLEEP, patient),)), slot_is_quiet=False)
    assert isinstance(state.outcomes[0], Outcome)
    assert state.outcomes[0].status is Status.WALL_TIME_LIMIT


SERVICE = b"""
import os, time, service_worker

def handle(body, say):
    if body == b"sleep":
        time.sleep(60)
    end = time.process_time() + 0.5
    while time.process_time() < end: pass
    return b"well"

service_worker.serve(handle, int(os.environ["WORKERS"]), int(os.environ["WORKER_MEMORY_BYTES"]))
"""


async def test_a_services_worker_that_starves_twice_is_no_verdict(
    provider: LocalProvider, weight: Weight, crowd: None
) -> None:
    service = Service("toy", {"main.py": SERVICE}, worker_memory_bytes=128 * MIB)
    async with serving(provider, workers=2, queue_size=5) as services:
        engine = local_engine(Pool(FakeProvider(), boxes=1, box_max_tasks=8, queue_size=8), services=services)

        async def ask(word: bytes) -> Outcome:
            state = await engine.run(Plan((Query("q", service, word, LIMITS),)))
            assert isinstance(state.outcomes[0], Outcome)
            return state.outcomes[0]

        assert (await ask(b"work")).stdout == b"well"
        weight.small()
        with pytest.raises(Starved, match=r"toy wanted CPU .* twice"):
            await ask(b"work")
        weight.large()
        asleep = await ask(b"sleep")
        assert asleep.status is Status.WALL_TIME_LIMIT
        assert share(asleep) < STARVED_SHARE
        assert (await ask(b"work")).stdout == b"well"
