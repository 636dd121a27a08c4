"""One node: what runs plans in the sandboxes of this machine, for a server elsewhere that asks in messages.

Owns what runs here and whether anything new may. Knows nothing of how messages travel, nor of what answers are worth.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
import structlog

from sandbox_gym import __version__, judging
from sandbox_gym.cluster.messages import (
    SHARED,
    GoOn,
    NodeDraining,
    NodeRefused,
    Nothing,
    Pong,
    Progress,
    Start,
    Ticket,
    failure_reply,
    reply,
)
from sandbox_gym.cluster.node_sessions import NodeSessions
from sandbox_gym.cluster.runs import NodeRun
from sandbox_gym.codec import LONG, CodecError, decode
from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.errors import ConfigurationError, SandboxGymError, Unavailable
from sandbox_gym.faults import log_failure
from sandbox_gym.plans.runner import Caller, PlanRunner
from sandbox_gym.private import make_private, state_folder
from sandbox_gym.sandbox.session.builds import MakeBuilder
from sandbox_gym.sandbox.session.manager import Sessions

FORGOTTEN_S: Final = 120.0
"""A run that is over, and that the server has not asked after for so long, is forgotten."""
_log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Lease:
    run: NodeRun
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    asked_at: float = field(default_factory=time.monotonic)


class Node:
    """Answers messages. Use `open_node` to make one."""

    def __init__(
        self, runner: PlanRunner, slots: int, tasks: anyio.abc.TaskGroup, sessions: NodeSessions | None
    ) -> None:
        self._runner, self._slots, self._tasks, self._sessions = runner, slots, tasks, sessions
        self._leases: dict[str, _Lease] = {}
        self._draining = False
        self._operations: dict[str, Callable[[bytes], Awaitable[object]]] = {
            "ping": self._ping,
            "start": self._start,
            "more": self._more,
            "cancel": self._cancel,
            "drain": self._drain,
            "undrain": self._undrain,
            **({} if sessions is None else sessions.operations),
        }

    async def answer(self, operation: str, message: bytes) -> bytes:
        """The reply to a message; an error of ours is one, too."""
        try:
            handler = self._operations.get(operation)
            if handler is None:
                raise NodeRefused(f"a node knows no {operation[:40]!r}")
            value = await handler(message)
            reports = value.outcomes if isinstance(value, Progress) else ()
            size_bytes = sum(judging.outcome_bytes(report.outcome) for report in reports)
            return await judging.read(size_bytes, partial(reply, value, long=size_bytes > LONG))
        except CodecError as error:
            return failure_reply(NodeRefused(f"{operation[:40]}: {error}"))
        except SandboxGymError as error:
            return failure_reply(error)

    # -- how it is

    async def _ping(self, message: bytes) -> Pong:
        now = time.monotonic()
        for ticket, lease in list(self._leases.items()):
            if lease.run.over.is_set() and now - lease.asked_at > FORGOTTEN_S:
                del self._leases[ticket]
        stats = self._runner.stats()
        sessions = self._sessions
        return Pong(
            version=__version__,
            slots=min(self._slots, max(1, stats.get("limit", self._slots))),
            leased=len(self._leases),
            draining=self._draining,
            sessions_folder="" if sessions is None else sessions.folder,
            stats=stats,
            sessions={} if sessions is None else sessions.stats(),
        )

    async def _drain(self, message: bytes) -> Nothing:
        """Nothing new from now on."""
        self._draining = True
        return Nothing()

    async def _undrain(self, message: bytes) -> Nothing:
        self._draining = False
        return Nothing()

    # -- plans

    async def _start(self, message: bytes) -> Progress:
        if self._draining:
            raise NodeDraining("the node is draining")
        start = decode(Start, message, shared=SHARED)
        if not start.plan.steps:
            raise NodeRefused("a plan without steps")
        lease = self._leases[start.ticket] = _Lease(NodeRun(start.plan))
        self._tasks.start_soon(self._run, lease, start)
        return await self._progress(start.ticket, lease)

    async def _more(self, message: bytes) -> Progress:
        wanted = decode(GoOn, message)
        lease = self._leases.get(wanted.ticket)
        if lease is None:
            raise NodeRefused("the node knows no such run")
        lease.run.stop_at(wanted.attempt, wanted.failed)
        return await self._progress(wanted.ticket, lease)

    async def _progress(self, ticket: str, lease: _Lease) -> Progress:
        lease.asked_at = time.monotonic()
        try:
            progress = await lease.run.progress()
        except SandboxGymError:
            self._leases.pop(ticket, None)
            raise
        if progress.finished is not None:
            self._leases.pop(ticket, None)
        return progress

    async def _cancel(self, message: bytes) -> Nothing:
        lease = self._leases.pop(decode(Ticket, message).ticket, None)
        if lease is not None:
            lease.scope.cancel()
        return Nothing()

    async def _run(self, lease: _Lease, start: Start) -> None:
        caller, began = Caller(start.tenant, start.deadline_s), time.monotonic()
        with lease.scope, structlog.contextvars.bound_contextvars(request_id=start.request_id):
            try:
                result = await self._runner.run(lease.run.plan, lease.run.passed, caller)
            except SandboxGymError as error:
                lease.run.fail(error)
            except Exception as error:  # this run's; a node holds others
                log_failure("run_failed", error)
                lease.run.fail(Unavailable(f"the node failed at the run: {type(error).__name__}"))
            else:
                lease.run.finish(result, time.monotonic() - began)
        if lease.scope.cancelled_caught:
            lease.run.fail(Unavailable("the run was given up"))


@asynccontextmanager
async def open_node(
    settings: Settings, *, sessions: str = "", make_builder: MakeBuilder | None = None
) -> AsyncIterator[Node]:
    """A node by settings; its engine is closed at the end. Raises ConfigurationError.

    `sessions`: hold stateful sandboxes too, under this server's name, in a folder of this node's own. `make_builder`:
    what makes the snapshots that some of them begin from.
    """
    async with contextlib.AsyncExitStack() as stack:
        name = stack.enter_context(claimed_folder(settings.state_dir, sessions)) if sessions else ""
        engine = await stack.enter_async_context(open_engine(settings, sessions=name))
        tasks = await stack.enter_async_context(anyio.create_task_group())
        folder = settings.state_dir / "sessions" / name if name else None
        held = None
        if isinstance(engine.sessions, Sessions) and folder is not None:
            builder = make_builder(engine.sessions, settings) if make_builder is not None else None
            held = NodeSessions(engine.sessions, folder, builder)
        try:
            yield Node(engine.runner, settings.boxes, tasks, held)
        finally:
            tasks.cancel_scope.cancel()


MOST: Final = 256
"""Nodes of one server on one machine."""


@contextmanager
def claimed_folder(state_dir: Path, server: str) -> Iterator[str]:
    """`<server>/<host>-<number>`: the first that no living process holds. Raises ConfigurationError.

    The host is in the name, so that machines may share one state folder.
    """
    parent = state_dir / "sessions" / server
    try:
        state_folder(state_dir)
        make_private(parent)
        name, lock = _claim(parent)
    except OSError as error:
        raise ConfigurationError(f"state_dir {state_dir}: {error.strerror}; name another folder") from None
    try:
        yield f"{server}/{name}"
    finally:
        os.close(lock)


def _claim(parent: Path) -> tuple[str, int]:
    for number in range(MOST):
        name = f"{socket.gethostname()[:64]}-{number}"
        lock = os.open(parent / f"{name}.claim", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return name, lock
        except BlockingIOError:
            os.close(lock)
    raise ConfigurationError(f"{MOST} nodes keep their sessions in {parent} already")
