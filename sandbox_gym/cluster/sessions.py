"""Sessions on a cluster: each is bound to the node that holds its sandbox and snapshots, from its first call on.

When that node is lost, a session goes on elsewhere from its last snapshot if another node can read the lost one's
folder (a shared state folder, provider local). If none can, the session's work is gone: its calls say so, and there is
no verdict, until it is seeded again or closed. Owns which node holds which session; knows no HTTP.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

import anyio
import structlog
from anyio.abc import TaskGroup

from sandbox_gym.cluster.membership import Member, Membership
from sandbox_gym.cluster.messages import NodeLost, NodeRefused, Nothing, read_reply
from sandbox_gym.cluster.node_sessions import Held, Life, SessionCall, SessionReply
from sandbox_gym.cluster.placement import Placement
from sandbox_gym.codec import encode
from sandbox_gym.contract import SnapshotRef
from sandbox_gym.errors import DeadlineExceeded, PoolFull, ProviderDown, SessionClosed
from sandbox_gym.limits import Policy
from sandbox_gym.sandbox.session.builds import BuiltSnapshot
from sandbox_gym.sandbox.session.held import SessionStats
from sandbox_gym.sandbox.session.manager import GRACE_S, MAX_CLOSED, ToolReply

MOST_TRIED: Final = 3
"""Nodes that are asked to take a session over, or to build a repository, before that is given up."""
_log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Bound:
    """One life of a session. `folder`: its node's, for another that takes over."""

    life: str
    base: str = ""
    member: Member | None = None
    folder: str = ""
    root: bool = False
    lost: str = ""
    called: bool = False
    used_at: float = field(default_factory=time.monotonic)
    lock: anyio.Lock = field(default_factory=anyio.Lock)


