"""Which request gets sandboxes next: one bounded queue, fair between tenants by weight, as wide as the machine bears.

Pure waiting and counting; knows no boxes. Fairness is start-time fair queueing: each tenant's clock runs by what it was
given, divided by its weight, and the tenant whose clock is behind is served next.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import anyio

from sandbox_gym.errors import PoolFull
from sandbox_gym.observe.traces import span


@dataclass(slots=True, eq=False)
class _Waiter:
    tenant: str
    count: int
    admitted: anyio.Event = field(default_factory=anyio.Event)


class Admission:
    """`slots` that requests hold, `limit` of them given out at once, `queue_size` requests waiting."""

    def __init__(self, slots: int, queue_size: int, weights: Mapping[str, float] | None = None) -> None:
        self.slots = self.limit = slots
        self.queue_size = queue_size
        self._weights = dict(weights or {})
        self._queues: dict[str, deque[_Waiter]] = {}
        self._clocks: dict[str, float] = {}
        self._now = 0.0
        self.held = 0
        self.waiting = 0
        self._service_s = 0.5
        self._paused = False

    @asynccontextmanager
    async def admitted(self, tenant: str = "", count: int = 1) -> AsyncIterator[None]:
        """`count` slots while the body runs. Raises PoolFull at once when the queue is full. A request that is
        cancelled while it waits leaves the queue, and gives back what it was given at that moment."""
        if self.waiting >= self.queue_size:
            raise PoolFull(f"{self.waiting} requests wait already, as many as may", retry_after_s=self.retry_after_s())
        waiter = _Waiter(tenant, min(count, self.slots))
        self._queues.setdefault(tenant, deque()).append(waiter)
        if len(self._queues[tenant]) == 1:  # an idle tenant saves up no claim
            self._clocks[tenant] = max(self._clocks.get(tenant, 0.0), self._now)
        self.waiting += 1
        self._dispatch()
        started = None
        try:
            try:
                with span("queue", {"waiting": self.waiting}):
                    await waiter.admitted.wait()
            finally:
                self.waiting -= 1
            started = time.monotonic()
            yield
        finally:
            if waiter.admitted.is_set():  # also where it was cancelled at that very moment
                self.held -= waiter.count
            else:
                self._queues[tenant].remove(waiter)
                self._forget(tenant)
            if started is not None:
                self._service_s += 0.1 * (time.monotonic() - started - self._service_s)
            self._dispatch()

    def by_tenant(self) -> dict[str, int]:
        """How many wait, of each tenant that has any waiting."""
        return {tenant: len(queue) for tenant, queue in self._queues.items()}

    def set_limit(self, limit: int) -> None:
        """Give out at most `limit` slots from now on; what is held is not taken away."""
        self.limit = max(1, min(limit, self.slots))
        self._dispatch()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Give out no slot while the body runs. Not for nesting."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False
            self._dispatch()

    def _dispatch(self) -> None:
        while self._queues and not self._paused:
            tenant = min(self._queues, key=lambda name: self._clocks[name])
            waiter = self._queues[tenant][0]
            # a request for a pair is not overtaken: it would wait for ever behind single ones
            if self.held and self.held + waiter.count > max(self.limit, waiter.count):
                return
            self._queues[tenant].popleft()
            self._now = self._clocks[tenant]
            self._clocks[tenant] += waiter.count / self._weights.get(tenant, 1.0)
            self._forget(tenant)
            self.held += waiter.count
            waiter.admitted.set()

    def _forget(self, tenant: str) -> None:
        if not self._queues[tenant]:
            del self._queues[tenant]
        if len(self._clocks) > 10_000:
            self._clocks = {name: clock for name, clock in self._clocks.items() if name in self._queues}

    def retry_after_s(self) -> int:
        """When a refused request may hope for a place: a tenth of the queue is served by then."""
        return max(1, min(60, math.ceil(self.waiting / 10 * self._service_s / max(1, self.limit))))
