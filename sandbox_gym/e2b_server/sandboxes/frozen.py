"""Paused sandboxes whose boxes stand still, with all that runs in them: they go on where they were.

Each has a snapshot of its files, too: a box is given up whenever its place or its memory is needed, and its sandbox
then goes on from the snapshot, as after a restart of the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import structlog

from sandbox_gym.e2b_server.sandboxes.processes import Work
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.faults import log_failure
from sandbox_gym.sandbox.session.session import Session
from sandbox_gym.server.access.accounts import Tenant

SHORT: Final = 0.1
"""Share of the machine's memory below which boxes that stand still are given up."""
THAW_S: Final = 30.0
_log = structlog.get_logger(__name__)


class _Kept(NamedTuple):
    sandbox: Sandbox
    box: Session
    work: Work


class Frozen:
    """Use one for all sandboxes of a pool."""

    def __init__(self, most: int, memory_left: Callable[[], float] | None = None) -> None:
        """`most`: boxes on this machine, those that run included. `memory_left`: the share of the machine's memory that
        is left."""
        self._most, self._memory_left = most, memory_left or free_memory
        self._kept: dict[str, _Kept] = {}
        """By sandbox, the longest paused first."""

    def has(self, sandbox: Sandbox) -> bool:
        return sandbox.sandbox_id in self._kept

    async def freeze(self, tenant: Tenant, sandbox: Sandbox) -> bool:
        """Let a sandbox's box stand still, which is the sandbox's no more; False where it can't be, and then it still
        is. Its processes are held already."""
        box, work = sandbox.box, sandbox.work
        if box is None or work is None or not tenant.sandboxes or self._memory_left() < SHORT:
            return False
        if work.in_a_cell:  # it began while files were kept
            return False
        await work.suspend()
        try:
            if sandbox.box is not box or not await box.freeze():
                return False
        except SandboxGymError as error:
            log_failure("sandbox_not_frozen", error, sandbox=sandbox.sandbox_id)
            return False
        sandbox.box, sandbox.work = None, None
        self._kept[sandbox.sandbox_id] = _Kept(sandbox, box, work)
        own = [one.sandbox for one in self._kept.values() if one.sandbox.record.tenant == tenant.name]
        for oldest in own[: max(0, len(own) - tenant.sandboxes)]:
            await self.give_up(oldest)
        return True

    async def thaw(self, sandbox: Sandbox) -> bool:
        """Let a sandbox go on in the box that it had; False where it has none any more."""
        kept = self._kept.pop(sandbox.sandbox_id, None)
        if kept is None:
            return False
        try:
            with anyio.fail_after(THAW_S):
                await kept.box.thaw()
                await kept.work.go_on()
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await _close(kept)
            if isinstance(error, SandboxGymError | TimeoutError):
                log_failure("sandbox_not_thawed", error, sandbox=sandbox.sandbox_id)
                return False
            raise
        sandbox.box, sandbox.work = kept.box, kept.work
        return True

    async def give_up(self, sandbox: Sandbox) -> None:
        """End a sandbox's box, if it has one here."""
        kept = self._kept.pop(sandbox.sandbox_id, None)
        if kept is not None:
            await _close(kept)

    async def make_room(self, taken: int) -> None:
        """Have places for so many boxes that run or are being opened."""
        while self._kept and taken + len(self._kept) > self._most:
            await self._give_up_oldest("its place was needed")

    async def trim(self) -> None:
        """Give up what is lost or too old, and, while memory is short, the longest paused."""
        for kept in list(self._kept.values()):
            if kept.work.envd.ended.is_set() or kept.box.expired:
                await self.give_up(kept.sandbox)
        if self._kept and self._memory_left() < SHORT:
            await self._give_up_oldest("memory is short")

    async def _give_up_oldest(self, why: str) -> None:
        kept = next(iter(self._kept.values()))
        _log.info("sandbox_keeps_files_alone", sandbox=kept.sandbox.sandbox_id, why=why)
        await self.give_up(kept.sandbox)

    async def aclose(self) -> None:
        async with anyio.create_task_group() as tasks:
            for kept in list(self._kept.values()):
                tasks.start_soon(self.give_up, kept.sandbox)


async def _close(kept: _Kept) -> None:
    try:
        await kept.box.aclose()
    except Exception as error:
        log_failure("box_not_closed", error, sandbox=kept.sandbox.sandbox_id)


def free_memory() -> float:
    """The share of this machine's memory that programs could still have; 1 where the kernel does not say."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return 1.0
    found = {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines)}
    return found["MemAvailable"] / found["MemTotal"] if {"MemAvailable", "MemTotal"} <= found.keys() else 1.0
