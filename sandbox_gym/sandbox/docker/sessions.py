"""Sessions in containers: files in the container's own layer, snapshots by commit to labelled images.

Not captured: /tmp, /scratch and /dev/shm, which are memory, and processes. The Engine keeps the parent chain; a label
of the image holds what the shell knew. The container's layer has no size cap of its own: each file has one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from sandbox_gym.contract import Isolation, Program, Run
from sandbox_gym.errors import BoxLost, ProviderDown
from sandbox_gym.limits import Limits
from sandbox_gym.network import NO_NETWORK, Network
from sandbox_gym.private import make_private, write_whole
from sandbox_gym.sandbox.channel.driver import NOTHING, Driver
from sandbox_gym.sandbox.channel.guest_channel import GuestLink
from sandbox_gym.sandbox.docker import orphans
from sandbox_gym.sandbox.docker.provider import DockerBox, DockerProvider
from sandbox_gym.sandbox.egress.inner_listener import NOT_HERE, NoWayOut
from sandbox_gym.sandbox.egress.proxy import Door, open_door
from sandbox_gym.sandbox.session.snapshots import NoSuchSnapshot, Snapshot, SnapshotBox, SnapshotFailed

SNAPSHOT_LABEL: Final = "sandbox-gym.snapshot"
KEEPER_LABEL: Final = "sandbox-gym.keeper"
USER_LABEL: Final = "sandbox-gym.user"
"""Whose a snapshot's files are: those who go on from it must run as that user."""
UNLABELLED_UID: Final = 20_000
"""Of snapshots without the label, which all were this user's."""
MAX_LABEL: Final = 64 << 10
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class _Image:
    """A snapshot's image: its snapshot, and the disk that its topmost layer takes."""

    snapshot: Snapshot
    reference: str
    uid: int


class DockerSessions:
    """Opens sessions as containers. `folder` keeps pickled globals, which are for the sandbox and nobody else."""

    def __init__(
        self,
        provider: DockerProvider,
        folder: Path,
        *,
        image: str = "python",
        driver: Callable[[GuestLink], Driver] = Driver,
        network: Network = NO_NETWORK,
    ) -> None:
        """`driver`: the host's end of what runs in a session's container; `network`: what `open_session` gives."""
        self._network = network
        self._provider, self._folder, self._image, self.driver = provider, folder, image, driver
        self._repository = f"{provider.prefix}snapshot"
        make_private(folder)
        self._keeper = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]

    def _reference(self, snapshot_id: str) -> str:
        if not snapshot_id or not set(snapshot_id) <= _HEX:
            raise NoSuchSnapshot(f"no snapshot {snapshot_id[:40]!r}")
        return f"{self._repository}:{snapshot_id}"

    async def open_session(self, limits: Limits, snapshot_id: str | None = None) -> DockerSession:
        """See `sandbox.snapshots.SessionProvider`."""
        return await self.open_as(limits, snapshot_id, image=self._image, driver=self.driver, network=self._network)

    async def open_as(
        self,
        limits: Limits,
        snapshot_id: str | None,
        *,
        image: str,
        driver: Callable[[GuestLink], Driver],
        network: Network = NO_NETWORK,
    ) -> DockerSession:
        """As `open_session`, of an image and with a driver of its own; the snapshots are everybody's."""
        parent, blob, reference, uid = None, b"", f"{self._provider.prefix}{image}:latest", None
        if snapshot_id is not None:
            reference = self._reference(snapshot_id)
            found = next((one for one in await self._images() if one.reference == reference), None)
            if found is None:
                raise NoSuchSnapshot(f"no snapshot {snapshot_id}")
            parent, uid = found.snapshot, found.uid
            blob = await anyio.to_thread.run_sync(_read, self._folder / f"{snapshot_id}.pickle")
        box = await self._provider.start_from(reference, session=True, network=network.machine, uid=uid)
        session = DockerSession(self, box, parent, driver)
        try:
            if network.allow is not None:
                session.door = await self._door(box, network.allow)
            await session.start(limits, blob)
        except BaseException as error:
            await session.aclose()
            if isinstance(error, OSError | BoxLost):
                raise ProviderDown(f"a session does not start: {error}") from error
            raise
        return session

    async def _door(self, box: DockerBox, allow: Sequence[str]) -> Door:
        """Raises ProviderDown."""
        if box.isolation == "gvisor":
            raise NoWayOut("gVisor has a loopback of its own, where no proxy of ours can listen; use another runtime")
        pid = await self._provider.pid_of(box.container)
        if not await anyio.to_thread.run_sync(_is_of, pid, str(box.container.id)):
            raise NoWayOut(NOT_HERE)
        return await open_door(pid, allow, box.box_id, below=False)

    async def open_builder(self, limits: Limits, image: str, python: str = "") -> DockerSession:
        """See `sandbox.snapshots.SupportsBuilding`. A name without a registry or tag is one of our own images, which
        brings its Pythons; a build says so where it does not."""
        ours = "/" not in image and ":" not in image
        reference = f"{self._provider.prefix}{image}:latest" if ours else image
        box = await self._provider.start_from(reference, session=True, network=True)
        session = DockerSession(self, box, None, self.driver)
        try:
            await session.start(limits, b"")
        except BaseException:
            await session.aclose()
            raise
        return session

    async def open_box(self, limits: Limits, snapshot_id: str) -> SnapshotBox:
        """See `sandbox.snapshots.SupportsBuilding`."""
        reference = self._reference(snapshot_id)
        box = await self._provider.start_from(reference, session=True, uid=await self._uid_of(reference))
        return SnapshotBox(box, box.aclose)

    async def commit(self, box: DockerBox, snapshot: Snapshot, globals_blob: bytes) -> Snapshot:
        """Keep the container's layer as an image. The container is paused meanwhile. Raises SnapshotFailed."""
        label = json.dumps(asdict(snapshot))
        if len(label) > MAX_LABEL:
            snapshot = replace(snapshot, env={})
            label = json.dumps(asdict(snapshot))
        # the container's own labels would be the image's too, and say that it is a sandbox to be reaped
        changes = {
            "Labels": {
                SNAPSHOT_LABEL: label,
                KEEPER_LABEL: self._keeper,
                USER_LABEL: str(box.user.uid),
                orphans.OWNER: "",
                orphans.EXPIRES: "",
            }
        }
        try:
            image = await self._provider.engine_call(
                lambda _client: box.container.commit(self._repository, snapshot.snapshot_id, conf=changes)
            )
        except ProviderDown as error:
            raise SnapshotFailed(f"the container can't be committed: {error}") from error
        if globals_blob:
            path = self._folder / f"{snapshot.snapshot_id}.pickle"
            await anyio.to_thread.run_sync(write_whole, path, globals_blob)
        size = await self._provider.engine_call(lambda _client: int(image.history()[0]["Size"]))
        return replace(snapshot, digest=str(image.id).removeprefix("sha256:"), size_bytes=size)

    async def _uid_of(self, reference: str) -> int:
        """Whose files are in a snapshot's image. Raises ProviderDown."""
        found = await self._provider.engine_call(lambda client: client.api.inspect_image(reference))
        return _uid(found["Config"]["Labels"] or {})

    async def _images(self) -> list[_Image]:
        def listed(client: Any) -> list[_Image]:
            found = []
            for image in client.images.list(name=self._repository, filters={"label": self._label()}):
                document = json.loads(image.labels[SNAPSHOT_LABEL])
                digest, size = str(image.id).removeprefix("sha256:"), int(image.history()[0]["Size"])
                snapshot = replace(Snapshot(**document), digest=digest, size_bytes=size)
                reference = f"{self._repository}:{snapshot.snapshot_id}"
                found.append(_Image(snapshot, reference, _uid(image.labels)))
            return sorted(found, key=lambda one: one.snapshot.created_at)

        return await self._provider.engine_call(listed)

    def _label(self) -> str:
        """What marks the snapshots of this state folder: several servers may share an Engine."""
        return f"{KEEPER_LABEL}={self._keeper}"

    async def snapshots(self) -> Sequence[Snapshot]:
        return [one.snapshot for one in await self._images()]

    async def delete(self, snapshot_id: str) -> None:
        reference = self._reference(snapshot_id)

        def remove(client: Any) -> None:
            if client.images.list(name=reference):
                client.images.remove(reference, force=True)

        await self._provider.engine_call(remove)
        await anyio.to_thread.run_sync(lambda: (self._folder / f"{snapshot_id}.pickle").unlink(missing_ok=True))

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        images = await self._images()
        used = sum(one.snapshot.size_bytes for one in images)
        for one in images:
            if used <= budget_bytes:
                break
            if one.snapshot.snapshot_id not in pinned:
                await self.delete(one.snapshot.snapshot_id)
                used -= one.snapshot.size_bytes
        # a snapshot deleted while a session still ran on it has lost its name only
        unnamed = {"dangling": True, "label": self._label()}
        await self._provider.engine_call(lambda client: client.images.prune(filters=unnamed))
        return used

    async def aclose(self) -> None:
        """The provider is its owner's; snapshots stay."""


