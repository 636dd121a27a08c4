"""What dead owners left in Podman's storage: containers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.containers.ownership import OWNER, is_named_for, owner_of, why_dead
from sandbox_gym.sandbox.podman.command import Podman

_CONTAINER: Final = "container"


class PodmanOrphans:
    """Podman's OrphanSource."""

    def __init__(self, podman: Podman, owners: Owners) -> None:
        self._podman, self._owners = podman, owners

    async def orphans(self) -> Sequence[Orphan]:
        listed = json.loads(await self._podman.call("ps", "--all", f"--filter=label={OWNER}", "--format=json"))
        return [orphan for one in listed if (orphan := self._orphan(one)) is not None]

    def _orphan(self, container: Mapping[str, object]) -> Orphan | None:
        """A container as an orphan; None where its owner lives, or it is not ours."""
        labels, names = container.get("Labels"), container.get("Names")
        if not isinstance(labels, dict) or not isinstance(names, list):
            return None
        owner = owner_of(labels)
        if owner is None or not is_named_for(owner, map(str, names)):
            return None
        why = why_dead(self._owners, owner, labels)
        return Orphan(_CONTAINER, str(container["Id"]), str(owner), why) if why else None

    async def remove(self, orphan: Orphan) -> None:
        """Remove a container if it still is a dead owner's. Raises ProviderDown, PermissionError."""
        present = await self._podman.call("ps", "--all", "--quiet", "--no-trunc", f"--filter=id={orphan.name}")
        if not present.strip():
            return  # gone already
        if orphan not in await self.orphans():
            raise PermissionError(f"{orphan.kind} {orphan.name} is of no dead owner")
        await self._podman.call("rm", "--force", "--volumes", "--ignore", "--time=0", orphan.name)
