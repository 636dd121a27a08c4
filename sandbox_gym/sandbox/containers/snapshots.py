"""Snapshots of sessions in containers: committed to labelled images.

Not captured: /tmp, /scratch and /dev/shm, which are memory, and processes. The engine keeps the parent chain; a label
of the image holds what the shell knew. The container's layer has no size cap of its own: each file has one.
"""

from __future__ import annotations

import base64
import json
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

import anyio.to_thread

from sandbox_gym.errors import ProviderDown
from sandbox_gym.private import write_whole
from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.containers import keepers, ownership
from sandbox_gym.sandbox.containers.keepers import KEEPER_LABEL, kept_in, why_gone
from sandbox_gym.sandbox.containers.machine import ContainerMachine
from sandbox_gym.sandbox.snapshots import FORGOTTEN_S, NoSuchSnapshot, SavedState, Saving, Snapshot, SnapshotFailed

SNAPSHOT_LABEL: Final = "sandbox-gym.snapshot"
USER_LABEL: Final = "sandbox-gym.user"
"""The user that a snapshot's files belong to: what goes on from it must run as that user."""
GUEST_LABEL: Final = "sandbox-gym.guest"
"""`volume`: what goes on from it has its guest's interpreter from the guest's volume."""
MAX_LABEL: Final = 64 << 10
_HEX = frozenset("0123456789abcdef")
M = TypeVar("M", bound=ContainerMachine)


class LabelledImage(NamedTuple):
    """An image as its engine knows it."""

    image_id: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KeptImage:
    """A snapshot's image. `uid`: whose files it holds. `guest_volume`: of an image that others built."""

    state: SavedState
    reference: str
    uid: int
    guest_volume: bool


class SnapshotImages(ABC, Generic[M]):
    """An engine's images that are snapshots, of this state folder and of others. Each method raises ProviderDown."""

    repository: str
    """What the images are called, by their snapshot's id as tag."""

    @abstractmethod
    async def inspect(self, reference: str) -> LabelledImage | None:
        """None where there is no such image."""

    @abstractmethod
    async def listed(self, label: str, *, unnamed: bool = False) -> Sequence[LabelledImage]:
        """Those of the repository that have the label; with `unnamed` also those of no name and of any other."""

    @abstractmethod
    async def users(self, label: str) -> int:
        """How many containers there are of images that have the label."""

    @abstractmethod
    async def layer_bytes(self, image_id: str) -> int:
        """Of the topmost layer."""

    @abstractmethod
    async def commit(self, machine: M, snapshot_id: str, labels: Mapping[str, str]) -> str:
        """The container's layer as an image, whose id is returned. The container is paused meanwhile."""

    @abstractmethod
    async def remove(self, reference: str) -> None:
        """Take an image's name away, if it is there. A session that runs on the image keeps its files."""

    @abstractmethod
    async def prune(self, label: str, *, named: bool = False) -> None:
        """Remove images with the label that have no name, with `named` also those with one, and that no container runs
        on."""


