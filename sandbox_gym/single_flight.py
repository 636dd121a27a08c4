"""Single flight: concurrent calls with one key share one run. Owns who waits for what; knows no verdict or HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from sandbox_gym.errors import Unavailable

T = TypeVar("T")


@dataclass(eq=False)
class _Flight(Generic[T]):
    """A run, and how many wait for it."""

    digest: str
    done: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    waiting: int = 0
    results: list[T] = field(default_factory=list)
    error: Exception | None = None


class SingleFlight(Generic[T]):
    """Runs in `group`, not in the first caller, so that the others get the result when the first one leaves. When the
    last one leaves, the run is cancelled, unless it `outlives` them: then the next caller finds it further on."""

    def __init__(self, group: TaskGroup, *, outlives: bool = False) -> None:
        self._group, self._outlives = group, outlives
        self._flights: dict[str, _Flight[T]] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def __contains__(self, key: str) -> bool:
        return key in self._flights

    def digest(self, key: str) -> str | None:
        """What the run under a key is of; None where there is none."""
        flight = self._flights.get(key)
        return flight.digest if flight is not None else None

    async def run(self, key: str, work: Callable[[], Awaitable[T]], *, digest: str = "") -> tuple[T, bool]:
        """The work's result, and whether this call started the work. Raises what the work raises."""
        flight = self._flights.get(key)
        first = flight is None
        if flight is None:
            flight = self._flights[key] = _Flight(digest)
            self._group.start_soon(self._fly, key, flight, work)
        flight.waiting += 1
        try:
            await flight.done.wait()
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.done.is_set() and not self._outlives:
                self._forget(key, flight)
                flight.scope.cancel()
        if flight.error is not None:
            raise flight.error
        if not flight.results:
            raise Unavailable("the server is stopping")
        return flight.results[0], first

    async def _fly(self, key: str, flight: _Flight[T], work: Callable[[], Awaitable[T]]) -> None:
        try:
            with flight.scope:
                flight.results.append(await work())
        except Exception as error:  # passed to those who wait: raised here it would end every other run
            flight.error = error
        finally:
            self._forget(key, flight)
            flight.done.set()

    def _forget(self, key: str, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