class DockerSession:
    """One session in a container."""

    def __init__(
        self, owner: DockerSessions, box: DockerBox, parent: Snapshot | None, driver: Callable[[GuestLink], Driver]
    ) -> None:
        self.box, self.box_id = box, box.box_id
        self.isolation: Isolation = box.isolation
        self._owner, self._parent = owner, parent
        self.driver = driver(box.link)
        self.door: Door | None = None
        self.busy = False

    @property
    def worn(self) -> bool:
        """So old that its container is to be replaced."""
        return self.box.worn

    async def start(self, limits: Limits, globals_blob: bytes) -> None:
        """Start the driver; what the shell and Python knew goes back to them."""
        await self.box.cap([Run("session", Program("session", {}), limits=limits)])
        await self.driver.start(limits, self.door.environment if self.door is not None else NOTHING)
        if self._parent is not None:
            await self.driver.restore(self._parent, globals_blob)

    async def call(
        self, request: Mapping[str, object], body: bytes = b"", *, within_s: float
    ) -> tuple[Mapping[str, object], bytes]:
        return await self.driver.call(request, body, within_s=within_s)

    async def snapshot(self, *, durable: bool = True, keep_globals: bool = False) -> Snapshot:
        """Always durable: an image. Raises SnapshotFailed; the session lives on."""
        snapshot, blob = await self.driver.save(self._parent, keep_globals=keep_globals)
        self._parent = await self._owner.commit(self.box, snapshot, blob)
        return self._parent

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            try:
                if self.door is not None:
                    await self.door.aclose()
            finally:
                await self.box.aclose()


def _uid(labels: Mapping[str, str]) -> int:
    return int(labels.get(USER_LABEL) or UNLABELLED_UID)


def _is_of(pid: int, container_id: str) -> bool:
    """Whether a process of this machine is that container's: the Engine may be on another machine, or we in a PID
    namespace of our own, and a number says nothing then."""
    try:
        return pid > 0 and container_id in Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return False


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
