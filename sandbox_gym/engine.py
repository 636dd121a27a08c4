"""The engine: a plan, its run, its judgement, and more runs where the verifier asks for them. Also opens one.

Owns the order from an answer to its verdict, the same on one machine and on a cluster; where and how often a plan is
tried is its runner's affair.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random, SystemRandom
from typing import Final, Protocol, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup

from sandbox_gym import judging
from sandbox_gym.config import Settings
from sandbox_gym.contract import (
    Answer,
    Judgement,
    Plan,
    Program,
    Run,
    State,
    StepOutcome,
    SupportsFollowUp,
    Verdict,
    Verifier,
)
from sandbox_gym.errors import ProviderDown, Unavailable
from sandbox_gym.limits import Limits
from sandbox_gym.network import Network
from sandbox_gym.observe import traces
from sandbox_gym.observe.metrics import Metrics, attributes_of, measure_loop
from sandbox_gym.plans.follow_up import run_follow_up
from sandbox_gym.plans.local import LocalPlanRunner, machine_is_busy
from sandbox_gym.plans.runner import ANYONE, Caller, PlanRunner
from sandbox_gym.sandbox.api import Provider, SessionFolder
from sandbox_gym.sandbox.cleanup.owner import held_lease
from sandbox_gym.sandbox.cleanup.reaper import Reaper, reaping
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.sandbox.pool.services import Services, serving
from sandbox_gym.sandbox.registry import check_system, make_provider, orphan_sources, session_policy
from sandbox_gym.sandbox.session.holding import holding
from sandbox_gym.sandbox.session.manager import Sessions, ToolReply

_UNFORESEEN: Final = SystemRandom()
_NOTHING: Final = Program(mode="fork", files={"main.py": b""})
_log = structlog.get_logger(__name__)
T = TypeVar("T")


class SessionCalls(Protocol):
    """Stateful sandboxes by session, as tools use them."""

    def __contains__(self, session_id: str) -> bool: ...

    async def call(
        self,
        session_id: str,
        request: Mapping[str, object],
        body: bytes = b"",
        *,
        timeout_s: float,
        deadline_s: float = 600.0,
    ) -> ToolReply: ...

    def discard(self, session_id: str) -> None: ...

    async def close(self, session_id: str) -> None: ...


class HeldSessions(SessionCalls, Protocol):
    """And as servers use them, which choose what a session begins from: those of this machine, or of a cluster."""

    background: TaskGroup
    """For work that outlives the call that asked for it."""
    may_root: bool
    """Whether whoever seeds a session may ask for root."""

    def begin(self, session_id: str, snapshot_id: str) -> None: ...

    def grant_root(self, session_id: str) -> None: ...

    def base_of(self, session_id: str) -> str | None: ...

    def stats_dict(self) -> dict[str, int]: ...


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdict that stands, and every run behind it in the order in which it was asked for."""

    verdict: Verdict
    judgements: tuple[Judgement, ...]

    @property
    def state(self) -> State | None:
        """What the first plan did; None where it had nothing to run."""
        return self.judgements[0].state


