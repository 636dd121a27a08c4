"""Results by Idempotency-Key: a repeated request gets the first one's sandbox. In memory, bounded."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

import anyio

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.server.access.accounts import Tenant

MAX_REPEATS: Final = 10_000
REPEAT_S: Final = 600.0


class Repeat:
    """One Idempotency-Key and the sandbox it created. Hold `lock` while creating it."""

    def __init__(self, digest: str, at: float) -> None:
        self.digest, self.at, self.sandbox_id = digest, at, ""
        self.lock = anyio.Lock()


class Repeats:
    """The keys of the last REPEAT_S."""

    def __init__(self) -> None:
        self._repeats: OrderedDict[tuple[str, str], Repeat] = OrderedDict()

    def of(self, tenant: Tenant, key: str, document: Mapping[str, object]) -> Repeat:
        """The entry of a key, new or known. Raises Fault 409 when the key came with another request before."""
        now = time.monotonic()
        while self._repeats and next(iter(self._repeats.values())).at < now - REPEAT_S:
            self._repeats.popitem(last=False)
        digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
        repeat = self._repeats.setdefault((tenant.name, key[:255]), Repeat(digest, now))
        if repeat.digest != digest:
            raise Fault(409, "the Idempotency-Key was used for another request")
        while len(self._repeats) > MAX_REPEATS:
            self._repeats.popitem(last=False)
        return repeat
