"""Periodic work over a pool's sandboxes: end expired ones, measure, collect snapshots, prepare boxes.

Knows neither HTTP nor how boxes are made.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
import anyio.abc
import structlog

from sandbox_gym.e2b_server.sandboxes.manager import Sandboxes
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.errors import BoxLost, SandboxGymError
from sandbox_gym.faults import Rounds, log_failure

SWEEP_S: Final = 0.2
SAMPLE_S: Final = 5.0
COLLECT_S: Final = 60.0
EXPIRE_AGAIN_S: Final = 60.0
MAX_FAILURES: Final = 60
"""Times that a sandbox that should be paused is left running for another EXPIRE_AGAIN_S, because its files can't be
kept."""
_log = structlog.get_logger(__name__)


class Housekeeping:
    """The periodic work over all sandboxes of a pool."""

    def __init__(self, sandboxes: Sandboxes, tasks: anyio.abc.TaskGroup) -> None:
        self._sandboxes, self._tasks = sandboxes, tasks

    async def run(self) -> None:
        """End, measure and collect until cancelled; a round that fails is tried again later."""
        rounds, wait_s = Rounds("sandboxes_sweep_failed"), SWEEP_S
        collected = sampled = time.monotonic()
        while True:
            await anyio.sleep(wait_s)
            try:
                self._end_expired()
                await self._sandboxes.frozen.trim()
                if time.monotonic() - sampled > SAMPLE_S:
                    sampled = time.monotonic()
                    for sandbox in self._sandboxes.running():
                        self._tasks.start_soon(self._try_sample, sandbox)
                if time.monotonic() - collected > COLLECT_S:
                    collected = time.monotonic()
                    await self._sandboxes.budget.collect()
                rounds.done()
                wait_s = SWEEP_S
            except Exception as error:
                wait_s = rounds.failed(error)

    async def keep_prepared(self) -> None:
        """Have boxes ready before they are asked for, until cancelled."""
        rounds = Rounds("boxes_not_prepared", first_s=5)
        while True:
            try:
                await self._sandboxes.machines.prepare()
                rounds.done()
            except Exception as error:
                await anyio.sleep(rounds.failed(error))
                continue
            await self._sandboxes.box_taken()

    def _end_expired(self) -> None:
        now = time.monotonic()
        for sandbox in self._sandboxes.running():
            expired = sandbox.until <= now or (sandbox.box is not None and sandbox.box.expired)
            lost = sandbox.work is not None and sandbox.work.envd.ended.is_set()
            if lost or (expired and not sandbox.lock.locked()):
                self._tasks.start_soon(self._try_expire, sandbox, lost)
                sandbox.lasts(EXPIRE_AGAIN_S)

    async def _try_expire(self, sandbox: Sandbox, lost: bool) -> None:
        try:
            await self._expire(sandbox, lost)
        except Exception as error:  # of this sandbox alone
            log_failure("sandbox_not_ended", error, sandbox=sandbox.sandbox_id)

    async def _expire(self, sandbox: Sandbox, lost: bool) -> None:
        """Pause or kill a sandbox whose time is up; kill one whose box is lost."""
        if not lost and sandbox.record.auto_pause:
            try:
                await self._sandboxes.pause(sandbox, memory=sandbox.record.auto_pause_memory)
                return
            except (SandboxGymError, OSError) as error:
                _log.warning("sandbox_not_paused", sandbox=sandbox.sandbox_id, why=str(error))
                sandbox.pause_failures += 1
                if sandbox.running and not isinstance(error, BoxLost) and sandbox.pause_failures < MAX_FAILURES:
                    return  # tried again after EXPIRE_AGAIN_S: its files exist nowhere else
        _log.info("sandbox_ended", sandbox=sandbox.sandbox_id, lost=lost)
        await self._sandboxes.kill(sandbox)

    async def _try_sample(self, sandbox: Sandbox) -> None:
        try:
            await self._sandboxes.sample(sandbox)
        except SandboxGymError:
            return  # it ended meanwhile
        except Exception as error:
            log_failure("sandbox_not_measured", error, sandbox=sandbox.sandbox_id)


@asynccontextmanager
async def holding(sandboxes: Sandboxes, tasks: anyio.abc.TaskGroup) -> AsyncIterator[Sandboxes]:
    """Sandboxes with their housekeeping running; at the end no sandbox runs."""
    housekeeping = Housekeeping(sandboxes, tasks)
    tasks.start_soon(housekeeping.run)
    tasks.start_soon(housekeeping.keep_prepared)
    try:
        yield sandboxes
    finally:
        await sandboxes.aclose()
