"""plan -> lease -> put -> run -> get -> release -> judge, retried, with a deadline. Only this file knows it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import anyio
import structlog

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Dialogue, Outcome, Plan, Run, State, StepOutcome, Verdict, Verifier
from sandbox_gym.errors import BoxLost, DeadlineExceeded, ProviderDown, Unavailable
from sandbox_gym.sandbox.api import Box, SupportsDialogue
from sandbox_gym.sandbox.owner import held_lease
from sandbox_gym.sandbox.pool import Pool
from sandbox_gym.sandbox.reaper import Reaper, reaping
from sandbox_gym.sandbox.registry import make_provider, reaping_sources

_log = structlog.get_logger(__name__)
T = TypeVar("T")


class Engine:
    """Runs plans in the pool's boxes and has them judged."""

    def __init__(self, pool: Pool, *, attempts: int = 3, deadline_s: float = 600.0, image: str = "python") -> None:
        self._pool = pool
        self._attempts = attempts
        self._deadline_s = deadline_s
        self._image = image
        self._crashes = 0
        self._verdicts = 0

    @property
    def provider_name(self) -> str:
        return self._pool.provider.name

    def stats(self) -> dict[str, int]:
        """Counters since the start: the pool's, and verdicts and crashes."""
        return {**self._pool.stats.as_dict(), "verdicts": self._verdicts, "crashes": self._crashes}

    async def check(self) -> None:
        """Have one box. Raises Unavailable when none can be had."""
        async with self._pool.lease(self._image):
            pass

    async def verify(
        self, verifier: Verifier[T], task: T, answer: Answer, *, deadline_s: float | None = None
    ) -> Verdict:
        """The verdict on `answer`. Raises RequestError from the plan, Unavailable when there can be no verdict."""
        return (await self.judged(verifier, task, answer, deadline_s=deadline_s))[0]

    async def judged(
        self, verifier: Verifier[T], task: T, answer: Answer, *, deadline_s: float | None = None
    ) -> tuple[Verdict, Plan, State | None]:
        """`verify`, with the plan and what it did; no state where the plan had nothing to run."""
        plan = verifier.plan(task, answer)
        timings: dict[str, float] = {}
        state, attempts = None, 1
        if plan.steps:
            state, attempts = await self._attempt(verifier, task, plan, timings, deadline_s or self._deadline_s)
        started = time.perf_counter()
        judged_state = state or State((), "none", self.provider_name)
        verdict = verifier.judge(task, plan, judged_state)
        timings["judge"] = time.perf_counter() - started
        self._verdicts += 1
        return replace(verdict, attempts=attempts, timings_s=timings), plan, state

    async def run(self, run: Run, *, deadline_s: float | None = None) -> Outcome:
        """One program, outside any verdict: the tools' way in. Raises Unavailable."""
        plan = Plan(steps=(run,), image=self._image)
        state, _ = await self._attempt(None, None, plan, {}, deadline_s or self._deadline_s)
        outcome = state.outcomes[0]
        assert isinstance(outcome, Outcome)
        return outcome

    async def _attempt(
        self, verifier: Verifier[T] | None, task: T, plan: Plan, timings: dict[str, float], deadline_s: float
    ) -> tuple[State, int]:
        """The plan's state from the first box that lives through it, and how many tries that took."""
        deadline = time.monotonic() + deadline_s
        failure: Unavailable | None = None
        for attempt in range(1, self._attempts + 1):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                with anyio.fail_after(left):
                    return await self._once(verifier, task, plan, timings), attempt
            except TimeoutError:
                break
            except (BoxLost, ProviderDown) as error:
                self._crashes += isinstance(error, BoxLost)
                failure = error
                _log.warning("attempt_failed", attempt=attempt, kind=error.failure_kind, why=str(error))
                if isinstance(error, ProviderDown):
                    await anyio.sleep(min(0.2 * attempt, max(0.0, deadline - time.monotonic())))
        if failure is not None and time.monotonic() < deadline:
            raise failure
        raise DeadlineExceeded(f"no verdict within {deadline_s:g} s" + (f"; last: {failure}" if failure else ""))

    async def _once(self, verifier: Verifier[T] | None, task: T, plan: Plan, timings: dict[str, float]) -> State:
        started = time.perf_counter()
        pair = any(isinstance(step, Dialogue) for step in plan.steps)
        async with self._pool.lease(plan.image, 2 if pair else 1) as boxes:
            leased = time.perf_counter()
            timings["acquire"] = timings.get("acquire", 0.0) + leased - started
            outcomes = await self._run_steps(verifier, task, plan, boxes)
            timings["run"] = timings.get("run", 0.0) + time.perf_counter() - leased
            return State(tuple(outcomes), boxes[0].isolation, self.provider_name)

    async def _run_steps(
        self, verifier: Verifier[T] | None, task: T, plan: Plan, boxes: Sequence[Box]
    ) -> list[StepOutcome]:
        outcomes: list[StepOutcome] = []

        def keep(outcome: StepOutcome) -> bool:
            """Record; whether to go on."""
            outcomes.append(outcome)
            return not plan.early_stop or verifier is None or verifier.passed(task, len(outcomes) - 1, outcome)

        for group in _grouped(plan.steps):
            if isinstance(group, Dialogue):
                asker_box = boxes[0]
                if not isinstance(asker_box, SupportsDialogue):
                    raise ProviderDown(f"provider {self.provider_name} can't join two boxes")
                if not keep(await asker_box.converse(group, boxes[1])):
                    return outcomes
                continue
            async with boxes[0].run_all(group) as results:
                async for outcome in results:
                    if not keep(outcome):
                        return outcomes
        return outcomes


def _grouped(steps: Sequence[Run | Dialogue]) -> list[list[Run] | Dialogue]:
    """Runs that follow each other, together: they travel in one round trip."""
    groups: list[list[Run] | Dialogue] = []
    for step in steps:
        if isinstance(step, Dialogue):
            groups.append(step)
        elif groups and isinstance(groups[-1], list):
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


@asynccontextmanager
async def open_engine(settings: Settings) -> AsyncIterator[Engine]:
    """An engine over a pool of the settings' provider; both closed at the end. Raises ConfigurationError."""
    with held_lease(settings.state_dir) as lease:
        provider = make_provider(settings)
        pool = Pool(
            provider,
            boxes=settings.boxes,
            box_max_tasks=settings.box_max_tasks,
            queue_size=settings.queue_size,
        )
        try:
            async with reaping(Reaper(reaping_sources(settings, [provider]), lease.renew)):
                yield Engine(pool, attempts=settings.attempts, deadline_s=settings.deadline_s)
        finally:
            await pool.aclose()
