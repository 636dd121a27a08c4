"""Many verifies: so many at once, results in order or as they come, and bounded memory whatever the rows' number."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectSendStream

from sandbox_gym.client.errors import ClientError, NoVerdict
from sandbox_gym.client.verdict import Document, Verdict

T = TypeVar("T")
AHEAD: Final = 4
"""Results that wait for an earlier one, for each that is in flight."""
OnNoVerdict = Literal["raise", "none"]
Item = Document | tuple[Document, str]
"""A row with its answer in it, or a row and its answer."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What became of one row. `index`: its place among the rows; `error`: where there is no verdict, why."""

    index: int
    verdict: Verdict | None = None
    error: ClientError | None = None

    @property
    def reward(self) -> float | None:
        """None where there is no verdict: such a sample must not be trained on."""
        return None if self.verdict is None else self.verdict.reward


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a `verify_many` is."""

    done: int = 0
    without_verdict: int = 0
    requests: int = 0
    """Sent for those that are done; more than these by as many as were tried again."""


@dataclass
class Many:
    """One `verify_many`, run by tasks of the client's own group: its reader may leave at any time, in any task."""

    verify: Callable[[int, Item], Awaitable[Verdict]]
    at_once: int
    ordered: bool
    on_no_verdict: OnNoVerdict
    progress: Callable[[Progress], None] | None

    async def results(self, items: Iterable[Item] | AsyncIterable[Item], group: TaskGroup) -> AsyncGenerator[Verified]:
        """Raises what the iterator of items raises, and with `raise` the first ClientError."""
        send, receive = anyio.create_memory_object_stream[Verified | Exception](math.inf)  # the window bounds it
        window = anyio.Semaphore(self.at_once * (AHEAD if self.ordered else 1))
        scope, held, first = anyio.CancelScope(), dict[int, Verified](), 0
        group.start_soon(self._run, items, window, send, scope)
        try:
            async for found in receive:
                if isinstance(found, Exception):
                    raise found
                held[found.index] = found
                first = first if self.ordered else found.index
                while first in held:
                    window.release()
                    yield held.pop(first)
                    first += 1
        finally:
            scope.cancel()
            receive.close()
            send.close()

    async def _run(
        self,
        items: Iterable[Item] | AsyncIterable[Item],
        window: anyio.Semaphore,
        send: MemoryObjectSendStream[Verified | Exception],
        scope: anyio.CancelScope,
    ) -> None:
        slots, told = anyio.Semaphore(self.at_once), Progress()

        async def one(index: int, item: Item) -> None:
            nonlocal told
            try:
                found = Verified(index, await self.verify(index, item))
            except ClientError as error:
                if self.on_no_verdict == "raise":
                    raise
                found = Verified(index, error=error)
            finally:
                slots.release()
            told = _after(told, found)
            if self.progress is not None:
                self.progress(told)
            tell(found)

        def tell(found: Verified | Exception) -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the reader has left
                send.send_nowait(found)

        with scope, send:
            try:
                async with anyio.create_task_group() as group, aclosing(_each(items)) as each:
                    index = 0
                    async for item in each:
                        await window.acquire()
                        await slots.acquire()
                        group.start_soon(one, index, item)
                        index += 1
            except ExceptionGroup as failed:  # a row's, the iterator's or the callback's: the reader's to see
                tell(failed.exceptions[0])


def _after(told: Progress, found: Verified) -> Progress:
    of = found.verdict or found.error
    requests = of.requests if isinstance(of, Verdict | NoVerdict) else 1
    return Progress(told.done + 1, told.without_verdict + (found.verdict is None), told.requests + requests)


async def _each(items: Iterable[T] | AsyncIterable[T]) -> AsyncGenerator[T]:
    """The items; those of an iterator, which may have to work for them, are asked for in a thread."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    elif isinstance(items, Sequence):
        for item in items:
            yield item
    else:
        iterator, none = iter(items), object()
        while (found := await anyio.to_thread.run_sync(next, iterator, none)) is not none:
            yield found  # type: ignore[misc]  # it is no `none`
