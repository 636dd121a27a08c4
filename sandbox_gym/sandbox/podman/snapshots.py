"""Snapshots as images in Podman's storage."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence

from sandbox_gym.sandbox.containers.snapshots import LabelledImage, SnapshotImages
from sandbox_gym.sandbox.podman.command import NotFound, Podman
from sandbox_gym.sandbox.podman.machine import PodmanMachine


class PodmanSnapshots(SnapshotImages[PodmanMachine]):
    """See `SnapshotImages`."""

    def __init__(self, podman: Podman, repository: str) -> None:
        self._podman, self.repository = podman, repository

    async def inspect(self, reference: str) -> LabelledImage | None:
        try:
            found = json.loads(await self._podman.call("image", "inspect", reference))[0]
        except NotFound:
            return None
        return LabelledImage(found["Id"], found.get("Labels") or {})

    async def listed(self, label: str, *, unnamed: bool = False) -> Sequence[LabelledImage]:
        filters = [f"--filter=label={label}"] + ([] if unnamed else [f"--filter=reference={self.repository}"])
        found = json.loads(await self._podman.call("images", "--format=json", *filters))
        return [LabelledImage(image["Id"], image["Labels"]) for image in found]

    async def users(self, label: str) -> int:
        return len((await self._podman.call("ps", "--all", "--quiet", f"--filter=label={label}")).split())

    async def layer_bytes(self, image_id: str) -> int:
        """Podman tells a layer's size in the image's history alone."""
        return int(json.loads(await self._podman.call("history", "--format=json", "--no-trunc", image_id))[0]["size"])

    async def commit(self, machine: PodmanMachine, snapshot_id: str, labels: Mapping[str, str]) -> str:
        changes = [f"--change=LABEL {name}={text}" for name, text in labels.items()]
        how = ("--quiet", "--pause", "--include-volumes=false", *changes)
        said = await self._podman.call("commit", *how, machine.box_id, f"{self.repository}:{snapshot_id}")
        return said.split()[-1]

    async def remove(self, reference: str) -> None:
        with contextlib.suppress(NotFound):
            await self._podman.call("untag", reference, reference)

    async def prune(self, label: str, *, named: bool = False) -> None:
        how = ["--force", *(["--all"] if named else []), f"--filter=label={label}"]
        await self._podman.call("image", "prune", *how)