class Engine:
    """Verifies answers with what runs its plans. `sessions`: stateful sandboxes, where the provider has them. `random`:
    what verifiers choose their further runs by, which no answer may foresee."""

    def __init__(
        self, runner: PlanRunner, metrics: Metrics, sessions: HeldSessions | None = None, random: Random = _UNFORESEEN
    ) -> None:
        self.runner, self.metrics, self.sessions = runner, metrics, sessions
        self._random = random
        self._verdicts = 0

    @property
    def provider_name(self) -> str:
        return self.runner.provider_name

    def stats(self) -> dict[str, int]:
        """Counters since the start: the runner's, verdicts, and how often the event loop stood still."""
        return {**self.runner.stats(), "verdicts": self._verdicts, "loop_stalls": self.metrics.loop_stalls}

    async def verify(self, verifier: Verifier[T], task: T, answer: Answer, *, caller: Caller = ANYONE) -> Verification:
        """The verdict on an answer. Raises RequestError from the plan, and Unavailable when there can be no verdict,
        with what was judged before it."""
        began = time.perf_counter()
        first = await self._judgement(verifier, task, answer, caller)
        if not isinstance(verifier, SupportsFollowUp):
            return self._counted(Verification(first.verdict, (first,)), began)
        judgements = [first]

        async def judge(task: T) -> Judgement:
            return await self._judgement(verifier, task, answer, caller)

        try:
            follow_up = verifier.follow_up(task, answer, first, self._random)
            verdict = await run_follow_up(follow_up, judge, caller, judgements)
        except Unavailable as error:
            error.judgements = tuple(judgements)
            raise
        return self._counted(Verification(verdict, tuple(judgements)), began)

    def _counted(self, verification: Verification, began: float) -> Verification:
        """One verify, however many runs it took."""
        verdict = verification.verdict
        self._verdicts += 1
        self.metrics.count(verdict, time.perf_counter() - began, verdict.timings_s)
        return verification

    async def run(self, plan: Plan, *, caller: Caller = ANYONE) -> State:
        """What a plan did, outside any verdict: the tools' way in. Raises Unavailable."""
        state = (await self.runner.run(plan, caller=caller)).state
        assert state is not None, "a plan that is run for what it does has steps"
        return state

    async def check(self) -> None:
        """Run a program that does nothing. Raises Unavailable when no sandbox can be had."""
        await self.run(Plan((Run("check", _NOTHING, limits=Limits(cpu_time_s=5.0, wall_time_s=10.0)),)))

    async def _judgement(self, verifier: Verifier[T], task: T, answer: Answer, caller: Caller) -> Judgement:
        with traces.span("verify", {"provider": self.provider_name, "tenant": caller.tenant}) as span:
            plan = await judging.asked(partial(verifier.plan, task, answer))

            async def passed(index: int, outcome: StepOutcome) -> bool:
                return await judging.passed(verifier, task, index, outcome)

            try:
                result = await self.runner.run(plan, passed, caller)
            except Unavailable as error:
                self.metrics.count_none(error)
                raise
            started = time.perf_counter()
            with traces.span("judge"):
                state = result.state or State((), "none", self.provider_name)
                verdict = await judging.judge(verifier, task, answer, plan, state)
            # of a verify on record, what was measured then counts
            timings = {**result.timings_s}
            timings.setdefault("judge", time.perf_counter() - started)
            verdict = replace(verdict, attempts=result.attempts, timings_s=timings)
            span.note(attributes_of(verdict))
            return Judgement(plan, result.state, verdict)


def local_engine(
    pool: Pool,
    *,
    attempts: int = 3,
    deadline_s: float = 600.0,
    sessions: Sessions | None = None,
    services: Services | None = None,
    busy: Callable[[], bool] = machine_is_busy,
) -> Engine:
    """An engine over this pool, which stays its owner's to close."""
    metrics = Metrics()
    if sessions is not None:
        metrics.watch_all("sessions", sessions.stats_dict)
        metrics.watch("snapshot_bytes", "Disk that snapshots take", lambda: sessions.budget.used_bytes)
        metrics.watch("snapshot_limit_bytes", "Disk that they may take", lambda: sessions.budget.limit_bytes)
    runner = LocalPlanRunner(pool, metrics, attempts=attempts, deadline_s=deadline_s, services=services, busy=busy)
    return Engine(runner, metrics, sessions)


@asynccontextmanager
async def open_engine(settings: Settings, *, sessions: str = "") -> AsyncIterator[Engine]:
    """An engine over a pool of the settings' provider; both closed at the end. Raises ConfigurationError.

    `sessions`: hold stateful sandboxes too, kept under this name in the state folder; a plan may then begin from a
    snapshot of theirs.
    """
    check_system()
    folder = settings.state_dir / "sessions" / sessions
    with held_lease(settings.state_dir) as lease:
        provider = make_provider(settings, SessionFolder(folder, settings.session_limits()) if sessions else None)
        pool = Pool(
            provider,
            boxes=settings.boxes,
            box_max_tasks=settings.box.max_tasks,
            queue_size=settings.queue_size,
            weights=settings.tenant_weights,
        )
        try:
            await _check(provider)
            reaper = Reaper(orphan_sources(settings, [provider]), lease.renew)
            async with (
                reaping(reaper),
                _sessions(settings, provider, folder) as held,
                serving(provider, queue_size=settings.queue_size, weights=settings.tenant_weights) as services,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(pool.run)
                try:
                    engine = local_engine(
                        pool,
                        attempts=settings.attempts,
                        deadline_s=settings.deadline_s,
                        sessions=held,
                        services=services,
                    )
                    tasks.start_soon(measure_loop, engine.metrics)
                    yield engine
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            await pool.aclose()


async def _check(provider: Provider) -> None:
    """Raises ConfigurationError for what will never work; what may pass is left to each verify."""
    try:
        await provider.doctor.check()
    except ProviderDown as error:
        _log.warning("provider_down_at_start", provider=provider.name, why=str(error))


@asynccontextmanager
async def _sessions(settings: Settings, provider: Provider, folder: Path) -> AsyncIterator[Sessions | None]:
    if provider.snapshots is None:
        yield None
        return
    network = Network(allow=tuple(settings.allow_out) or None)
    limits, policy = settings.session_limits(), session_policy(settings)
    async with holding(provider, folder / "held", limits, policy, network=network) as held:
        yield held
