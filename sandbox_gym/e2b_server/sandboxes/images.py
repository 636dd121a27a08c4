"""Snapshots that sandboxes can be made from, by tenant. Knows no boxes."""

from __future__ import annotations

from dataclasses import replace

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.sandboxes.records import Image, Records
from sandbox_gym.server.access.accounts import Tenant


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
        """A tenant's snapshot by id or name."""
        wanted = template.removesuffix(":default")
        return next((one for one in self.of(tenant) if wanted and wanted in (one.snapshot_id, one.name)), None)

    def check_quota(self, tenant: Tenant) -> None:
        """Raises Fault 429."""
        if len(self.of(tenant)) >= tenant.snapshots:
            raise Fault(429, f"the limit of {tenant.snapshots} snapshots is reached; delete some")

    def add(self, image: Image) -> None:
        """Add a snapshot. An older one of the same tenant and name loses its name."""
        for older in list(self._images.values()):
            if image.name and older.tenant == image.tenant and older.name == image.name:
                self._put(replace(older, name=""))
        self._put(image)

    def _put(self, image: Image) -> None:
        self._images[image.snapshot_id] = image
        self._records.write(image)

    def remove(self, image: Image) -> None:
        del self._images[image.snapshot_id]
        self._records.remove(image)
