"""Sessions in local jails: a folder of stacked layers at /workspace, a driver inside, snapshots by cutting the stack.

Jails are started ahead of sessions, with an empty slot bound at /workspace; what a session goes on from is mounted into
the slot when it is known, so that opening one costs a mount and a fork.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import structlog

from sandbox_gym.contract import Isolation, Program, Run
from sandbox_gym.errors import BoxLost, ProviderDown
from sandbox_gym.faults import is_of_machine, provider_down
from sandbox_gym.limits import Limits
from sandbox_gym.network import NO_NETWORK, Network
from sandbox_gym.private import make_private
from sandbox_gym.sandbox.channel.driver import NOTHING, WORK, Driver
from sandbox_gym.sandbox.channel.guest_channel import GuestLink
from sandbox_gym.sandbox.egress.inner_listener import NoWayOut
from sandbox_gym.sandbox.egress.proxy import Door, open_door
from sandbox_gym.sandbox.local import pythons
from sandbox_gym.sandbox.local.holders import holders, work_mounts
from sandbox_gym.sandbox.local.provider import LocalBox, LocalProvider
from sandbox_gym.sandbox.local.slots import forget, live_folder, make_live, mark, own
from sandbox_gym.sandbox.local.store import Layer, Record, Store
from sandbox_gym.sandbox.local.trees import STORED_UID, CopyTrees, OverlayTrees, Space, Trees
from sandbox_gym.sandbox.session.snapshots import BUILDER_IMAGE, Snapshot, SnapshotBox, SnapshotFailed
from sandbox_gym.sandbox.users import User

MAX_IN_MEMORY = 3
"""Layers of a live session that may be in memory, which its cgroup pays for."""
MAX_LAYERS = 12
"""A longer stack is stored as one whole layer."""
SHARED_REMEDY = "keep state_dir on ext4, xfs, btrfs or tmpfs, and run Linux 6.3 or later"
_log = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Layer:
    """A read-only layer. `path` is where the next stack finds it; `cut` its place in memory, while there is one."""

    path: Path
    digest: str = ""
    cut: Path | None = None
    users: int = 0
    """Stacks and snapshots that hold it."""


@dataclass(frozen=True, slots=True)
class _Unsealed:
    """A snapshot in memory only."""

    snapshot: Snapshot
    layers: tuple[_Layer, ...]
    globals_blob: bytes


@dataclass(frozen=True, slots=True)
class _Room:
    """A jail, and the folder bound at its /workspace."""

    box: LocalBox
    slot: Path


class LocalSessions:
    """Opens sessions. One process at a time owns `root`; raises ConfigurationError when another does."""

    def __init__(
        self,
        provider: LocalProvider,
        root: Path,
        limits: Limits,
        *,
        warm: int = 2,
        home: str = "",
        image: str = "python",
        driver: Callable[[GuestLink], Driver] = Driver,
        network: Network = NO_NETWORK,
    ) -> None:
        """`home`: where a session's folder is shown, as its user's home; `driver`: the host's end of it; `network`:
        what `open_session` gives."""
        self._provider, self._limits, self._warm, self._image = provider, limits, warm, image
        self._network = network
        self._home, self.work, self.driver = home, home or WORK, driver
        make_private(root)
        self._root, self._renewing = root, threading.Lock()
        self._lock = own(root)
        self.live = live_folder(root)
        self._store = Store(root)
        self._trees = _trees(self.live, root, limits)
        self._layers: dict[str, _Layer] = {}
        self._unsealed: dict[str, _Unsealed] = {}
        self._rooms: list[_Room] = []
        self._numbers = 0
        self._operations: dict[int, float] = {}
        self._limiter = anyio.CapacityLimiter(4)

    @property
    def kind(self) -> str:
        """How snapshots are made here: "overlay" or "copy"."""
        return self._trees.kind

    async def in_thread(self, function: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(function, limiter=self._limiter)

    # -- rooms

    async def prepare(self) -> None:
        """Start jails ahead of sessions, up to the number that is kept warm. Raises ProviderDown."""
        while len(self._rooms) < self._warm:
            self._rooms.append(await self._new_room())

    async def _new_room(self, image: str = "", *, network: bool = False) -> _Room:
        self._numbers += 1
        name = f"s{self._numbers}"
        user = self._provider.claim() if self._trees.own_users else User(STORED_UID)
        try:
            slot = await self.in_thread(lambda: self._slot(name, user.uid))
        except Exception as error:
            user.close()
            if not is_of_machine(error):
                raise
            raise provider_down("a session has no folder", error) from error
        try:
            start = partial(self._provider.start, work=slot, home=self._home, network=network, user=user)
            return _Room(await start(image or self._image), slot)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.in_thread(lambda: self._trees.dispose(slot))
            raise

    def _slot(self, name: str, uid: int) -> Path:
        """Blocking. Where somebody emptied /run or the state folder, what is needed there is made again: without the
        lock other servers would take this one for dead, and its slots for orphans."""
        with self._renewing:
            if not os.fstat(self._lock).st_nlink:
                _log.warning("state_folder_gone", folder=str(self._root))
                make_private(self._root)
                lock, self._lock = self._lock, own(self._root)
                os.close(lock)
            if not self.live.exists():
                mark(self.live, self._root)
                make_live(self.live)
                self._trees.renew()
        return self._trees.slot(name, uid)

    async def open_session(self, limits: Limits, snapshot_id: str | None = None) -> LocalSession:
        """See `sandbox.snapshots.SessionProvider`."""
        return await self._opened(limits, snapshot_id, None, self._image, self.driver, self._network)

    async def open_as(
        self,
        limits: Limits,
        snapshot_id: str | None,
        *,
        image: str,
        driver: Callable[[GuestLink], Driver],
        network: Network = NO_NETWORK,
    ) -> LocalSession:
        """As `open_session`, of an image, with a driver and a disk of its own; the snapshots are everybody's."""
        space = Space(limits.scratch_bytes, limits.scratch_inodes)
        return await self._opened(limits, snapshot_id, space, image, driver, network)

    async def _opened(
        self,
        limits: Limits,
        snapshot_id: str | None,
        space: Space | None,
        image: str,
        driver: Callable[[GuestLink], Driver],
        network: Network,
    ) -> LocalSession:
        while self._rooms and image == self._image and not network.machine:
            try:
                return await self._open(self._rooms.pop(), limits, snapshot_id, space, driver, network)
            except NoWayOut:  # nor had another
                raise
            except ProviderDown as error:  # it may have died while it was kept warm
                _log.warning("warm_room_lost", why=str(error))
        room = await self._new_room(image, network=network.machine)
        return await self._open(room, limits, snapshot_id, space, driver, network)

    async def adopt(self, folder: Path, snapshot_id: str) -> None:
        """See `sandbox.snapshots.SupportsAdopting`."""
        await self.in_thread(lambda: self._store.adopt(folder, snapshot_id))

    async def open_builder(self, limits: Limits, image: str, python: str = "") -> LocalSession:
        """See `sandbox.snapshots.SupportsBuilding`."""
        if python:
            await self.in_thread(lambda: pythons.ready(python))
        if image != BUILDER_IMAGE:
            raise ProviderDown(f"provider local has no images, and {image[:200]!r} is one; use docker")
        room = await self._new_room(network=True)
        return await self._open(room, limits, None, Space(limits.scratch_bytes, limits.scratch_inodes), self.driver)

    async def open_box(self, limits: Limits, snapshot_id: str) -> SnapshotBox:
        """See `sandbox.snapshots.SupportsBuilding`."""
        _snapshot, layers, _blob = await self._find(snapshot_id)
        room = self._rooms.pop() if self._rooms else await self._new_room()
        session = LocalSession(self, room, None, self.driver)
        try:
            await self._fill(session, layers, Space(limits.scratch_bytes, limits.scratch_inodes))
        except BaseException as error:
            await session.aclose()
            if isinstance(error, OSError):
                raise ProviderDown(f"a snapshot can't be mounted: {error}") from error
            raise
        return SnapshotBox(room.box, session.aclose)

    async def _open(
        self,
        room: _Room,
        limits: Limits,
        snapshot_id: str | None,
        space: Space | None,
        driver: Callable[[GuestLink], Driver],
        network: Network = NO_NETWORK,
    ) -> LocalSession:
        session = LocalSession(self, room, None, driver)
        try:
            snapshot, layers, blob = await self._find(snapshot_id)
            session.parent = snapshot
            await self._fill(session, layers, space)
            if network.allow is not None:
                session.door = await open_door(room.box.pid, network.allow, session.box_id)
            await session.start(limits, blob)
        except BaseException as error:
            await session.aclose()
            if isinstance(error, OSError | BoxLost):
                raise ProviderDown(f"a session does not start: {error}") from error
            raise
        return session

    async def _fill(self, session: LocalSession, layers: tuple[_Layer, ...], space: Space | None) -> None:
        self._retain(layers)
        session.layers = layers
        await self.in_thread(lambda: self._trees.fill(session.slot, [layer.path for layer in layers], space))

    async def _find(self, snapshot_id: str | None) -> tuple[Snapshot | None, tuple[_Layer, ...], bytes]:
        if snapshot_id is None:
            return None, (), b""
        unsealed = self._unsealed.get(snapshot_id)
        if unsealed is not None:
            return unsealed.snapshot, unsealed.layers, unsealed.globals_blob
        record = self._store.read(snapshot_id)
        blob = await self.in_thread(lambda: self._store.read_globals(snapshot_id))
        return record.snapshot, tuple(self._on_disk(digest) for digest in record.layers), blob

    def _on_disk(self, digest: str) -> _Layer:
        if digest not in self._layers:
            self._layers[digest] = _Layer(self._store.layer_path(digest), digest)
        return self._layers[digest]

    # -- layers

    def _retain(self, layers: Sequence[_Layer]) -> None:
        for layer in layers:
            layer.users += 1

    async def release(self, layers: Sequence[_Layer]) -> None:
        """Layers that one stack or snapshot needs no longer; those in memory go with their last user."""
        for layer in layers:
            layer.users -= 1
            if layer.users == 0:
                if self._layers.get(layer.digest) is layer:
                    del self._layers[layer.digest]
                if layer.cut is not None:
                    await self.in_thread(partial(self._trees.drop, layer.cut))

    async def cut(self, session: LocalSession) -> tuple[_Layer, ...]:
        """The session's stack as it is now; the session goes on above it."""
        if self._trees.kind == "copy":
            return (await self._cut_layer(session),)
        if session.busy:
            copy = await self.in_thread(lambda: self._store.seal(session.slot, owner=self._stored_by()))
            return (self._on_disk(copy.digest),)
        if sum(not layer.digest for layer in session.layers) >= MAX_IN_MEMORY:
            await self._to_disk(session)
        old = await self.in_thread(lambda: work_mounts(session.box.pids(), self.work))
        layer = await self._cut_layer(session)
        self._retain([layer])
        session.layers = (layer, *session.layers)
        await session.settle()
        held = await self.in_thread(lambda: holders(session.box.pids(), old))
        if held:  # something still writes below: what it writes must not reach those who build on the cut
            _log.info("cut_still_held", box=session.box_id, holders=held)
            copy = await self.in_thread(lambda: self._store.seal(layer.path))
            return (self._on_disk(copy.digest), *session.layers[1:])
        return session.layers

    def _stored_by(self) -> int:
        return STORED_UID if self._trees.kind == "overlay" else -1

    async def _cut_layer(self, session: LocalSession) -> _Layer:
        cut = await self.in_thread(lambda: self._trees.cut(session.slot))
        return _Layer(cut, cut=cut)

    async def keep(
        self, session: LocalSession, snapshot: Snapshot, layers: tuple[_Layer, ...], blob: bytes, *, durable: bool
    ) -> Snapshot:
        """Make a snapshot of a stack; on disk where `durable`."""
        self._retain(layers)
        if not durable:
            self._unsealed[snapshot.snapshot_id] = _Unsealed(snapshot, layers, blob)
            return snapshot
        try:
            done = await self.in_thread(lambda: self._seal(snapshot, layers, blob))
            if not session.busy:
                await self._to_disk(session)
            return done
        except OSError as error:
            raise SnapshotFailed(f"the work folder can't be kept: {error}") from error
        finally:
            await self.release(layers)

    async def _to_disk(self, session: LocalSession) -> None:
        """Put a session on the layers' places on disk, so that what it wrote so far leaves memory."""
        before = session.layers
        if self._trees.kind == "copy":
            return
        digests = await self.in_thread(lambda: self._digests(before)[0])
        after = tuple(self._on_disk(digest) for digest in digests)
        self._retain(after)
        if await self.in_thread(lambda: self._trees.rebase(session.slot, [layer.path for layer in after])):
            session.layers = after
            await session.settle()
            await self.release(before)
        else:
            await self.release(after)

    def _seal(self, snapshot: Snapshot, layers: tuple[_Layer, ...], blob: bytes) -> Snapshot:
        """Blocking. Layers that are in memory only get their place on disk; a long stack becomes one layer."""
        digests, top = self._digests(layers)
        done = replace(snapshot, digest=digests[0], size_bytes=top.size_bytes, files=top.files)
        self._store.write(Record(done, digests), blob)
        return done

    def _digests(self, layers: tuple[_Layer, ...]) -> tuple[tuple[str, ...], Layer]:
        """The stack's layers on disk, where they are put unless they are there, and what the topmost holds."""
        try:
            if len(layers) > MAX_LAYERS:
                raise SnapshotFailed("a long stack")
            for layer in reversed(layers):
                if not layer.digest:
                    layer.digest = self._store.seal(layer.path).digest
                    layer.path = self._store.layer_path(layer.digest)
            return tuple(layer.digest for layer in layers), self._store.layer(layers[0].digest)
        except SnapshotFailed:  # what one layer holds may be what a later one took away
            if len(layers) == 1:
                raise
            top = self._merged(layers)
            return (top.digest,), top

    def _merged(self, layers: tuple[_Layer, ...]) -> Layer:
        slot = self._trees.slot(f"m{secrets.token_hex(4)}")
        try:
            self._trees.fill(slot, [layer.path for layer in layers])
            return self._store.seal(slot)
        finally:
            self._trees.dispose(slot)

    async def dispose(self, room: _Room, layers: tuple[_Layer, ...]) -> None:
        """A session's room and stack; what others build on stays."""
        await self.in_thread(lambda: self._trees.dispose(room.slot))
        await self.release(layers)

    # -- snapshots

    async def snapshots(self) -> Sequence[Snapshot]:
        """Those on disk, oldest first, then those in memory."""
        return [record.snapshot for record in self._store.records()] + [one.snapshot for one in self._unsealed.values()]

    async def delete(self, snapshot_id: str) -> None:
        unsealed = self._unsealed.pop(snapshot_id, None)
        if unsealed is not None:
            await self.release(unsealed.layers)
        await self.in_thread(lambda: self._store.delete(snapshot_id))

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        in_use = frozenset(self._layers)
        before = min(self._operations.values(), default=time.monotonic())
        collect = partial(self._store.collect, in_use=in_use, before=before)
        return await self.in_thread(lambda: collect(budget_bytes=budget_bytes, pinned=pinned))

    @contextmanager
    def operation(self) -> Iterator[None]:
        """While layers are sealed and not yet named by a snapshot; a collection leaves them alone."""
        self._numbers += 1
        number = self._numbers
        self._operations[number] = time.monotonic()
        try:
            yield
        finally:
            del self._operations[number]

    def used_bytes(self) -> int:
        """Disk that the snapshots take."""
        return self._store.used_bytes()

    async def aclose(self) -> None:
        """Every warm jail, every mount; snapshots on disk stay."""
        with anyio.CancelScope(shield=True):
            rooms, self._rooms = self._rooms, []
            for room in rooms:
                await room.box.aclose()
                await self.dispose(room, ())
            for snapshot_id in list(self._unsealed):
                await self.delete(snapshot_id)
            await self.in_thread(self._trees.close)
            await self.in_thread(lambda: forget(self.live))
            os.close(self._lock)


