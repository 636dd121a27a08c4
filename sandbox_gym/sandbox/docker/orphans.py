"""Orphans in a Docker Engine: containers of dead owners, and their volumes and images that are labelled temporary.

All calls block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.containers.ownership import OWNER, is_named_for, owner_of, why_dead
from sandbox_gym.sandbox.docker.engine import Engine

TEMPORARY: Final = "sandbox-gym.temporary"


class DockerOrphans:
    """An Engine's OrphanSource."""

    def __init__(self, engine: Engine, owners: Owners) -> None:
        self._engine, self._owners = engine, owners

    async def orphans(self) -> Sequence[Orphan]:
        return await self._engine.ask(lambda client: find(client.api, self._owners))

    async def remove(self, orphan: Orphan) -> None:
        api_error = self._engine.api_error
        await self._engine.ask(lambda client: remove(client.api, orphan, self._owners, api_error))


def find(api: Any, owners: Owners) -> list[Orphan]:
    """Everything of dead owners. `api` is the SDK's low-level client; raises its errors."""
    return [
        Orphan(kind, name, str(owner), why)
        for kind, name, marks in _labelled(api)
        if (owner := owner_of(marks)) and (why := why_dead(owners, owner, marks))
    ]


def remove(api: Any, orphan: Orphan, owners: Owners, api_error: type[Exception]) -> None:
    """Remove what `find` found, if it still is what it was. Raises the SDK's errors, and PermissionError."""
    marks = next((marks for kind, name, marks in _labelled(api, orphan.name) if kind == orphan.kind), None)
    if marks is None:
        return  # gone already
    owner = owner_of(marks)
    if owner is None or str(owner) != orphan.owner or not why_dead(owners, owner, marks):
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
        owner = owner_of(marks)
        if owner is not None and is_named_for(owner, container["Names"] or ()):
            yield "container", container["Id"], marks
    both = {"label": [OWNER, TEMPORARY]}
    for volume in api.volumes(filters=both)["Volumes"] or ():
        if only in ("", volume["Name"]):
            yield "volume", volume["Name"], volume["Labels"] or {}
    for image in api.images(filters=both):
        if only in ("", image["Id"]):
            yield "image", image["Id"], image["Labels"] or {}
