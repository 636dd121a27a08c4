"""The pool's live picture for the dashboard: sandboxes by tenant, and those made last."""

from __future__ import annotations

import time
from collections import Counter
from itertools import islice
from typing import Final

from sandbox_gym.e2b_server.sandboxes.manager import Sandboxes
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.observe.sanitize import sanitized
from sandbox_gym.server.dashboard.live import MAX_TENANTS, server_document
from sandbox_gym.server.dashboard.shapes import PoolShown
from sandbox_gym.server.protocol.wire import Document

MAX_SANDBOXES: Final = 24


class PoolPicture:
    """The picture of the sandboxes that are served now."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._started_at = time.time()
        self.sandboxes: Sandboxes | None = None

    def document(self) -> PoolShown:
        """The picture as JSON."""
        everyone = self.sandboxes.everyone() if self.sandboxes is not None else []
        running = Counter(one.record.tenant for one in everyone if one.running)
        owned = Counter(one.record.tenant for one in everyone)
        latest = [_listed(one) for one in islice(reversed(everyone), MAX_SANDBOXES)]
        return {
            "at": time.time(),
            "server": server_document("pool", "pool", self._provider, "", self._started_at),
            "sandboxes": {
                "running": running.total(),
                "paused": owned.total() - running.total(),
                "most": self.sandboxes.most if self.sandboxes is not None else 0,
                "tenants": [
                    {"tenant": sanitized(name, 60), "running": running[name], "paused": count - running[name]}
                    for name, count in owned.most_common(MAX_TENANTS)
                ],
                "other_tenants": max(0, len(owned) - MAX_TENANTS),
                "latest": latest,
            },
        }


def _listed(one: Sandbox) -> Document:
    """A sandbox's id may be shown: its token is the secret."""
    sample = one.samples[-1] if one.samples else None
    return {
        "id": sanitized(one.sandbox_id, 40),
        "tenant": sanitized(one.record.tenant, 60),
        "template": sanitized(one.record.template, 80),
        "running": one.running,
        "started_at": one.record.started_at,
        "ends_at": one.end_at,
        "cpu_pct": sample.cpu_pct if sample is not None else None,
        "memory_bytes": sample.memory if sample is not None else None,
    }