class ImageSnapshots(Generic[M]):
    """See `api.SnapshotStore`. `folder` keeps pickled globals, which are read inside sandboxes only."""

    def __init__(self, images: SnapshotImages[M], folder: Path) -> None:
        self._images, self._folder = images, folder
        self._keeper = keepers.keeper_of(folder)
        self._label = f"{KEEPER_LABEL}={self._keeper}"
        """What marks the snapshots of this state folder: several servers may share an engine."""
        self._sizes: dict[str, int] = {}
        """Disk that an image's topmost layer takes, by image id: asked for once, for an image does not change."""

    async def read(self, snapshot_id: str) -> KeptImage:
        """What a session goes on from. Raises NoSuchSnapshot, ProviderDown."""
        reference = self._reference(snapshot_id)
        found = await self._images.inspect(reference)
        if found is None or found.labels.get(KEEPER_LABEL) != self._keeper:
            raise NoSuchSnapshot(f"no snapshot {snapshot_id}")
        blob = await anyio.to_thread.run_sync(_read, self._folder / f"{snapshot_id}.pickle")
        state = SavedState(self._snapshot(found), blob)
        return KeptImage(state, reference, int(found.labels[USER_LABEL]), found.labels.get(GUEST_LABEL) == "volume")

    async def find(self, snapshot_id: str) -> Snapshot:
        return (await self.read(snapshot_id)).state.snapshot

    async def save(self, machine: M, saving: Saving) -> Snapshot:
        """Always durable. Raises SnapshotFailed, ProviderDown."""
        snapshot, label = saving.snapshot, _as_label(saving.snapshot)
        if len(label) > MAX_LABEL:
            snapshot = replace(snapshot, env={})
            label = _as_label(snapshot)
        # the container's own labels would be the image's too, and say that it is a sandbox to be reaped
        labels = {
            SNAPSHOT_LABEL: label,
            **keepers.marks(self._folder, self._keeper),
            USER_LABEL: str(machine.user.uid),
            GUEST_LABEL: "volume" if machine.guest_volume else "",
            ownership.OWNER: "",
            ownership.EXPIRES: "",
        }
        try:
            image_id = await self._images.commit(machine, snapshot.snapshot_id, labels)
        except ProviderDown as error:
            raise SnapshotFailed(f"the container can't be committed: {error}") from error
        if saving.globals_blob:
            path = self._folder / f"{snapshot.snapshot_id}.pickle"
            try:
                await anyio.to_thread.run_sync(write_whole, path, saving.globals_blob)
            except OSError:
                await self._images.remove(self._reference(snapshot.snapshot_id))
                raise
        size = await self._measured(image_id)
        return replace(snapshot, digest=image_id.removeprefix("sha256:"), size_bytes=size)

    async def all(self) -> Sequence[Snapshot]:
        """Oldest first."""
        images = await self._images.listed(self._label)
        for image in images:
            await self._measured(image.image_id)
        return sorted(map(self._snapshot, images), key=lambda one: one.created_at)

    async def delete(self, snapshot_id: str) -> None:
        await self._images.remove(self._reference(snapshot_id))
        await anyio.to_thread.run_sync(lambda: (self._folder / f"{snapshot_id}.pickle").unlink(missing_ok=True))

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        snapshots = await self.all()
        used = sum(one.size_bytes for one in snapshots)
        forgotten = time.time() - FORGOTTEN_S
        for one in snapshots:
            if used <= budget_bytes and one.created_at > forgotten:
                break
            if one.snapshot_id not in pinned:
                await self.delete(one.snapshot_id)
                used -= one.size_bytes
        await self._images.prune(self._label)
        return used

    async def adopt(self, folder: Path, snapshot_id: str) -> None:
        """Images belong to the store that made them."""
        raise NoSuchSnapshot(f"snapshot {snapshot_id[:40]!r} of {folder}: images are not taken over")

    async def _measured(self, image_id: str) -> int:
        if image_id not in self._sizes:
            self._sizes[image_id] = await self._images.layer_bytes(image_id)
        return self._sizes[image_id]

    def _snapshot(self, image: LabelledImage) -> Snapshot:
        known = Snapshot(**json.loads(base64.b64decode(image.labels[SNAPSHOT_LABEL])))
        digest, size = image.image_id.removeprefix("sha256:"), self._sizes.get(image.image_id, 0)
        return replace(known, digest=digest, size_bytes=size)

    def _reference(self, snapshot_id: str) -> str:
        if not snapshot_id or not set(snapshot_id) <= _HEX:
            raise NoSuchSnapshot(f"no snapshot {snapshot_id[:40]!r}")
        return f"{self._images.repository}:{snapshot_id}"


def _as_label(snapshot: Snapshot) -> str:
    """In base64: a commit may read quotes, backslashes and variables in it."""
    return base64.b64encode(json.dumps(asdict(snapshot)).encode()).decode()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


class AbandonedSnapshots(Generic[M]):
    """An engine's OrphanSource: one orphan for all images of a state folder that is gone. A command removes
    them, and no server: a folder may be moved aside for a while."""

    def __init__(self, images: SnapshotImages[M], owners: Owners) -> None:
        self._images, self._owners = images, owners
        self.asked: Set[str] | None = None
        """Keepers that the operator says are gone, beside those that certainly are; None: none is looked for."""

    async def orphans(self) -> Sequence[Orphan]:
        if self.asked is None:
            return ()
        by_keeper: dict[str, list[LabelledImage]] = defaultdict(list)
        for image in await self._images.listed(KEEPER_LABEL, unnamed=True):
            by_keeper[image.labels[KEEPER_LABEL]].append(image)
        found = [(keeper, len(images), await self._why(keeper, images)) for keeper, images in by_keeper.items()]
        return [Orphan("snapshots", keeper, keeper, f"{count}: {why}") for keeper, count, why in found if why]

    async def _why(self, keeper: str, images: Sequence[LabelledImage]) -> str:
        reasons = [await anyio.to_thread.run_sync(why_gone, self._owners, one.labels) for one in images]
        if all(reasons):
            return reasons[0]
        return "named by --store" if self.asked is not None and keeper in self.asked else ""

    async def remove(self, orphan: Orphan) -> None:
        """Raises ProviderDown, PermissionError where something else is made of one of them."""
        label = f"{KEEPER_LABEL}={orphan.name}"
        for image in await self._images.listed(label, unnamed=True):
            folder = await anyio.to_thread.run_sync(kept_in, image.labels)
            if folder is not None:
                raise PermissionError(f"their folder {folder} is there; stop its server and remove the folder first")
        used = await self._images.users(label)
        if used:
            raise PermissionError(f"{used} containers are made of them, so a server has them; remove those first")
        await self._images.prune(label, named=True)
        left = await self._images.listed(label, unnamed=True)
        if left:
            raise PermissionError(f"{len(left)} are left: other images are made of them, or they have other names")
