"""Snapshots as images of a Docker Engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox_gym.sandbox.containers.snapshots import LabelledImage, SnapshotImages
from sandbox_gym.sandbox.docker.engine import Engine
from sandbox_gym.sandbox.docker.machine import DockerMachine


class DockerSnapshots(SnapshotImages[DockerMachine]):
    """See `SnapshotImages`."""

    def __init__(self, engine: Engine, repository: str) -> None:
        self._engine, self.repository = engine, repository

    async def inspect(self, reference: str) -> LabelledImage | None:
        def inspected(client: Any) -> LabelledImage | None:
            try:
                found = client.api.inspect_image(reference)
            except self._engine.not_found:
                return None
            return LabelledImage(str(found["Id"]), found["Config"].get("Labels") or {})

        return await self._engine.call(inspected)

    async def listed(self, label: str, *, unnamed: bool = False) -> Sequence[LabelledImage]:
        asked = {"name": None if unnamed else self.repository, "filters": {"label": label}}
        found = await self._engine.call(lambda client: client.api.images(**asked))
        return [LabelledImage(str(image["Id"]), image["Labels"] or {}) for image in found]

    async def users(self, label: str) -> int:
        return len(await self._engine.call(lambda client: client.api.containers(all=True, filters={"label": label})))

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

    async def prune(self, label: str, *, named: bool = False) -> None:
        """A snapshot deleted while a session still ran on it has lost its name only. One by one: the Engine prunes for
        one caller of the machine at a time, and refuses the others. Again while some go, which others were made of."""
        filters = {"label": label} if named else {"dangling": True, "label": label}

        def pruned(client: Any) -> int:
            went = 0
            for image in client.api.images(filters=filters):
                try:
                    client.api.remove_image(image["Id"])
                    went += 1
                except self._engine.api_error as error:
                    if getattr(error, "status_code", None) not in (404, 409):  # gone, or a session still runs on it
                        raise
            return went

        while await self._engine.call(pruned):
            pass
