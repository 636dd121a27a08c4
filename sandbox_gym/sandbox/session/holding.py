"""The housekeeping of held sessions: hibernate, checkpoint, expire, collect, prepare, and end what was discarded."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import anyio.abc

from sandbox_gym.faults import Rounds, log_failure
from sandbox_gym.limits import Limits, Policy
from sandbox_gym.network import NO_NETWORK, Network
from sandbox_gym.sandbox.api import Provider
from sandbox_gym.sandbox.session.manager import Sessions

SWEEP_S: Final = 1.0
COLLECT_S: Final = 30.0


@asynccontextmanager
async def holding(
    provider: Provider, folder: Path, limits: Limits, policy: Policy, *, network: Network = NO_NETWORK
) -> AsyncIterator[Sessions]:
    """Sessions, with their housekeeping under way; at the end what can be kept is kept. The provider stays open."""
    async with anyio.create_task_group() as tasks:
        sessions = Sessions(provider, folder, limits, policy, tasks, network=network)
        await tasks.start(_keep_sweeping, sessions)
        tasks.start_soon(_keep_prepared, sessions)
        tasks.start_soon(sessions.discarded.keep_ending)
        try:
            yield sessions
        finally:
            tasks.cancel_scope.cancel()
            await sessions.aclose()


async def _keep_sweeping(
    sessions: Sessions, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Hibernate, checkpoint, expire and collect, until cancelled, whatever a round meets."""
    task_status.started()
    rounds, collected, wait_s = Rounds("session_sweep_failed"), 0.0, SWEEP_S
    while True:
        await anyio.sleep(wait_s)
        try:
            await _sweep(sessions)
            if time.monotonic() - collected > COLLECT_S:
                collected = time.monotonic()
                await sessions.budget.collect()
            rounds.done()
            wait_s = SWEEP_S
        except Exception as error:
            wait_s = rounds.failed(error)


async def _sweep(sessions: Sessions) -> None:
    """Each session in turn; what is wrong with one of them concerns no other."""
    for session in sessions.all():
        if not session.lock.locked():
            try:
                await sessions.age(session)
            except Exception as error:
                log_failure("session_sweep_failed", error, session=session.session_id[:80])


async def _keep_prepared(sessions: Sessions) -> None:
    """Have sandboxes ready before they are asked for, until cancelled."""
    rounds = Rounds("sessions_not_prepared", first_s=5)
    while True:
        await sessions.lifecycle.next_opening()  # a server whose tools are not called keeps no sandbox for them
        try:
            await sessions.provider.prepare()
            rounds.done()
        except Exception as error:
            await anyio.sleep(rounds.failed(error))