class ClusterSessions:
    """Sessions as the server's tools use them; `build` makes what some of them begin from."""

    def __init__(self, membership: Membership, placement: Placement, policy: Policy, background: TaskGroup) -> None:
        """`background`: for work that outlives the call that asked for it."""
        self.background = background
        self._membership, self._placement = membership, placement
        self._policy, self._rooms = policy, Placement(margin=0.0)
        self.may_root = policy.root
        self._bound: OrderedDict[str, _Bound] = OrderedDict()
        self._closed: OrderedDict[str, None] = OrderedDict()
        self._last = 0
        self._built: dict[str, BuiltSnapshot] = {}
        self._by_key: dict[str, dict[str, None]] = {}
        self._builds: dict[str, anyio.Lock] = {}
        self.moved = self.lost = 0
        membership.joined = self._joined
        membership.listeners.append(self._follow)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._bound

    def stats_dict(self) -> dict[str, int]:
        """Those of all nodes together, and what the cluster adds."""
        sums = dict.fromkeys((*asdict(SessionStats()), "live", "hibernated_now"), 0)
        for member in self._membership.members():
            for name, value in member.pong.sessions.items() if member.here and member.pong is not None else ():
                sums[name] = sums.get(name, 0) + value
        return {**sums, "bound": len(self._bound), "moved_to_another_node": self.moved, "lost_with_node": self.lost}

    # -- sessions

    async def call(
        self,
        session_id: str,
        request: Mapping[str, object],
        body: bytes = b"",
        *,
        timeout_s: float,
        deadline_s: float = 600.0,
    ) -> ToolReply:
        """As `Sessions.call`; raises NodeLost for a session whose work went with its node."""
        bound = self._get(session_id)
        with anyio.move_on_after(deadline_s + GRACE_S):
            async with bound.lock:
                if self._bound.get(session_id) is not bound:
                    raise SessionClosed(f"session {session_id[:80]!r} is closed")
                member = await self._place(bound)
                call = SessionCall(bound.life, _json(request), body, timeout_s, deadline_s, bound.base, bound.root)
                bound.called, bound.used_at = True, time.monotonic()
                self._bound.move_to_end(session_id)
                try:
                    raw = await self._membership.ask(member, "session", encode(call))
                except NodeLost as error:  # whether it ran is not known, so it is not repeated
                    return ToolReply({"ok": False, "error": str(error)}, b"", lost=True)
                done = read_reply(SessionReply, raw)
                return ToolReply(_object(done.reply_json), done.body, done.restored, done.stale, done.lost)
        raise DeadlineExceeded(f"session {session_id[:80]!r} gave no answer within {deadline_s:g} s")

    def begin(self, session_id: str, snapshot_id: str) -> None:
        """As `Sessions.begin`: anew, on a node that has the snapshot."""
        self.discard(session_id)
        self._get(session_id).base = snapshot_id

    def grant_root(self, session_id: str) -> None:
        """As `Sessions.grant_root`."""
        self._get(session_id).root = self.may_root

    def base_of(self, session_id: str) -> str | None:
        """The snapshot that a held session began from."""
        bound = self._bound.get(session_id)
        return (bound.base or None) if bound is not None else None

    def discard(self, session_id: str) -> None:
        """As `Sessions.discard`: what comes next under this id is another life."""
        bound = self._forget(session_id)
        if bound is not None and bound.member is not None:
            self._membership.send(bound.member, "discard", encode(Life(bound.life)))

    async def close(self, session_id: str) -> None:
        """As `Sessions.close`: for good."""
        self._closed[session_id] = None
        while len(self._closed) > MAX_CLOSED:
            self._closed.popitem(last=False)
        bound = self._forget(session_id)
        if bound is not None and bound.member is not None and bound.member.here:
            try:
                read_reply(Nothing, await self._membership.ask(bound.member, "close", encode(Life(bound.life))))
            except (NodeLost, NodeRefused) as error:
                _log.info("session_lost_with_node", node=bound.member.name, why=str(error))

    def _get(self, session_id: str) -> _Bound:
        if session_id in self._closed:
            raise SessionClosed(f"session {session_id[:80]!r} is closed")
        if session_id not in self._bound:
            self._expire()
            if len(self._bound) >= self._policy.held:
                raise PoolFull(f"{len(self._bound)} sessions are held, as many as may be; close some")
            self._last += 1
            self._bound[session_id] = _Bound(f"{session_id}#{self._last}")
        return self._bound[session_id]

    def _expire(self) -> None:
        """Sessions that had no call for their time to live go; their nodes close them too. The oldest is first."""
        now = time.monotonic()
        while self._bound:
            session_id, bound = next(iter(self._bound.items()))
            if now - bound.used_at <= self._policy.ttl_s or bound.lock.locked():
                return
            self.discard(session_id)

    def _forget(self, session_id: str) -> _Bound | None:
        bound = self._bound.pop(session_id, None)
        if bound is not None and bound.member is not None:
            self._rooms.give(bound.member.key)
        return bound

    # -- places

    def _follow(self, member: Member) -> None:
        """A node came, went, drains or is silent: so do its rooms."""
        if not member.here:
            return self._rooms.leave(member.key)
        if member.key not in self._rooms:
            self._rooms.join(member.key, self._policy.live)
        if member.status == "up":
            self._rooms.reopen(member.key)
        else:
            self._rooms.shut(member.key)

    async def _place(self, bound: _Bound) -> Member:
        """The node that holds it: the one it is bound to, else a new one, which may have to take it over."""
        if bound.lost:
            raise NodeLost(bound.lost)
        if bound.member is not None and bound.member.here:
            return bound.member
        member = self._room(bound.base) if not bound.called else await self._moved(bound)
        bound.member, bound.folder = member, _folder(member)
        return member

    def _room(self, base: str, *, avoid: Collection[str] = ()) -> Member:
        key = self._rooms.place(str(SnapshotRef(base)) if base else "", avoid=avoid, held=bool(base))
        if key is None:
            what = "what the session begins from is on no node that takes anything new" if base else "no node is up"
            raise ProviderDown(what)
        return self._membership.by_key(key)

    async def _moved(self, bound: _Bound) -> Member:
        """Another node, that goes on from the last snapshot. Raises NodeLost where none can."""
        was, tried, why = bound.member, set[str](), ""
        assert was is not None
        while len(tried) < MOST_TRIED:
            try:
                member = self._room("", avoid=tried)
            except ProviderDown as error:
                why = why or str(error)
                break
            try:
                read_reply(Nothing, await self._membership.ask(member, "adopt", encode(Life(bound.life, bound.folder))))
            except (NodeLost, NodeRefused) as error:
                why = str(error)
                tried.add(member.key)
                self._rooms.give(member.key)
                continue
            self.moved += 1
            _log.info("session_moved", life=bound.life[:80], node=member.name, was=was.name)
            return member
        self.lost += 1
        bound.lost = f"the session was lost with node {was.name} ({why}); seed it again"
        raise NodeLost(bound.lost)

    async def _joined(self, member: Member) -> None:
        """What a node has from before: sessions of an earlier server of this name, repositories that are built."""
        if not _folder(member):
            return
        held = read_reply(Held, await self._membership.ask(member, "held", b""))
        self._rooms.join(member.key, self._policy.live)
        for built in held.built:
            self._remember(member, built)
        for life, base in held.lives.items():
            self._reclaim(member, life, base)

    def _reclaim(self, member: Member, life: str, base: str) -> None:
        """Bind a life to the node that has it, unless it is bound elsewhere or another came after it."""
        session_id, _, number = life.rpartition("#")
        if not number.isdigit():
            return
        self._last = max(self._last, int(number))
        known = self._bound.get(session_id)
        same = known is not None and known.life == life
        gone = known is not None and (known.member is None or not known.member.here)
        if known is None or (same and gone):
            self._rooms.take(member.key)
            self._bound[session_id] = _Bound(life, base, member, _folder(member), called=True)
        elif not same or known.member is not member:
            self._membership.send(member, "discard", encode(Life(life)))

    # -- repositories

    async def build(self, key: str, image: str, request: bytes) -> BuiltSnapshot:
        """What the nodes' builder makes of the request, on some node, unless one has it by its key. Raises Unavailable.
        `image`: what it begins from, where a node may be warm for it."""
        async with self._builds.setdefault(key, anyio.Lock()):
            tried: set[str] = set()
            while True:
                node = self._with_built(key, tried) or self._placement.place(image, avoid=tried)
                if node is None:
                    raise ProviderDown("no node of the cluster takes anything now")
                member = self._membership.by_key(node)
                try:
                    built = read_reply(BuiltSnapshot, await self._membership.ask(member, "build", request))
                except (NodeLost, NodeRefused):
                    tried.add(node)
                    if len(tried) >= MOST_TRIED:
                        raise
                    continue
                finally:
                    self._placement.give(node)
                self._remember(member, built)
                return built

    def _remember(self, member: Member, built: BuiltSnapshot) -> None:
        self._built[built.snapshot_id] = built
        self._by_key.setdefault(built.key, {})[built.snapshot_id] = None
        for placement in (self._placement, self._rooms):
            if member.key in placement:
                for snapshot_id in (built.snapshot_id, *built.further):
                    placement.hold(member.key, str(SnapshotRef(snapshot_id)))

    def _with_built(self, key: str, tried: Collection[str]) -> str | None:
        """A node that has it and takes something new, one of whose slots is taken."""
        for snapshot_id in self._by_key.get(key, ()):
            node = self._placement.place(str(SnapshotRef(snapshot_id)), avoid=tried, held=True)
            if node is not None:
                return node
        return None

    def built(self, snapshot_id: str) -> BuiltSnapshot | None:
        """What a snapshot was built for."""
        return self._built.get(snapshot_id)


def _folder(member: Member) -> str:
    return member.pong.sessions_folder if member.pong is not None else ""


def _json(request: Mapping[str, object]) -> bytes:
    return json.dumps(dict(request)).encode("ascii")


def _object(raw: bytes) -> Mapping[str, object]:
    """A driver's reply: an object, whatever is in it."""
    try:
        found: object = json.loads(raw)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise NodeLost("a node's reply of a session is no object")
    return found
