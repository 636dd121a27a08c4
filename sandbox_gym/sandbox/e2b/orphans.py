"""Orphans at E2B: sandboxes whose metadata name a dead owner, and until when they may be used."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sandbox_gym.sandbox.cleanup.owner import EXPIRY_GRACE_S, Owner, Owners, parse_owner, this_owner
from sandbox_gym.sandbox.cleanup.reaper import MAX_ORPHANS, Orphan
from sandbox_gym.sandbox.e2b.errors import watched

if TYPE_CHECKING:
    from e2b import AsyncSandbox
    from e2b.connection_config import ApiParams

OWNER: Final = "sandbox-gym-owner"
EXPIRES: Final = "sandbox-gym-expires"
KIND: Final = "sandbox-gym-kind"
BOX: Final = "box"
CALL_S: Final = 20.0
PAGE: Final = 100


def marks(lifetime_s: float) -> dict[str, str]:
    """The metadata of all that this process creates. `lifetime_s`: how long it is used at most."""
    return {KIND: BOX, OWNER: str(this_owner()), EXPIRES: str(int(time.time() + lifetime_s + EXPIRY_GRACE_S))}


class E2bOrphans:
    """One account's OrphanSource."""

    def __init__(self, sdk: type[AsyncSandbox], api: ApiParams, owners: Owners, *, has_key: bool) -> None:
        self._sdk, self._api, self._owners, self._has_key = sdk, api, owners, has_key

    async def orphans(self) -> Sequence[Orphan]:
        """Sandboxes of dead owners; none where there is no account, for every provider is swept. Raises Unavailable,
        ConfigurationError."""
        if not (self._has_key or os.environ.get("E2B_API_KEY")):
            return ()
        from e2b import SandboxQuery

        found: list[Orphan] = []
        pages = self._sdk.list(query=SandboxQuery(metadata={KIND: BOX}), limit=PAGE, **self._api)
        while pages.has_next and len(found) < MAX_ORPHANS:
            async with watched("listing sandboxes", CALL_S):
                items = await pages.next_items()
            for item in items:
                owner = parse_owner(item.metadata.get(OWNER, ""))
                if owner is not None and (why := self._why(owner, item.metadata)):
                    found.append(Orphan("sandbox", item.sandbox_id, str(owner), why))
        return found

    async def remove(self, orphan: Orphan) -> None:
        """Kill it, if it still is what it was. Raises PermissionError, Unavailable."""
        from e2b.exceptions import NotFoundException

        async with watched("looking at an orphan", CALL_S):
            try:
                info = await self._sdk.get_info(orphan.name, **self._api)
            except NotFoundException:
                return
        owner = parse_owner(info.metadata.get(OWNER, ""))
        if owner is None or str(owner) != orphan.owner or not self._why(owner, info.metadata):
            raise PermissionError(f"sandbox {orphan.name} is of no dead owner")
        async with watched("killing an orphan", CALL_S):
            await self._sdk.kill(orphan.name, **self._api)

    def _why(self, owner: Owner, metadata: Mapping[str, str]) -> str:
        text = metadata.get(EXPIRES, "")
        expires_at = float(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None
        return self._owners.why_dead(owner, expires_at)
