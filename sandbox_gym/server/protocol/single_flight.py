"""Idempotency keys: requests with one key share one run. Knows no verdict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from anyio.abc import TaskGroup

from sandbox_gym.errors import RequestError
from sandbox_gym.journal import Key
from sandbox_gym.single_flight import SingleFlight

T = TypeVar("T")

KEY_HEADER = "Idempotency-Key"


def other_body() -> RequestError:
    """The error of a key that is reused with another body."""
    return RequestError(KEY_HEADER, "was sent before with another body", "give each request a key of its own")


class Once(Generic[T]):
    """When the last request of a key leaves, its run is cancelled."""

    def __init__(self, group: TaskGroup) -> None:
        self._flights = SingleFlight[T](group)

    def __len__(self) -> int:
        return len(self._flights)

    async def run(self, key: Key, work: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """The work's result, and whether this call started the work. Raises RequestError for a key that is in flight
        with another body, and what the work raises."""
        if self._flights.digest(key.text) not in (None, key.body_digest):
            raise other_body()
        return await self._flights.run(key.text, work, digest=key.body_digest)