class LocalSession:
    """One session in a jail."""

    isolation: Isolation = "namespace"

    def __init__(
        self, owner: LocalSessions, room: _Room, parent: Snapshot | None, driver: Callable[[GuestLink], Driver]
    ) -> None:
        self.box, self.slot, self.box_id = room.box, room.slot, room.box.box_id
        self.layers: tuple[_Layer, ...] = ()
        self._owner, self._room, self.parent = owner, room, parent
        self.driver = driver(room.box.link)
        self.door: Door | None = None
        self.busy = False
        """Programs run that go on after a snapshot: it is a copy, so that nothing moves below them."""
        self._closed = False

    async def start(self, limits: Limits, globals_blob: bytes) -> None:
        """Start the driver; what the shell and Python knew goes back to them."""
        self.box.cap([Run("session", Program("session", {}), limits=limits)])
        await self.driver.start(limits, self.door.environment if self.door is not None else NOTHING)
        if self.parent is not None:
            await self.driver.restore(self.parent, globals_blob)

    async def call(
        self, request: Mapping[str, object], body: bytes = b"", *, within_s: float
    ) -> tuple[Mapping[str, object], bytes]:
        return await self.driver.call(request, body, within_s=within_s)

    async def settle(self) -> None:
        """Its folder was mounted anew: shell and Python step into it again by name."""
        await self.driver.call({"op": "settle", "work": self._owner.work}, within_s=20)

    async def snapshot(self, *, durable: bool = True, keep_globals: bool = False) -> Snapshot:
        """See `sandbox.snapshots.SessionBox`. Raises SnapshotFailed; the session lives on."""
        snapshot, blob = await self.driver.save(self.parent, keep_globals=keep_globals)
        with self._owner.operation():
            try:
                layers = await self._owner.cut(self)
            except OSError as error:
                raise SnapshotFailed(f"the work folder can't be cut: {error}") from error
            self.parent = await self._owner.keep(self, snapshot, layers, blob, durable=durable)
        return self.parent

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            try:
                if self.door is not None:
                    await self.door.aclose()
            finally:
                await self.box.aclose()
                await self._owner.dispose(self._room, self.layers)


def _trees(live: Path, store: Path, limits: Limits) -> Trees:
    if os.geteuid() == 0:
        try:
            trees = OverlayTrees(live, store, limits=limits)
            if trees.why_shared:
                _log.warning("sessions_share_a_user", why=trees.why_shared, remedy=SHARED_REMEDY)
            return trees
        except OSError as error:
            _log.warning("no_overlay", why=str(error))
    return CopyTrees(live)
