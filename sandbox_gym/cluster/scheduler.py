"""Each plan to a node: its turn, its place, and another place when that one is lost, within the request's deadline.

Knows neither verifiers nor what links are made of. A lost node costs its plans a retry elsewhere; it never decides what
an answer is worth.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import anyio
import structlog

from sandbox_gym import judging
from sandbox_gym.cluster.membership import Member, Roster
from sandbox_gym.cluster.messages import (
    GoOn,
    NodeDraining,
    NodeLost,
    NodeRefused,
    Progress,
    Start,
    Ticket,
    plan_form,
    read_reply,
)
from sandbox_gym.cluster.placement import Placement
from sandbox_gym.cluster.runs import Assembly
from sandbox_gym.contract import Plan, SnapshotRef, State, StepOutcome
from sandbox_gym.errors import BoxLost, DeadlineExceeded, PoolFull, ProviderDown, SnapshotGone, Unavailable
from sandbox_gym.journal.codec import encode
from sandbox_gym.sandbox.pool.admission import Admission
from sandbox_gym.steps import boxes_for

NODE_WAIT_S: Final = 30.0
"""Since so long there is no node that takes anything new: plans wait for one no longer."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a plan did, in how many tries, and the seconds by phase; `cluster`: what its way to the node cost."""

    state: State
    attempts: int
    timings_s: Mapping[str, float]
    took_s: float = 0.0
    """At the node."""


@dataclass(frozen=True, slots=True)
class Job:
    """A plan on its way. `deadline`: monotonic."""

    plan: Plan
    passed: Callable[[int, StepOutcome], bool]
    tenant: str
    deadline: float

    @property
    def left_s(self) -> float:
        return self.deadline - time.monotonic()


class Scheduler:
    """Places plans on the roster's nodes. `queue_size` bounds those that wait, `attempts` how often one is tried."""

    def __init__(
        self,
        roster: Roster,
        placement: Placement,
        *,
        attempts: int,
        queue_size: int,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self._roster, self._placement, self._attempts = roster, placement, attempts
        self.admission = Admission(1, queue_size, weights)
        self.rescheduled = 0
        self._none_since: float | None = None
        roster.listeners.append(self._follow_slots)

    def _follow_slots(self, member: Member) -> None:
        if self._placement.slots:
            self._none_since = None
        elif self._none_since is None:
            self._none_since = time.monotonic()
        self.admission.slots = max(1, self._placement.slots)
        self.admission.set_limit(self.admission.slots)

    async def run(self, job: Job) -> Ran:
        """The plan's state. Raises Unavailable; what it did at a node that was lost counts for nothing."""
        asked = time.monotonic()
        try:
            with anyio.fail_after(max(0.0, job.left_s)):
                async with self.admission.admitted(job.tenant, boxes_for(job.plan)):
                    queued_s = time.monotonic() - asked
                    ran = await self._somewhere(job)
        except TimeoutError:
            took = time.monotonic() - asked
            raise DeadlineExceeded(f"no verdict within {took:.3g} s") from None
        cluster_s = max(0.0, time.monotonic() - asked - queued_s - ran.took_s)
        timings = {**ran.timings_s, "queue": ran.timings_s.get("queue", 0.0) + queued_s, "cluster": cluster_s}
        return replace(ran, timings_s=timings)

    async def _somewhere(self, job: Job) -> Ran:
        tried: set[str] = set()
        losses = 0
        while True:
            async with self._place(job.plan, tried) as member:
                try:
                    ran = await self._at(member, job)
                    return replace(ran, attempts=ran.attempts + losses)
                except NodeDraining as error:
                    failure: Unavailable = error
                except (NodeRefused, NodeLost, BoxLost, ProviderDown, PoolFull) as error:
                    failure, losses = error, losses + 1
                    self._blame(member, job.plan, error)
            tried.add(member.key)
            if losses >= self._attempts:
                raise failure
            self.rescheduled += 1
            _log.warning("plan_rescheduled", node=member.name, why=str(failure), losses=losses)

    def _blame(self, member: Member, plan: Plan, error: Unavailable) -> None:
        """A node that makes no sandboxes rests; one that lost a snapshot no longer counts as having it."""
        if isinstance(error, ProviderDown):
            if _held(plan):
                self._placement.drop(member.key, str(plan.image))
            else:
                self._roster.rests(member, str(error))

    @asynccontextmanager
    async def _place(self, plan: Plan, tried: set[str]) -> AsyncIterator[Member]:
        """A member, some of whose slots are taken for the plan while the body runs."""
        count, held = boxes_for(plan), _held(plan)
        while (key := self._placement.place(str(plan.image), count, avoid=tried, held=held)) is None:
            if held:
                raise SnapshotGone("the nodes that had what the plan begins from are gone")
            tried.clear()  # all were tried: any may be tried again, but not at once
            with anyio.move_on_after(1):
                await self._roster.change()
            if self._none_since is not None and time.monotonic() > self._none_since + NODE_WAIT_S:
                raise ProviderDown("no node of the cluster takes anything now")
        try:
            yield self._roster.by_key(key)
        finally:
            self._placement.give(key, count)

    async def _at(self, member: Member, job: Job) -> Ran:
        """Follow the plan's run at one node. Whatever ends this early, the run there is given up."""
        assembly, ticket = Assembly(job.plan, job.passed), uuid.uuid4().hex
        request_id = str(structlog.contextvars.get_contextvars().get("request_id", ""))
        start = Start(ticket, plan_form(job.plan), job.tenant, max(0.001, job.left_s), request_id)
        over = False
        try:
            raw = await self._roster.ask(member, "start", encode(start))
            while True:
                progress = await judging.read(len(raw), partial(read_reply, Progress, raw))
                told_bytes = sum(judging.outcome_bytes(seen.outcome) for seen in progress.outcomes)
                failed = await judging.read(told_bytes, partial(assembly.add, progress))
                if progress.finished is not None:
                    over = True
                    done = progress.finished
                    return Ran(assembly.state(done), done.attempts, done.timings_s, done.took_s)
                raw = await self._roster.ask(member, "more", encode(GoOn(ticket, progress.attempt, failed)))
        except Unavailable as error:
            over = not isinstance(error, NodeLost)
            if isinstance(error, NodeDraining):
                self._roster.drains(member)
            raise
        finally:
            if not over:
                self._roster.tell(member, "cancel", encode(Ticket(ticket)))


def _held(plan: Plan) -> bool:
    return isinstance(plan.image, SnapshotRef)
