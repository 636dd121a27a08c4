"""Snapshots that sandboxes can be made from, by tenant. Knows no boxes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.sandboxes.records import Image, Records
from sandbox_gym.server.access.accounts import Tenant

MAX_TAGS: Final = 100
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,126}")
_TAG: Final = re.compile(r"[a-z0-9_][a-z0-9._-]{0,126}")


def clean(name: str) -> str:
    """A name as it is kept: as at E2B without capitals."""
    return name.strip().lower()


def parsed(name: str, tags: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
    """(name, tags) of `name` or `name:tag` and of further tags. Raises Fault 400."""
    own, separator, tag = clean(name).partition(":")
    if not _NAME.fullmatch(own):
        raise Fault(400, f"{name[:80]!r} is not a template's name: letters, digits, '.', '_' and '-'")
    all_tags = tuple(dict.fromkeys([*([tag] if separator else []), *map(clean, tags)]))
    for one in all_tags:
        if not _TAG.fullmatch(one):
            raise Fault(400, f"{one[:80]!r} is not a tag: letters, digits, '.', '_' and '-'")
    return own, all_tags


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
        """A tenant's snapshot, or build of a template, by id or name, with or without a tag."""
        wanted = clean(template).removesuffix(":default")
        found = (one for one in self.of(tenant) if wanted and wanted in (one.snapshot_id, one.made.template_id))
        return self.named(tenant, wanted if ":" in wanted else f"{wanted}:default") or next(found, None)

    def snapshots(self, tenant: Tenant, sandbox_id: str, name: str) -> list[Image]:
        """A tenant's own, of that sandbox and with that id or name unless these are empty."""
        wanted = clean(name).removesuffix(":default")
        return [
            one
            for one in self.of(tenant)
            if not one.made.template_id
            and (not sandbox_id or one.sandbox_id == sandbox_id)
            and (not wanted or wanted in (one.snapshot_id, *one.names) or _has_name(one, wanted))
        ]

    def named(self, tenant: Tenant, name: str) -> Image | None:
        """What has a name with its tag, as `name:tag`."""
        return next((one for one in self.of(tenant) if name in one.names), None)

    def of_template(self, tenant: Tenant, template: str) -> list[Image]:
        """The builds of a template, by its name or id."""
        template = clean(template)
        return [
            one
            for one in self.of(tenant)
            if one.made.template_id and (template == one.made.template_id or _has_name(one, template))
        ]

    def tag(self, image: Image, names: Sequence[str]) -> tuple[Image, list[Image]]:
        """Record a snapshot or build, and give it tags, which it takes from others: (it, those of its kind that lost
        their last one). Raises Fault 400 for too many."""
        if len({*image.names, *names}) > MAX_TAGS:
            raise Fault(400, f"a build has at most {MAX_TAGS} tags; remove some")
        taken = [one for one in self._images.values() if one.tenant == image.tenant and set(one.names) & set(names)]
        left = [replace(one, names=tuple(name for name in one.names if name not in names)) for one in taken]
        for one in left:
            self._put(one)
        image = replace(image, names=tuple(dict.fromkeys([*image.names, *names])))
        self._put(image)
        lost = [one for one in left if one.snapshot_id != image.snapshot_id and not one.names]
        return image, [one for one in lost if bool(one.made.template_id) == bool(image.made.template_id)]

    def untag(self, tenant: Tenant, names: frozenset[str]) -> None:
        """Take tags from builds, which stay."""
        for one in self.of(tenant):
            if names & set(one.names):
                self._put(replace(one, names=tuple(name for name in one.names if name not in names)))

    def check_quota(self, tenant: Tenant) -> None:
        """Raises Fault 429."""
        if len(self.of(tenant)) >= tenant.snapshots:
            raise Fault(429, f"the limit of {tenant.snapshots} snapshots is reached; delete some")

    def _put(self, image: Image) -> None:
        self._images[image.snapshot_id] = image
        self._records.write(image)

    def remove(self, image: Image) -> None:
        self._images.pop(image.snapshot_id, None)  # another request may have been faster
        self._records.remove(image)


def _has_name(image: Image, template: str) -> bool:
    return any(name.partition(":")[0] == template for name in image.names)
