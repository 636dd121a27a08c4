"""Quotas of sandboxes: how many run at once on this machine, and of each tenant."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.server.access.accounts import Tenant


class Quotas:
    """Counts sandboxes that are being opened as if they ran."""

    def __init__(self, most: int) -> None:
        """`most`: at once on this machine."""
        self._most = most
        self._opening: dict[str, int] = {}

    @property
    def opening(self) -> int:
        """Sandboxes that are being opened now."""
        return sum(self._opening.values())

    @contextmanager
    def reserved(self, tenant: Tenant, sandboxes: Collection[Sandbox], *, new: bool) -> Iterator[None]:
        """Count one more while a box is opened. `new`: the sandbox does not exist yet (not a resume). Raises Fault."""
        self._check(tenant, sandboxes, new=new)
        self._opening[tenant.name] = self._opening.get(tenant.name, 0) + 1
        try:
            yield
        finally:
            self._opening[tenant.name] -= 1

    def _check(self, tenant: Tenant, sandboxes: Collection[Sandbox], *, new: bool) -> None:
        running = sum(one.running for one in sandboxes)
        if running + self.opening >= self._most:
            raise Fault(503, f"no capacity: {self._most} sandboxes run on this machine", retry_after_s=2)
        own = [one for one in sandboxes if one.record.tenant == tenant.name]
        opening = self._opening.get(tenant.name, 0)
        if sum(one.running for one in own) + opening >= tenant.sandboxes:
            raise Fault(429, f"you have reached the maximum number of concurrent sandboxes ({tenant.sandboxes})")
        if new and len(own) + opening >= tenant.held:
            raise Fault(429, f"the limit of {tenant.held} sandboxes, running and paused, is reached; kill some")
