"""What dead owners left in Podman's storage: containers.

A container is ours when its label *and* its name say so: labels are inherited from images (`podman commit` copies a
container's into the image), names are not.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Final

from sandbox_gym.sandbox.cleanup.owner import EXPIRY_GRACE_S, Owners, parse_owner, this_owner
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.podman.command import Podman

OWNER: Final = "sandbox-gym.owner"
EXPIRES: Final = "sandbox-gym.expires"
_NAME: Final = "sandbox-gym"
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
        owner = parse_owner(str(labels.get(OWNER) or ""))
        if owner is None or not any(str(name).startswith(f"{_NAME}-{owner}-") for name in names):
            return None
        text = str(labels.get(EXPIRES) or "")
        expires_at = float(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None
        why = self._owners.why_dead(owner, expires_at)
        return Orphan(_CONTAINER, str(container["Id"]), str(owner), why) if why else None

    async def remove(self, orphan: Orphan) -> None:
        """Remove a container if it still is a dead owner's. Raises ProviderDown, PermissionError."""
        present = await self._podman.call("ps", "--all", "--quiet", "--no-trunc", f"--filter=id={orphan.name}")
        if not present.strip():
            return  # gone already
        if orphan not in await self.orphans():
            raise PermissionError(f"{orphan.kind} {orphan.name} is of no dead owner")
        await self._podman.call("rm", "--force", "--volumes", "--ignore", "--time=0", orphan.name)


def labels(lifetime_s: float) -> Mapping[str, str]:
    """For the containers of this process. `lifetime_s`: how long each is used at most."""
    return {OWNER: str(this_owner()), EXPIRES: str(int(time.time() + lifetime_s + EXPIRY_GRACE_S))}


def container_name(number: int) -> str:
    """A name that says whose it is; `number` tells this process's containers apart."""
    return f"{_NAME}-{this_owner()}-{number}"
