"""Snapshots of sessions in containers: committed to labelled images.

Not captured: /tmp, /scratch and /dev/shm, which are memory, and processes. The Engine keeps the parent chain; a label
of the image holds what the shell knew. The container's layer has no size cap of its own: each file has one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from sandbox_gym.errors import ProviderDown
from sandbox_gym.private import make_private, write_whole
from sandbox_gym.sandbox.docker import orphans
from sandbox_gym.sandbox.docker.engine import Engine
from sandbox_gym.sandbox.docker.machine import DockerMachine
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot, SavedState, Saving, Snapshot, SnapshotFailed

SNAPSHOT_LABEL: Final = "sandbox-gym.snapshot"
KEEPER_LABEL: Final = "sandbox-gym.keeper"
USER_LABEL: Final = "sandbox-gym.user"
"""The user that a snapshot's files belong to: what goes on from it must run as that user."""
GUEST_LABEL: Final = "sandbox-gym.guest"
"""`volume`: what goes on from it has its guest's interpreter from the guest's volume."""
UNLABELLED_UID: Final = 20_000
"""Of snapshots without the label, which all were this user's."""
MAX_LABEL: Final = 64 << 10
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class KeptImage:
    """A snapshot's image. `uid`: whose files it holds. `guest_volume`: of an image that others built."""

    state: SavedState
    reference: str
    uid: int
    guest_volume: bool


class DockerSnapshots:
    """See `api.SnapshotStore`. `folder` keeps pickled globals, which are read inside sandboxes only."""

    def __init__(self, engine: Engine, repository: str, folder: Path) -> None:
        """`repository`: what the images are called, by their snapshot's id as tag."""
        self._engine, self._repository, self._folder = engine, repository, folder
        make_private(folder)
        self._keeper = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
        self._sizes: dict[str, int] = {}
        """Disk that an image's topmost layer takes, by image id: asked for once, for an image does not change."""

    async def read(self, snapshot_id: str) -> KeptImage:
        """What a session goes on from. Raises NoSuchSnapshot, ProviderDown."""
        reference = self._reference(snapshot_id)
        found = await self._engine.call(lambda client: self._inspected(client, reference))
        labels = (found or {}).get("Config", {}).get("Labels") or {}
        if found is None or labels.get(KEEPER_LABEL) != self._keeper:
            raise NoSuchSnapshot(f"no snapshot {snapshot_id}")
        blob = await anyio.to_thread.run_sync(_read, self._folder / f"{snapshot_id}.pickle")
        state = SavedState(self._snapshot(str(found["Id"]), labels), blob)
        return KeptImage(state, reference, _uid(labels), labels.get(GUEST_LABEL) == "volume")

    def _inspected(self, client: Any, reference: str) -> dict[str, Any] | None:
        try:
            return dict(client.api.inspect_image(reference))
        except self._engine.not_found:
            return None

    async def find(self, snapshot_id: str) -> Snapshot:
        return (await self.read(snapshot_id)).state.snapshot

    async def save(self, machine: DockerMachine, saving: Saving) -> Snapshot:
        """Always durable: the container's layer becomes an image. The container is paused meanwhile. Raises
        SnapshotFailed."""
        snapshot, label = saving.snapshot, json.dumps(asdict(saving.snapshot))
        if len(label) > MAX_LABEL:
            snapshot = replace(snapshot, env={})
            label = json.dumps(asdict(snapshot))
        # the container's own labels would be the image's too, and say that it is a sandbox to be reaped
        labels = {
            SNAPSHOT_LABEL: label,
            KEEPER_LABEL: self._keeper,
            USER_LABEL: str(machine.user.uid),
            GUEST_LABEL: "volume" if machine.guest_volume else "",
            orphans.OWNER: "",
            orphans.EXPIRES: "",
        }
        commit = {"repository": self._repository, "tag": snapshot.snapshot_id, "conf": {"Labels": labels}}
        try:
            image_id = await self._engine.call(lambda _client: str(machine.container.commit(**commit).id))
        except ProviderDown as error:
            raise SnapshotFailed(f"the container can't be committed: {error}") from error
        if saving.globals_blob:
            path = self._folder / f"{snapshot.snapshot_id}.pickle"
            await anyio.to_thread.run_sync(write_whole, path, saving.globals_blob)
        await self._engine.call(lambda client: self._measure(client, image_id))
        return replace(snapshot, digest=image_id.removeprefix("sha256:"), size_bytes=self._sizes[image_id])

    def _measure(self, client: Any, image_id: str) -> None:
        """Blocking. The Engine tells a layer's size in the image's history alone."""
        if image_id not in self._sizes:
            self._sizes[image_id] = int(client.api.history(image_id)[0]["Size"])

    def _snapshot(self, image_id: str, labels: Mapping[str, str]) -> Snapshot:
        known = Snapshot(**json.loads(labels[SNAPSHOT_LABEL]))
        return replace(known, digest=image_id.removeprefix("sha256:"), size_bytes=self._sizes.get(image_id, 0))

    async def all(self) -> Sequence[Snapshot]:
        """Oldest first."""

        def listed(client: Any) -> Sequence[Snapshot]:
            found = []
            for image in client.api.images(name=self._repository, filters={"label": self._label()}):
                self._measure(client, image["Id"])
                found.append(self._snapshot(image["Id"], image["Labels"]))
            return sorted(found, key=lambda one: one.created_at)

        return await self._engine.call(listed)

    def _label(self) -> str:
        """What marks the snapshots of this state folder: several servers may share an Engine."""
        return f"{KEEPER_LABEL}={self._keeper}"

    def _reference(self, snapshot_id: str) -> str:
        if not snapshot_id or not set(snapshot_id) <= _HEX:
            raise NoSuchSnapshot(f"no snapshot {snapshot_id[:40]!r}")
        return f"{self._repository}:{snapshot_id}"

    async def delete(self, snapshot_id: str) -> None:
        reference = self._reference(snapshot_id)

        def remove(client: Any) -> None:
            if client.images.list(name=reference):
                client.images.remove(reference, force=True)

        await self._engine.call(remove)
        await anyio.to_thread.run_sync(lambda: (self._folder / f"{snapshot_id}.pickle").unlink(missing_ok=True))

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        snapshots = await self.all()
        used = sum(one.size_bytes for one in snapshots)
        for one in snapshots:
            if used <= budget_bytes:
                break
            if one.snapshot_id not in pinned:
                await self.delete(one.snapshot_id)
                used -= one.size_bytes
        await self._engine.call(self._remove_unnamed)
        return used

    def _remove_unnamed(self, client: Any) -> None:
        """A snapshot deleted while a session still ran on it has lost its name only. Blocking. One by one: the Engine
        prunes for one caller of the machine at a time, and refuses the others."""
        for image in client.api.images(filters={"dangling": True, "label": self._label()}):
            try:
                client.api.remove_image(image["Id"])
            except self._engine.api_error as error:
                if getattr(error, "status_code", None) not in (404, 409):  # gone, or a session still runs on it
                    raise

    async def adopt(self, folder: Path, snapshot_id: str) -> None:
        """Images belong to the store that made them."""
        raise NoSuchSnapshot(f"snapshot {snapshot_id[:40]!r} of {folder}: images are not taken over")


def _uid(labels: Mapping[str, str]) -> int:
    return int(labels.get(USER_LABEL) or UNLABELLED_UID)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
