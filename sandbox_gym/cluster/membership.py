"""Who is in the cluster: nodes that come, are asked how they are, fall silent, drain, and are lost.

Owns the life of each node's link and what is sent over it. Knows nothing of plans, nor of what links are made of.
A node that comes back after it was lost is another member: nothing of its former life counts.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

import anyio
import anyio.abc
import structlog

from sandbox_gym import __version__
from sandbox_gym.cluster.messages import NodeLost, Pong, read_reply
from sandbox_gym.cluster.placement import Placement
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.faults import Rounds, log_failure


class NodeLink(Protocol):
    """A way to one node's pool."""

    async def ask(self, operation: str, message: bytes) -> bytes:
        """Its reply. Raises NodeLost when it is gone; may wait for ever: the caller keeps the clock. Cancelling a call
        ends the wait, not what the node does."""
        ...

    async def aclose(self, *, lost: bool = False) -> None:
        """End the pool: in peace, or, where it counts as lost, at once and without a last word on its sessions, for
        another may have taken them over. Idempotent."""
        ...


class Fleet(Protocol):
    """The machines."""

    async def nodes(self) -> Sequence[str]:
        """Names of those that are alive and may hold a pool. Raises NodeLost when no node can be asked now."""
        ...

    async def open(self, node: str) -> NodeLink:
        """Start a pool on a node; it is up when its first `ping` is answered. Raises NodeLost."""
        ...


