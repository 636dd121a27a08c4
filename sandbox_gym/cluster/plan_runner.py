"""Each plan to a node: its turn, its place, and another place when that one is lost, within the request's deadline.

Knows neither verifiers nor what links are made of. A lost node costs its plans a retry elsewhere; it never decides what
an answer is worth.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import anyio
import structlog

from sandbox_gym import judging
from sandbox_gym.cluster.membership import Member, Membership
from sandbox_gym.cluster.messages import (
    SHARED,
    GoOn,
    NodeDraining,
    NodeLost,
    NodeRefused,
    Progress,
    Start,
    Ticket,
    read_reply,
)
from sandbox_gym.cluster.placement import Placement
from sandbox_gym.cluster.runs import Assembly
from sandbox_gym.codec import encode
from sandbox_gym.contract import Plan, SnapshotRef
from sandbox_gym.errors import BoxLost, DeadlineExceeded, PoolFull, ProviderDown, SnapshotGone, Unavailable
from sandbox_gym.observe.metrics import Metrics
from sandbox_gym.plans.runner import ANYONE, Caller, Passed, PlanResult, all_pass
from sandbox_gym.plans.steps import boxes_for
from sandbox_gym.sandbox.pool.admission import Admission

NODE_WAIT_S: Final = 30.0
"""Since so long there is no node that takes anything new: plans wait for one no longer."""
STATUSES: Final = ("up", "silent", "sick", "draining", "failed", "lost")
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Request:
    """A plan on its way. `deadline`: monotonic."""

    plan: Plan
    passed: Passed
    tenant: str
    deadline: float

    @property
    def left_s(self) -> float:
        return self.deadline - time.monotonic()

    @property
    def begins_from_snapshot(self) -> bool:
        return isinstance(self.plan.image, SnapshotRef)


class ClusterPlanRunner:
    """Places plans on the cluster's nodes. `queue_size` bounds those that wait, `attempts` how often one is tried."""

    def __init__(
        self,
        membership: Membership,
        placement: Placement,
        metrics: Metrics,
        *,
        provider: str,
        attempts: int,
        deadline_s: float,
        queue_size: int,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self._membership, self._placement, self._metrics = membership, placement, metrics
        self._provider, self._attempts, self._deadline_s = provider, attempts, deadline_s
        self._admission = Admission(1, queue_size, weights)
        self._rescheduled = 0
        self._none_since: float | None = None
        membership.listeners.append(self._follow_slots)
        metrics.watch_all("cluster", self.stats)
        metrics.watch_each("node_up", "Whether a node takes verifies", "node", self._up)
        metrics.watch_each("node_slots", "Sandboxes at once that a node bears", "node", self._slots)
        metrics.watch_each("node_leased", "Verifies at a node", "node", self._leased)

    def _follow_slots(self, member: Member) -> None:
        if self._placement.slots:
            self._none_since = None
        elif self._none_since is None:
            self._none_since = time.monotonic()
        self._admission.slots = max(1, self._placement.slots)
        self._admission.set_limit(self._admission.slots)

    # -- what operators see

    @property
    def provider_name(self) -> str:
        return self._provider

    def stats(self) -> dict[str, int]:
        """How many nodes and slots there are, what waits, and what was lost since the start."""
        by_status = self._membership.counts()
        return {
            **{f"nodes_{status}": by_status.get(status, 0) for status in STATUSES},
            "slots": self._admission.limit if by_status.get("up") else 0,
            "leased": self._admission.held,
            "waiting": self._admission.waiting,
            "rescheduled": self._rescheduled,
            "losses": self._membership.lost,
        }

    def queues(self) -> dict[str, int]:
        """Requests that wait, by tenant."""
        return dict(self._admission.by_tenant())

    def nodes(self) -> dict[str, dict[str, str | int]]:
        """Each node: its state, why it is in it, and what it has."""
        found: dict[str, dict[str, str | int]] = {}
        for member in self._membership.members():
            pong = member.pong
            has = (
                {} if pong is None else {"slots": pong.slots, "leased": pong.leased, "warm": pong.stats.get("warm", 0)}
            )
            found[member.name] = {"status": member.status, "why": member.why, **has}
        return found

    def _up(self) -> Mapping[str, float]:
        return {member.name: float(member.status == "up") for member in self._membership.members()}

    def _slots(self) -> Mapping[str, float]:
        return {one.name: float(one.pong.slots if one.pong else 0) for one in self._membership.members()}

    def _leased(self) -> Mapping[str, float]:
        return {one.name: float(one.pong.leased if one.pong else 0) for one in self._membership.members()}

    # -- plans

    async def run(self, plan: Plan, passed: Passed = all_pass, caller: Caller = ANYONE) -> PlanResult:
        """What the plan did at a node. Raises Unavailable; what it did at a node that was lost counts for nothing."""
        if not plan.steps:
            return PlanResult(None)
        asked = time.monotonic()
        deadline_s = min(caller.deadline_s or self._deadline_s, self._deadline_s)
        request = _Request(plan, passed, caller.tenant, asked + deadline_s)
        try:
            with anyio.fail_after(max(0.0, request.left_s)):
                async with self._admission.admitted(caller.tenant, boxes_for(plan)):
                    queued_s = time.monotonic() - asked
                    result, took_s = await self._somewhere(request)
        except TimeoutError:
            took = time.monotonic() - asked
            raise DeadlineExceeded(f"no verdict within {took:.3g} s") from None
        self._metrics.retries.inc(max(0, result.attempts - 1))
        cluster_s = max(0.0, time.monotonic() - asked - queued_s - took_s)
        timings = {**result.timings_s, "queue": result.timings_s.get("queue", 0.0) + queued_s, "cluster": cluster_s}
        return replace(result, timings_s=timings)

    async def _somewhere(self, request: _Request) -> tuple[PlanResult, float]:
        """The result, and the seconds that it took at the node that gave it."""
        tried: set[str] = set()
        losses = 0
        while True:
            async with self._slot(request, tried) as member:
                try:
                    result, took_s = await self._run_at(member, request)
                    return replace(result, attempts=result.attempts + losses), took_s
                except NodeDraining as error:
                    failure: Unavailable = error
                except (NodeRefused, NodeLost, BoxLost, ProviderDown, PoolFull) as error:
                    failure, losses = error, losses + 1
                    self._blame(member, request, error)
            tried.add(member.key)
            if losses >= self._attempts:
                raise failure
            self._rescheduled += 1
            _log.warning("plan_rescheduled", node=member.name, why=str(failure), losses=losses)

    def _blame(self, member: Member, request: _Request, error: Unavailable) -> None:
        """A node that makes no sandboxes gets nothing for a while; one that lost a snapshot no longer counts as having
        it."""
        if isinstance(error, ProviderDown):
            if request.begins_from_snapshot:
                self._placement.drop(member.key, str(request.plan.image))
            else:
                self._membership.mark_unhealthy(member, str(error))

    @asynccontextmanager
    async def _slot(self, request: _Request, tried: set[str]) -> AsyncIterator[Member]:
        """A member, some of whose slots are taken for the plan while the body runs."""
        image, count, held = str(request.plan.image), boxes_for(request.plan), request.begins_from_snapshot
        while (key := self._placement.place(image, count, avoid=tried, held=held)) is None:
            if held:
                raise SnapshotGone("the nodes that had what the plan begins from are gone")
            tried.clear()  # all were tried: any may be tried again, but not at once
            with anyio.move_on_after(1):
                await self._membership.change()
            if self._none_since is not None and time.monotonic() > self._none_since + NODE_WAIT_S:
                raise ProviderDown("no node of the cluster takes anything now")
        try:
            yield self._membership.by_key(key)
        finally:
            self._placement.give(key, count)

    async def _run_at(self, member: Member, request: _Request) -> tuple[PlanResult, float]:
        """Follow the plan's run at one node. Whatever ends this early, the run there is given up."""
        assembly, ticket = Assembly(request.plan, request.passed), uuid.uuid4().hex
        request_id = str(structlog.contextvars.get_contextvars().get("request_id", ""))
        start = Start(ticket, request.plan, request.tenant, max(0.001, request.left_s), request_id)
        over = False
        try:
            raw = await self._membership.ask(member, "start", encode(start, shared=SHARED))
            while True:
                progress = await judging.read(len(raw), partial(read_reply, Progress, raw))
                failed = await assembly.add(progress)
                if progress.finished is not None:
                    over = True
                    done = progress.finished
                    return PlanResult(assembly.state(done), done.attempts, done.timings_s), done.took_s
                raw = await self._membership.ask(member, "more", encode(GoOn(ticket, progress.attempt, failed)))
        except Unavailable as error:
            over = not isinstance(error, NodeLost)
            if isinstance(error, NodeDraining):
                self._membership.mark_draining(member)
            raise
        finally:
            if not over:
                self._membership.send(member, "cancel", encode(Ticket(ticket)))
