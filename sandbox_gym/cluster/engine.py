"""An engine over many machines: plans and judges here, and has the nodes run.

Expected outputs that a plan does not carry never leave this process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from sandbox_gym.cluster.membership import Fleet, Membership, Pace
from sandbox_gym.cluster.placement import Placement
from sandbox_gym.cluster.plan_runner import ClusterPlanRunner
from sandbox_gym.cluster.sessions import ClusterSessions
from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.observe.metrics import Metrics, measure_loop
from sandbox_gym.sandbox.registry import session_policy

FIRST_NODE_S: Final = 240.0
"""How long a server waits at its start for the first node that can hold sandboxes."""


@asynccontextmanager
async def open_cluster(fleet: Fleet, settings: Settings, *, pace: Pace) -> AsyncIterator[Engine]:
    """An engine over a fleet's nodes, once the first of them is up. Raises ConfigurationError where none comes up."""
    placement, metrics = Placement(), Metrics()
    membership = Membership(fleet, placement, pace)
    runner = ClusterPlanRunner(
        membership,
        placement,
        metrics,
        provider=settings.provider,
        attempts=settings.attempts,
        deadline_s=settings.deadline_s,
        queue_size=settings.queue_size,
        weights=settings.tenant_weights,
    )
    async with anyio.create_task_group() as tasks:
        sessions = ClusterSessions(membership, placement, session_policy(settings), tasks)
        await tasks.start(membership.run)
        try:
            await _first_node(membership)
            held = any(member.pong is not None and member.pong.sessions_folder for member in membership.members())
            if held:
                metrics.watch_all("sessions", sessions.stats_dict)
            tasks.start_soon(measure_loop, metrics)
            yield Engine(runner, metrics, sessions if held else None)
        finally:
            tasks.cancel_scope.cancel()


async def _first_node(membership: Membership) -> None:
    """Raises ConfigurationError when no node comes up, saying why each did not."""
    with anyio.move_on_after(FIRST_NODE_S):
        while not membership.counts().get("up"):
            members = membership.members()
            if members and all(member.status == "failed" for member in members):
                break
            with anyio.move_on_after(1):
                await membership.change()
        else:
            return
    whys = "; ".join(f"{member.name}: {member.why or member.status}" for member in membership.members())
    raise ConfigurationError(f"no node of the cluster can hold sandboxes: {whys or 'it has none'}")
