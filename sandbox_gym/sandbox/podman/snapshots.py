"""Snapshots of sessions in containers: committed to labelled images.

Not captured: /tmp, /scratch and /dev/shm, which are memory, and processes. Podman keeps the parent chain; a label of
the image holds what the shell knew. The container's layer has no size cap of its own: each file has one.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from sandbox_gym.errors import ProviderDown
from sandbox_gym.private import make_private, write_whole
from sandbox_gym.sandbox.podman import orphans
from sandbox_gym.sandbox.podman.command import NotFound, Podman
from sandbox_gym.sandbox.podman.machine import PodmanMachine
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot, SavedState, Saving, Snapshot, SnapshotFailed

SNAPSHOT_LABEL: Final = "sandbox-gym.snapshot"
KEEPER_LABEL: Final = "sandbox-gym.keeper"
USER_LABEL: Final = "sandbox-gym.user"
"""The user that a snapshot's files belong to: what goes on from it must run as that user."""
MAX_LABEL: Final = 64 << 10
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class KeptImage:
    """A snapshot's image. `uid`: whose files it holds."""

    state: SavedState
    reference: str
    uid: int


class PodmanSnapshots:
    """See `api.SnapshotStore`. `folder` keeps pickled globals, which are read inside sandboxes only."""

    def __init__(self, podman: Podman, repository: str, folder: Path) -> None:
        """`repository`: what the images are called, by their snapshot's id as tag."""
        self._podman, self._repository, self._folder = podman, repository, folder
        make_private(folder)
        self._keeper = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
        self._sizes: dict[str, int] = {}
        """Disk that an image's topmost layer takes, by image id: asked for once, for an image does not change."""

    async def read(self, snapshot_id: str) -> KeptImage:
        """What a session goes on from. Raises NoSuchSnapshot, ProviderDown."""
        reference = self._reference(snapshot_id)
        try:
            found = json.loads(await self._podman.call("image", "inspect", reference))[0]
        except NotFound:
            raise NoSuchSnapshot(f"no snapshot {snapshot_id}") from None
        labels = found.get("Labels") or {}
        if labels.get(KEEPER_LABEL) != self._keeper:
            raise NoSuchSnapshot(f"no snapshot {snapshot_id}")
        blob = await anyio.to_thread.run_sync(_read, self._folder / f"{snapshot_id}.pickle")
        return KeptImage(SavedState(self._snapshot(found["Id"], labels), blob), reference, int(labels[USER_LABEL]))

    async def find(self, snapshot_id: str) -> Snapshot:
        return (await self.read(snapshot_id)).state.snapshot

    async def save(self, machine: PodmanMachine, saving: Saving) -> Snapshot:
        """Always durable: the container's layer becomes an image. The container is paused meanwhile. Raises
        SnapshotFailed."""
        snapshot, label = saving.snapshot, _as_label(saving.snapshot)
        if len(label) > MAX_LABEL:
            snapshot = replace(snapshot, env={})
            label = _as_label(snapshot)
        # the container's own labels would be the image's too, and say that it is a sandbox to be reaped
        labels = {
            SNAPSHOT_LABEL: label,
            KEEPER_LABEL: self._keeper,
            USER_LABEL: str(machine.user.uid),
            orphans.OWNER: "",
            orphans.EXPIRES: "",
        }
        changes = [f"--change=LABEL {name}={text}" for name, text in labels.items()]
        try:
            reference = self._reference(snapshot.snapshot_id)
            said = await self._podman.call(
                "commit", "--quiet", "--pause", "--include-volumes=false", *changes, machine.name, reference
            )
        except ProviderDown as error:
            raise SnapshotFailed(f"the container can't be committed: {error}") from error
        if saving.globals_blob:
            path = self._folder / f"{snapshot.snapshot_id}.pickle"
            await anyio.to_thread.run_sync(write_whole, path, saving.globals_blob)
        image_id = said.split()[-1]
        return replace(snapshot, digest=image_id, size_bytes=await self._measured(image_id))

    async def _measured(self, image_id: str) -> int:
        """Bytes of an image's topmost layer, which Podman tells in the image's history alone."""
        if image_id not in self._sizes:
            history = json.loads(await self._podman.call("history", "--format=json", "--no-trunc", image_id))
            self._sizes[image_id] = int(history[0]["size"])
        return self._sizes[image_id]

    def _snapshot(self, image_id: str, labels: Mapping[str, str]) -> Snapshot:
        known = Snapshot(**json.loads(base64.b64decode(labels[SNAPSHOT_LABEL])))
        return replace(known, digest=image_id, size_bytes=self._sizes.get(image_id, 0))

    async def all(self) -> Sequence[Snapshot]:
        """Oldest first."""
        found = []
        listed = await self._podman.call(
            "images", "--format=json", f"--filter={self._label()}", f"--filter=reference={self._repository}"
        )
        for image in json.loads(listed):
            await self._measured(image["Id"])
            found.append(self._snapshot(image["Id"], image["Labels"]))
        return sorted(found, key=lambda one: one.created_at)

    def _label(self) -> str:
        """What marks the snapshots of this state folder: several servers may share Podman's storage."""
        return f"label={KEEPER_LABEL}={self._keeper}"

    def _reference(self, snapshot_id: str) -> str:
        if not snapshot_id or not set(snapshot_id) <= _HEX:
            raise NoSuchSnapshot(f"no snapshot {snapshot_id[:40]!r}")
        return f"{self._repository}:{snapshot_id}"

    async def delete(self, snapshot_id: str) -> None:
        """A session that runs on the image keeps its files: the name alone is taken away then."""
        reference = self._reference(snapshot_id)
        with contextlib.suppress(NotFound):
            await self._podman.call("untag", reference, reference)
        await self._prune()
        await anyio.to_thread.run_sync(lambda: (self._folder / f"{snapshot_id}.pickle").unlink(missing_ok=True))

    async def _prune(self) -> None:
        """Images of this store that have no name and no child, and that no container runs on."""
        await self._podman.call("image", "prune", "--force", f"--filter={self._label()}")

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        snapshots = await self.all()
        used = sum(one.size_bytes for one in snapshots)
        for one in snapshots:
            if used <= budget_bytes:
                break
            if one.snapshot_id not in pinned:
                await self.delete(one.snapshot_id)
                used -= one.size_bytes
        await self._prune()
        return used

    async def adopt(self, folder: Path, snapshot_id: str) -> None:
        """Images belong to the store that made them."""
        raise NoSuchSnapshot(f"snapshot {snapshot_id[:40]!r} of {folder}: images are not taken over")


def _as_label(snapshot: Snapshot) -> str:
    """In base64: `podman commit` would read quotes, backslashes and variables in it."""
    return base64.b64encode(json.dumps(asdict(snapshot)).encode()).decode()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
