"""Snapshots' images whose state folder is gone. A command removes them, and no server: a folder may be moved aside for
a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from typing import Generic, TypeVar

import anyio.to_thread

from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.containers.keepers import KEEPER_LABEL, kept_in, why_gone
from sandbox_gym.sandbox.containers.machine import ContainerMachine
from sandbox_gym.sandbox.containers.snapshots import LabelledImage, SnapshotImages

M = TypeVar("M", bound=ContainerMachine)


class AbandonedSnapshots(Generic[M]):
    """An engine's OrphanSource: one orphan for all images of a state folder."""

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
