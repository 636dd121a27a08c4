"""Orphans in a Docker Engine: containers of dead owners, and their volumes and images that are labelled temporary.

A container counts as ours where its label *and* its name say so: labels are inherited from images (`docker commit`
copies a container's into the image), names are not. All calls block.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sandbox_gym.sandbox.cleanup.owner import EXPIRY_GRACE_S, Owner, Owners, parse_owner, this_owner
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.docker.engine import Engine

OWNER: Final = "sandbox-gym.owner"
EXPIRES: Final = "sandbox-gym.expires"
TEMPORARY: Final = "sandbox-gym.temporary"
_NAME: Final = "sandbox-gym"


class DockerOrphans:
    """An Engine's OrphanSource."""

    def __init__(self, engine: Engine, owners: Owners) -> None:
        self._engine, self._owners = engine, owners

    async def orphans(self) -> Sequence[Orphan]:
        return await self._engine.ask(lambda client: find(client.api, self._owners))

    async def remove(self, orphan: Orphan) -> None:
        api_error = self._engine.api_error
        await self._engine.ask(lambda client: remove(client.api, orphan, self._owners, api_error))


def labels(lifetime_s: float) -> dict[str, str]:
    """For everything that this process makes in an Engine. `lifetime_s`: how long it is used at most."""
    return {OWNER: str(this_owner()), EXPIRES: str(int(time.time() + lifetime_s + EXPIRY_GRACE_S))}


def container_name(number: int) -> str:
    """A name that says whose it is; `number` tells this process's containers apart."""
    return f"{_NAME}-{this_owner()}-{number}"


def find(api: Any, owners: Owners) -> list[Orphan]:
    """Everything of dead owners. `api` is the SDK's low-level client; raises its errors."""
    return [
        Orphan(kind, name, str(owner), why)
        for kind, name, marks in _labelled(api)
        if (owner := parse_owner(marks.get(OWNER) or "")) and (why := _why(owners, owner, marks))
    ]


def remove(api: Any, orphan: Orphan, owners: Owners, api_error: type[Exception]) -> None:
    """Remove what `find` found, if it still is what it was. Raises the SDK's errors, and PermissionError."""
    marks = next((marks for kind, name, marks in _labelled(api, orphan.name) if kind == orphan.kind), None)
    if marks is None:
        return  # gone already
    owner = parse_owner(marks.get(OWNER) or "")
    if owner is None or str(owner) != orphan.owner or not _why(owners, owner, marks):
        raise PermissionError(f"{orphan.kind} {orphan.name} is of no dead owner")
    try:
        if orphan.kind == "container":
            api.remove_container(orphan.name, force=True, v=True)
        elif orphan.kind == "volume":
            api.remove_volume(orphan.name)
        else:
            api.remove_image(orphan.name, noprune=True)
    except api_error as error:
        status = getattr(error, "status_code", None)
        if status != 404 and not (status == 409 and "already in progress" in str(error)):
            raise


def _labelled(api: Any, only: str = "") -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """(kind, name to remove it by, labels) of all that may be ours, living or dead; of that name, if one is given."""
    for container in api.containers(all=True, filters={"label": OWNER} | ({"id": only} if only else {})):
        marks = container["Labels"] or {}
        if any(name.startswith(f"/{_NAME}-{marks[OWNER]}-") for name in container["Names"] or ()):
            yield "container", container["Id"], marks
    both = {"label": [OWNER, TEMPORARY]}
    for volume in api.volumes(filters=both)["Volumes"] or ():
        if only in ("", volume["Name"]):
            yield "volume", volume["Name"], volume["Labels"] or {}
    for image in api.images(filters=both):
        if only in ("", image["Id"]):
            yield "image", image["Id"], image["Labels"] or {}


def _why(owners: Owners, owner: Owner, marks: Mapping[str, str]) -> str:
    text = marks.get(EXPIRES) or ""
    expires_at = float(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None
    return owners.why_dead(owner, expires_at)
