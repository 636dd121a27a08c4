"""The engine over many machines: it plans and judges here, and has the nodes run. What servers use an `Engine` for.

Expected outputs that a plan does not carry never leave this process.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, TypeVar

import anyio

from sandbox_gym import judging
from sandbox_gym.cluster.fleet import Fleet
from sandbox_gym.cluster.membership import Pace, Roster
from sandbox_gym.cluster.placement import Placement
from sandbox_gym.cluster.scheduler import Job, Ran, Scheduler
from sandbox_gym.cluster.sessions import ClusterSessions
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Plan, State, StepOutcome, Verdict, Verifier
from sandbox_gym.engine import ANYONE, Caller
from sandbox_gym.errors import ConfigurationError, Unavailable
from sandbox_gym.observe import traces
from sandbox_gym.observe.loop_lag import measure_loop
from sandbox_gym.observe.metrics import Metrics
from sandbox_gym.observe.verdicts import attributes_of
from sandbox_gym.sandbox.registry import session_policy

FIRST_NODE_S: Final = 240.0
"""How long a server waits at its start for the first node that can hold sandboxes."""
T = TypeVar("T")


class ClusterEngine:
    """Verifies on whichever node is best. Use `open_cluster` to make one."""

    def __init__(
        self,
        scheduler: Scheduler,
        roster: Roster,
        sessions: ClusterSessions | None,
        *,
        provider: str,
        deadline_s: float,
    ) -> None:
        self.provider_name = provider
        self.sessions = sessions
        self.metrics = Metrics()
        self._scheduler, self._roster, self._deadline_s = scheduler, roster, deadline_s
        self._verdicts = 0
        self.metrics.watch_all("cluster", self._counts)
        if sessions is not None:
            self.metrics.watch_all("sessions", sessions.stats_dict)
        self.metrics.watch_each("node_up", "Whether a node takes verifies", "node", self._up)
        self.metrics.watch_each("node_slots", "Sandboxes at once that a node bears", "node", self._slots)
        self.metrics.watch_each("node_leased", "Verifies at a node", "node", self._leased)

    # -- what servers ask

    async def judged(
        self, verifier: Verifier[T], task: T, answer: Answer, *, caller: Caller = ANYONE
    ) -> tuple[Verdict, Plan, State | None]:
        """As `Engine.judged`. Raises RequestError and Unavailable."""
        with traces.span("verify", {"provider": self.provider_name, "tenant": caller.tenant}) as span:
            verdict, plan, state = await self._judged(verifier, task, answer, caller)
            span.note(attributes_of(verdict))
            return verdict, plan, state

    async def _judged(
        self, verifier: Verifier[T], task: T, answer: Answer, caller: Caller
    ) -> tuple[Verdict, Plan, State | None]:
        began = time.perf_counter()
        plan = verifier.plan(task, answer)
        ran = Ran(State((), "none", self.provider_name), 1, {})
        if plan.steps:
            try:
                ran = await self._ran(plan, verifier, task, caller)
            except Unavailable as error:
                self.metrics.no_verdicts.labels(error.failure_kind).inc()
                raise
        started = time.perf_counter()
        with traces.span("judge"):
            verdict = await judging.judge(verifier, task, answer, plan, ran.state)
        timings = {**ran.timings_s, "judge": time.perf_counter() - started}
        self._verdicts += 1
        self.metrics.retries.inc(max(0, ran.attempts - 1))
        self.metrics.count(verdict, time.perf_counter() - began, timings)
        return replace(verdict, attempts=ran.attempts, timings_s=timings), plan, ran.state if plan.steps else None

    async def run(self, plan: Plan, *, caller: Caller = ANYONE) -> State:
        """As `Engine.run`. Raises Unavailable."""
        return (await self._ran(plan, None, None, caller)).state

    async def _ran(self, plan: Plan, verifier: Verifier[T] | None, task: T, caller: Caller) -> Ran:
        def passed(index: int, outcome: StepOutcome) -> bool:
            return verifier is None or verifier.passed(task, index, outcome)

        deadline_s = min(caller.deadline_s or self._deadline_s, self._deadline_s)
        return await self._scheduler.run(Job(plan, passed, caller.tenant, time.monotonic() + deadline_s))

    # -- what operators see

    def stats(self) -> dict[str, int]:
        """Counters since the start, and how many nodes and slots there are."""
        return {**self._counts(), "verdicts": self._verdicts, "loop_stalls": self.metrics.loop_stalls}

    def _counts(self) -> dict[str, int]:
        admission, by_status = self._scheduler.admission, self._roster.counts()
        nodes = {
            f"nodes_{status}": by_status.get(status, 0)
            for status in ("up", "silent", "sick", "draining", "failed", "lost")
        }
        return {
            **nodes,
            "slots": admission.limit if by_status.get("up") else 0,
            "leased": admission.held,
            "waiting": admission.waiting,
            "rescheduled": self._scheduler.rescheduled,
            "losses": self._roster.lost,
        }

    def nodes(self) -> dict[str, dict[str, str | int]]:
        """Each node: its state, why it is in it, and what it has."""
        found: dict[str, dict[str, str | int]] = {}
        for member in self._roster.members():
            pong = member.pong
            has = (
                {} if pong is None else {"slots": pong.slots, "leased": pong.leased, "warm": pong.stats.get("warm", 0)}
            )
            found[member.name] = {"status": member.status, "why": member.why, **has}
        return found

    def _up(self) -> Mapping[str, float]:
        return {member.name: float(member.status == "up") for member in self._roster.members()}

    def _slots(self) -> Mapping[str, float]:
        return {one.name: float(one.pong.slots if one.pong else 0) for one in self._roster.members()}

    def _leased(self) -> Mapping[str, float]:
        return {one.name: float(one.pong.leased if one.pong else 0) for one in self._roster.members()}


@asynccontextmanager
async def open_cluster(fleet: Fleet, settings: Settings, *, pace: Pace) -> AsyncIterator[ClusterEngine]:
    """An engine over a fleet's nodes, once the first of them is up. Raises ConfigurationError where none comes up."""
    placement = Placement()
    roster = Roster(fleet, placement, pace)
    scheduler = Scheduler(
        roster,
        placement,
        attempts=settings.attempts,
        queue_size=settings.queue_size,
        weights=settings.tenant_weights,
    )
    sessions = ClusterSessions(roster, placement, session_policy(settings))
    async with anyio.create_task_group() as tasks:
        await tasks.start(roster.run)
        try:
            await _first_node(roster)
            held = any(member.pong is not None and member.pong.sessions_folder for member in roster.members())
            engine = ClusterEngine(
                scheduler,
                roster,
                sessions if held else None,
                provider=settings.provider,
                deadline_s=settings.deadline_s,
            )
            tasks.start_soon(measure_loop, engine.metrics)
            yield engine
        finally:
            tasks.cancel_scope.cancel()


async def _first_node(roster: Roster) -> None:
    """Raises ConfigurationError when no node comes up, saying why each did not."""
    with anyio.move_on_after(FIRST_NODE_S):
        while not roster.counts().get("up"):
            members = roster.members()
            if members and all(member.status == "failed" for member in members):
                break
            with anyio.move_on_after(1):
                await roster.change()
        else:
            return
    whys = "; ".join(f"{member.name}: {member.why or member.status}" for member in roster.members())
    raise ConfigurationError(f"no node of the cluster can hold sandboxes: {whys or 'it has none'}")
