"""Snapshots as images of a Docker Engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox_gym.sandbox.containers.snapshots import ImageSnapshots, LabelledImage
from sandbox_gym.sandbox.docker.engine import Engine
from sandbox_gym.sandbox.docker.machine import DockerMachine


class DockerSnapshots(ImageSnapshots[DockerMachine]):
    """See `api.SnapshotStore`."""

    def __init__(self, engine: Engine, repository: str, folder: Path) -> None:
        super().__init__(repository, folder)
        self._engine = engine

    async def inspect(self, reference: str) -> LabelledImage | None:
        def inspected(client: Any) -> LabelledImage | None:
            try:
                found = client.api.inspect_image(reference)
            except self._engine.not_found:
                return None
            return LabelledImage(str(found["Id"]), found["Config"].get("Labels") or {})

        return await self._engine.call(inspected)

    async def listed(self) -> Sequence[LabelledImage]:
        filters = {"label": self.label}
        found = await self._engine.call(lambda client: client.api.images(name=self.repository, filters=filters))
        return [LabelledImage(str(image["Id"]), image["Labels"] or {}) for image in found]

    async def layer_bytes(self, image_id: str) -> int:
        """The Engine tells a layer's size in the image's history alone."""
        return await self._engine.call(lambda client: int(client.api.history(image_id)[0]["Size"]))

    async def commit(self, machine: DockerMachine, snapshot_id: str, labels: Mapping[str, str]) -> str:
        settings = {"repository": self.repository, "tag": snapshot_id, "conf": {"Labels": dict(labels)}}
        return await self._engine.call(lambda _client: str(machine.container.commit(**settings).id))

    async def remove(self, reference: str) -> None:
        def removed(client: Any) -> None:
            if client.images.list(name=reference):
                client.images.remove(reference, force=True)

        await self._engine.call(removed)

    async def prune(self) -> None:
        """A snapshot deleted while a session still ran on it has lost its name only. One by one: the Engine prunes for
        one caller of the machine at a time, and refuses the others."""

        def pruned(client: Any) -> None:
            for image in client.api.images(filters={"dangling": True, "label": self.label}):
                try:
                    client.api.remove_image(image["Id"])
                except self._engine.api_error as error:
                    if getattr(error, "status_code", None) not in (404, 409):  # gone, or a session still runs on it
                        raise

        await self._engine.call(pruned)
