"""Snapshots that sandboxes can be made from, by tenant. Knows no boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.sandboxes.records import Image, Made, Records
from sandbox_gym.server.access.accounts import Tenant

MAX_TAGS: Final = 100


class Images:
    """All snapshots on record."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._images: dict[str, Image] = {one.snapshot_id: one for one in records.images()}

    def ids(self) -> set[str]:
        """The ids of snapshots that must not be deleted."""
        return set(self._images)

    def of(self, tenant: Tenant) -> list[Image]:
        """A tenant's snapshots, newest first."""
        own = [one for one in self._images.values() if one.tenant == tenant.name]
        return sorted(own, key=lambda one: one.created_at, reverse=True)

    def find(self, tenant: Tenant, template: str) -> Image | None:
        """A tenant's snapshot by id or name, or build of a template by its name with or without a tag."""
        wanted = template.removesuffix(":default")
        if not wanted:
            return None
        found = (one for one in self.of(tenant) if wanted in (one.snapshot_id, one.name, one.made.template_id))
        return self.named(tenant, template if ":" in template else f"{template}:default") or next(found, None)

    def named(self, tenant: Tenant, name: str) -> Image | None:
        """The build that has a template's tag, as `name:tag`."""
        return next((one for one in self.of(tenant) if name in one.names), None)

    def of_template(self, tenant: Tenant, template: str) -> list[Image]:
        """The builds of a template, by its name or id."""
        return [
            one
            for one in self.of(tenant)
            if one.made.template_id and (template == one.made.template_id or _has_name(one, template))
        ]

    def become(self, image: Image, names: tuple[str, ...], made: Made) -> list[Image]:
        """A snapshot is a template's build from now on. Those that lost their last tag to it."""
        before = [one for one in self._images.values() if one.tenant == image.tenant and one.names]
        self._put(replace(image, made=made))
        self.tag(self._images[image.snapshot_id], names)
        return [self._images[one.snapshot_id] for one in before if not self._images[one.snapshot_id].names]

    def tag(self, image: Image, names: Sequence[str]) -> None:
        """Give a build tags, which it takes from others. Raises Fault 400 for too many."""
        if len({*image.names, *names}) > MAX_TAGS:
            raise Fault(400, f"a build has at most {MAX_TAGS} tags; remove some")
        for one in list(self._images.values()):
            if one.tenant == image.tenant and one.snapshot_id != image.snapshot_id and set(one.names) & set(names):
                self._put(replace(one, names=tuple(name for name in one.names if name not in names)))
        image = self._images[image.snapshot_id]
        self._put(replace(image, names=tuple(dict.fromkeys([*image.names, *names]))))

    def untag(self, tenant: Tenant, names: frozenset[str]) -> None:
        """Take tags from builds, which stay."""
        for one in self.of(tenant):
            if names & set(one.names):
                self._put(replace(one, names=tuple(name for name in one.names if name not in names)))

    def check_quota(self, tenant: Tenant) -> None:
        """Raises Fault 429."""
        if len(self.of(tenant)) >= tenant.snapshots:
            raise Fault(429, f"the limit of {tenant.snapshots} snapshots is reached; delete some")

    def add(self, image: Image) -> Image:
        """Add a snapshot, which is returned. An older one of the same tenant and name loses its name."""
        for older in list(self._images.values()):
            if image.name and older.tenant == image.tenant and older.name == image.name:
                self._put(replace(older, name=""))
        self._put(image)
        return image

    def _put(self, image: Image) -> None:
        self._images[image.snapshot_id] = image
        self._records.write(image)

    def remove(self, image: Image) -> None:
        self._images.pop(image.snapshot_id, None)  # another request may have been faster
        self._records.remove(image)


def _has_name(image: Image, template: str) -> bool:
    return any(name.partition(":")[0] == template for name in image.names)
