"""What an agent left in its session, for its verdict: a patch, or none by its own doing.

Owns whose fault it is where the work can't be made a patch. What an agent did to its sandbox (no repository any more, a
filter of git's that hangs, a disk without inodes, all processes in use) is told from what the machine lacks by a second
session of the same instance: if the same commands work there, and the session itself fails before that and after it, it
is the agent's. Work that takes too long is the agent's only where that other session had its CPU, before the second try
and after it.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio

from sandbox_gym.engine import Engine
from sandbox_gym.errors import BoxLost, RequestError, SandboxShort, SessionClosed
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.swe.patch import PatchFailed
from sandbox_gym.server.swe.tools import SweTools
from sandbox_gym.server.swe.yardstick import slowness
from sandbox_gym.server.tools.session_client import ToolClient, held_sessions

_AGENTS: Final = (RequestError, SandboxShort)
"""What a session may bring about that is there and answers."""
MOST_SLOWNESS: Final = 2.0
"""Of wall time by CPU time. On a machine that is slower a patch that takes too long may take less than half of that
time elsewhere."""


@dataclass(frozen=True, slots=True)
class LeftWork:
    """`why_none`: why there is no patch, of the agent's own doing; empty where there is one."""

    patch: bytes = b""
    why_none: str = ""


async def left_work(engine: Engine, tools: SweTools, session_id: str, cpus: float = 1.0) -> LeftWork:
    """What a session's agent left. `cpus`: that a session may use. Raises BoxLost where that work went with a sandbox,
    now and each time it is asked, or where the machine makes no patch of it."""
    try:
        return LeftWork(await _patch(engine, tools, session_id))
    except _AGENTS as error:
        first = error
    except SessionClosed as error:
        raise _none(error) from error
    async with _untouched(engine, session_id, first) as other:
        await _check_elsewhere(engine, tools, other, first)
        if _late(first):
            await _check_machine(engine, other, first, cpus)
        try:
            return LeftWork(await _patch(engine, tools, session_id))
        except _AGENTS as error:
            second = error
        except SessionClosed as error:
            raise _none(error) from error
        if _late(second):
            await _check_machine(engine, other, second, cpus)
    return LeftWork(why_none=f"the session's work can't be made a patch: {second}")


def _late(error: Exception) -> bool:
    return isinstance(error, PatchFailed) and error.late


def _none(error: Exception) -> BoxLost:
    return BoxLost(f"the session's work can't be made a patch: {error}")


async def _patch(engine: Engine, tools: SweTools, session_id: str) -> bytes:
    call = ToolCall({}, None, session_id)
    client = ToolClient(engine, call)
    try:
        patch = await tools.patch(engine, call, client)
    except BoxLost:  # no loss of work by itself: the next sandbox goes on from the snapshot
        client = ToolClient(engine, call)
        patch = await tools.patch(engine, call, client)
    if client.stale:
        held_sessions(engine).discard(session_id)
        raise BoxLost("the session's sandbox was lost, and with it work that was done after its last snapshot")
    return patch


@asynccontextmanager
async def _untouched(engine: Engine, session_id: str, first: Exception) -> AsyncIterator[str]:
    """Another session of the same instance, for as long. Raises BoxLost where there is none of it."""
    sessions = held_sessions(engine)
    base = sessions.base_of(session_id)
    if base is None:
        raise _none(first) from first
    other = f"untouched-{uuid.uuid4()}"
    sessions.begin(other, base)
    try:
        yield other
    finally:
        with anyio.CancelScope(shield=True):
            await sessions.close(other)


async def _check_elsewhere(engine: Engine, tools: SweTools, other: str, first: Exception) -> None:
    """Raises BoxLost where an untouched session can't be made a patch of either, and what opening one raises."""
    try:
        await tools.patch(engine, ToolCall({}, None, other))
    except (*_AGENTS, SessionClosed) as error:
        raise _none(first) from error


async def _check_machine(engine: Engine, other: str, late: Exception, cpus: float) -> None:
    """Raises BoxLost where an untouched session does not have its CPU now."""
    try:
        slow = min(1.0, cpus) * await slowness(ToolClient(engine, ToolCall({}, None, other)))
    except (*_AGENTS, SessionClosed) as error:
        raise _none(late) from error
    if slow > MOST_SLOWNESS:
        raise BoxLost(f"{_none(late)}; and the machine is {slow:.1f} times slower than it is alone")
