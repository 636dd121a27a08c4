"""The files of COPY steps: tars that clients upload under their hash, kept in a folder and within a budget for each
tenant, so that none pushes another's out."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from pathlib import Path
from typing import Final

from starlette.requests import Request

from sandbox_gym.e2b_server.access import UPLOADS
from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.private import make_private
from sandbox_gym.server.access.accounts import Tenant

MAX_BYTES: Final = 1 << 30
"""Of one upload."""
BUDGET_BYTES: Final = 2 << 30
MAX_FILES: Final = 500
"""Of a tenant, as many as a build has steps."""
AT_ONCE: Final = 4
LINK_S: Final = 3600.0
MAX_LINKS: Final = 1000
"""Of a tenant."""
_HASH: Final = re.compile(r"[0-9a-f]{16,128}")


class Uploads:
    """A link is a secret for one tenant's files of one hash, so that a client can PUT them without a key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        make_private(folder)
        for part in folder.glob("*/part-*"):  # of a server that was killed
            part.unlink(missing_ok=True)
        self._links: dict[str, tuple[Path, float]] = {}

    def path(self, tenant: Tenant, files_hash: str) -> Path:
        """Where a tenant's files of that hash are, or will be. Raises Fault 400."""
        if not _HASH.fullmatch(files_hash):
            raise Fault(400, f"{files_hash[:40]!r} is not a hash in hexadecimal digits")
        return self._of(tenant) / files_hash

    def _of(self, tenant: Tenant) -> Path:
        return self._folder / hashlib.sha256(tenant.name.encode()).hexdigest()

    def link(self, tenant: Tenant, files_hash: str) -> str:
        """A path for a PUT, for an hour."""
        now = time.monotonic()
        self._links = {token: one for token, one in self._links.items() if one[1] > now}
        path, own = self.path(tenant, files_hash), self._of(tenant)
        if sum(1 for one, _ in self._links.values() if one.parent == own) >= MAX_LINKS:
            raise Fault(429, f"{MAX_LINKS} uploads are open already", retry_after_s=60)
        make_private(own)
        token = secrets.token_urlsafe(32)
        self._links[token] = (path, now + LINK_S)
        return UPLOADS + token

    async def take(self, token: str, request: Request) -> None:
        """Raises Fault 404 for an unknown link, 413, 429."""
        path, until = self._links.get(token, (None, 0.0))
        if path is None or until < time.monotonic():
            raise Fault(404, "no such upload")
        if len(list(path.parent.glob("part-*"))) >= AT_ONCE:
            raise Fault(429, f"{AT_ONCE} uploads at once are allowed", retry_after_s=5)
        part, size = path.with_name(f"part-{secrets.token_hex(8)}"), 0
        try:
            with part.open("xb") as file:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > MAX_BYTES:
                        raise Fault(413, f"an upload has at most {MAX_BYTES} bytes")
                    file.write(chunk)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        self._links.pop(token, None)
        _trim(path)


def _trim(newest: Path) -> None:
    """Delete a tenant's oldest beyond the budget."""
    stats = ((one.stat(), one) for one in newest.parent.iterdir())
    found = sorted(((seen.st_mtime, seen.st_size, one) for seen, one in stats), reverse=True)
    total = 0
    for number, (_, size, one) in enumerate(found):
        total += size
        if (total > BUDGET_BYTES or number >= MAX_FILES) and one != newest and not one.name.startswith("part-"):
            one.unlink(missing_ok=True)
