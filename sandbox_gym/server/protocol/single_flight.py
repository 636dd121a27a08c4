"""Single flight: concurrent requests with one key share one run. Owns who waits for what; knows no verdict or HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.journal import Key

T = TypeVar("T")

KEY_HEADER = "Idempotency-Key"


def other_body() -> RequestError:
    """The error of a key that is reused with another body."""
    return RequestError(KEY_HEADER, "was sent before with another body", "give each request a key of its own")


@dataclass(eq=False)
class _Flight(Generic[T]):
    """A run, and how many wait for it."""

    body_digest: str
    done: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    waiting: int = 0
    results: list[T] = field(default_factory=list)
    error: Exception | None = None


class Once(Generic[T]):
    """Runs in `group`, not in the first request, so that the others get the result when the first client disconnects.
    When the last one disconnects, the run is cancelled."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group
        self._flights: dict[str, _Flight[T]] = {}

    def __len__(self) -> int:
        return len(self._flights)

    async def run(self, key: Key, work: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """The work's result, and whether this call started the work. Raises RequestError for a key that is in flight
        with another body, and what the work raises."""
        flight = self._flights.get(key.text)
        first = flight is None
        if flight is None:
            flight = self._flights[key.text] = _Flight(key.body_digest)
            self._group.start_soon(self._fly, key.text, flight, work)
        elif flight.body_digest != key.body_digest:
            raise other_body()
        flight.waiting += 1
        try:
            await flight.done.wait()
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.done.is_set():
                self._forget(key.text, flight)
                flight.scope.cancel()
        if flight.error is not None:
            raise flight.error
        if not flight.results:
            raise Unavailable("the server is stopping")
        return flight.results[0], first

    async def _fly(self, text: str, flight: _Flight[T], work: Callable[[], Awaitable[T]]) -> None:
        try:
            with flight.scope:
                flight.results.append(await work())
        except Exception as error:  # passed to the waiting requests: raised here it would end every other run
            flight.error = error
        finally:
            self._forget(text, flight)
            flight.done.set()

    def _forget(self, text: str, flight: _Flight[T]) -> None:
        if self._flights.get(text) is flight:
            del self._flights[text]