OPEN_S: Final = 180.0
"""How long a pool may take to start on a node."""
AGAIN_S: Final = 10.0
"""After a pool could not be started: when it is tried again."""
PINGS_PER_S: Final = 200
"""Over all nodes; beyond it each is asked less often."""
CLOSE_S: Final = 10.0
REST_S: Final = 10.0
"""A node that could make no sandbox gets nothing new for so long."""
Status = Literal["starting", "up", "silent", "sick", "draining", "failed", "lost"]
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How often nodes are looked for and asked, and when silence means that one is lost. Seconds."""

    look_s: float = 2.0
    ping_s: float = 1.0
    lost_s: float = 15.0

    @property
    def silent_s(self) -> float:
        """Without an answer for so long a node gets nothing new."""
        return self.lost_s / 3


@dataclass(slots=True, eq=False)
class Member:
    """One life of a node. `key` names it in the placement."""

    name: str
    key: str
    status: Status = "starting"
    why: str = ""
    rests_until: float = 0.0
    """Monotonic."""
    link: NodeLink | None = None
    pong: Pong | None = None
    calls: set[anyio.CancelScope] = field(default_factory=set)
    life: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def here(self) -> bool:
        """Whether it can be asked, and finishes what it has."""
        return self.link is not None and self.status in ("up", "silent", "sick", "draining")


class Membership:
    """The members by node. `joined` is awaited before a node gets its first lease."""

    def __init__(
        self, fleet: Fleet, placement: Placement, pace: Pace, joined: Callable[[Member], Awaitable[None]] | None = None
    ) -> None:
        self._fleet, self._placement, self._pace = fleet, placement, pace
        self.joined = joined
        self._members: dict[str, Member] = {}
        self._keys: dict[str, Member] = {}
        self._numbers = itertools.count(1)
        self._kept: dict[str, object] = {}
        self._tasks: anyio.abc.TaskGroup | None = None
        self._changed = anyio.Event()
        self.listeners: list[Callable[[Member], None]] = []
        self.lost = 0

    # -- what is known

    def members(self) -> list[Member]:
        """The latest life of each node."""
        return list(self._members.values())

    def by_key(self, key: str) -> Member:
        """A member that the placement named."""
        return self._keys[key]

    def counts(self) -> Mapping[str, int]:
        """Nodes by status."""
        return Counter(member.status for member in self._members.values())

    async def change(self) -> None:
        """Wait until any node came, went, or changed its state."""
        await self._changed.wait()

    def _note(self, member: Member) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        for listener in self.listeners:
            listener(member)

    # -- asking

    async def ask(self, member: Member, operation: str, message: bytes) -> bytes:
        """A member's reply. Raises NodeLost, also when it is lost while it is asked."""
        link = member.link
        if link is None or not member.here:
            raise NodeLost(f"node {member.name} is {member.status}: {member.why}")
        with anyio.CancelScope() as scope:
            member.calls.add(scope)
            try:
                return await link.ask(operation, message)
            except NodeLost as error:
                self._lose(member, str(error))
                raise
            finally:
                member.calls.discard(scope)
        raise NodeLost(f"node {member.name} was lost: {member.why}")

    def send(self, member: Member, operation: str, message: bytes) -> None:
        """Send a message without a reply; one that is lost with the node is not sent again."""
        if self._tasks is not None and member.here:
            self._tasks.start_soon(self._send, member, operation, message)

    async def _send(self, member: Member, operation: str, message: bytes) -> None:
        try:
            await self.ask(member, operation, message)
        except NodeLost as error:
            _log.debug("node_message_lost", node=member.name, operation=operation, why=str(error))
        except Exception as error:
            log_failure("node_message_lost", error, node=member.name, operation=operation)

    def mark_draining(self, member: Member) -> None:
        """A member said that it takes nothing new."""
        if member.status in ("up", "silent", "sick"):
            member.status = "draining"
            self._placement.shut(member.key)
            _log.info("node_draining", node=member.name)
            self._note(member)

    def mark_unhealthy(self, member: Member, why: str) -> None:
        """A member could make no sandbox: with all its slots free it would be asked first, again and again."""
        if member.status == "up":
            member.status, member.why = "sick", why
            member.rests_until = time.monotonic() + REST_S
            self._placement.shut(member.key)
            _log.warning("node_unhealthy", node=member.name, why=why)
            self._note(member)

    # -- members' lives

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Follow the fleet until cancelled; then end every link."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            task_status.started()
            rounds = Rounds("cluster_unreachable")
            try:
                while True:
                    try:
                        await self._look(tasks)
                        rounds.done()
                    except Exception as error:
                        await anyio.sleep(rounds.failed(error))
                    await anyio.sleep(self._pace.look_s)
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    async def _look(self, tasks: anyio.abc.TaskGroup) -> None:
        try:
            names = set(await self._fleet.nodes())
        except NodeLost as error:
            _log.warning("cluster_unreachable", why=str(error))
            return
        for name in [name for name in self._kept if name not in names]:
            del self._kept[name]
            member = self._members.get(name)
            if member is not None:
                self._lose(member, "it left the cluster")
        for name in sorted(names - self._kept.keys()):
            self._kept[name] = kept = object()
            tasks.start_soon(self._keep, name, kept)

    async def _keep(self, name: str, kept: object) -> None:
        """One life of a node after another, while the fleet has it."""
        member = None
        while self._kept.get(name) is kept:
            member = Member(name, f"{name}#{next(self._numbers)}")
            self._members[name] = member
            with member.life:
                try:
                    await self._open(member)
                    await self._follow(member)
                except SandboxGymError as error:
                    self._lose(member, str(error))
                except Exception as error:  # this member's; the others serve on
                    log_failure("node_watch_failed", error, node=member.name)
                    self._lose(member, f"{type(error).__name__}: {str(error)[:200]}")
                finally:
                    self._part(member, "")
                    await self._close(member)
            if self._kept.get(name) is kept:
                await anyio.sleep(AGAIN_S if member.status == "failed" else self._pace.ping_s)
        if self._members.get(name) is member:
            del self._members[name]

    async def _open(self, member: Member) -> None:
        """Start its pool. Raises NodeLost where it does not come up."""
        try:
            with anyio.fail_after(OPEN_S):
                member.link = await self._fleet.open(member.name)
                pong = read_reply(Pong, await member.link.ask("ping", b""))
        except TimeoutError:
            raise NodeLost(f"its pool did not start within {OPEN_S:g} s") from None
        if pong.version != __version__:
            raise NodeLost(f"it has sandbox_gym {pong.version}, the server {__version__}: install the same")
        member.pong, member.status = pong, "up"
        self._keys[member.key] = member
        self._placement.join(member.key, pong.slots)
        if self.joined is not None:
            self._placement.shut(member.key)
            await self.joined(member)
            self._placement.reopen(member.key)
        _log.info("node_up", node=member.name, slots=pong.slots)
        self._heard(member, pong)
        self._note(member)

    async def _follow(self, member: Member) -> None:
        """Ask how it is, again and again. Raises NodeLost once it is silent for too long."""
        pace = self._pace
        while True:
            await anyio.sleep(max(pace.ping_s, len(self._members) / PINGS_PER_S))
            pong = await self._pinged(member, pace.silent_s)
            if pong is None:
                if member.status in ("up", "sick"):
                    member.status = "silent"
                    self._placement.shut(member.key)
                    self._note(member)
                pong = await self._pinged(member, pace.lost_s - pace.silent_s)
            if pong is None:
                raise NodeLost(f"no word of it for {pace.lost_s:g} s")
            self._heard(member, pong)

    async def _pinged(self, member: Member, within_s: float) -> Pong | None:
        with anyio.move_on_after(within_s):
            return read_reply(Pong, await self.ask(member, "ping", b""))
        return None

    def _heard(self, member: Member, pong: Pong) -> None:
        before, slots = member.status, member.pong.slots if member.pong is not None else 0
        member.pong = pong
        rests = time.monotonic() < member.rests_until
        member.status = "draining" if pong.draining else "sick" if rests else "up"
        self._placement.resize(member.key, pong.slots)
        if member.status == "up":
            member.why = ""
            self._placement.reopen(member.key)
        else:
            self._placement.shut(member.key)
        if (before, slots) != (member.status, pong.slots):
            self._note(member)

    def _lose(self, member: Member, why: str) -> None:
        """It is gone, or as good as gone: pending calls fail now."""
        self._part(member, why)
        member.life.cancel()

    def _part(self, member: Member, why: str) -> None:
        if member.status in ("lost", "failed"):
            return
        member.status, member.why = ("failed" if member.status == "starting" else "lost"), why
        self.lost += member.status == "lost"
        if why:  # not the server's own end
            _log.warning("node_lost" if member.status == "lost" else "node_failed", node=member.name, why=why)
        self._placement.leave(member.key)
        self._keys.pop(member.key, None)
        for scope in list(member.calls):
            scope.cancel()
        self._note(member)

    async def _close(self, member: Member) -> None:
        link, member.link = member.link, None
        if link is not None:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_S):
                await link.aclose(lost=bool(member.why))
