"""`Client`: the asynchronous client for programs without an event loop. Owns the thread that its loop runs in."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Concatenate, Literal, ParamSpec, Self, TypeVar, overload

from anyio.from_thread import BlockingPortal, start_blocking_portal

from sandbox_gym.client.asynchronous import AT_ONCE, DEADLINE_S, AsyncClient
from sandbox_gym.client.many import Item, OnNoVerdict, Progress, Verified
from sandbox_gym.client.session import Session
from sandbox_gym.client.verdict import Document, Verdict

P = ParamSpec("P")
T = TypeVar("T")


def _wait(portal: BlockingPortal, work: Callable[[], Awaitable[T]]) -> T:
    """The work's result; what interrupts this thread, such as Ctrl-C, cancels it."""
    future = portal.start_task_soon(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _blocking(method: Callable[Concatenate[Session, P], Awaitable[T]]) -> Callable[Concatenate[BlockingSession, P], T]:
    def call(self: BlockingSession, /, *args: P.args, **options: P.kwargs) -> T:
        return _wait(self.portal, functools.partial(method, self.session, *args, **options))

    return functools.update_wrapper(call, method)


class BlockingSession:
    """A `Session` for programs without an event loop."""

    def __init__(self, session: Session, portal: BlockingPortal) -> None:
        self.session, self.portal = session, portal

    run = _blocking(Session.run)
    read = _blocking(Session.read)
    read_part = _blocking(Session.read_part)
    write = _blocking(Session.write)
    tool = _blocking(Session.tool)
    verify = _blocking(Session.verify)


class Client:
    """As `AsyncClient`, for any number of threads, and after a fork for the child, too. `with` closes it, `close`, or
    the end of the program."""

    def __init__(
        self,
        servers: str | Sequence[str] = (),
        *,
        token: str | None = None,
        tenant: str = "",
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """See AsyncClient."""
        self._make = functools.partial(AsyncClient, servers, token=token, tenant=tenant, deadline_s=deadline_s)
        self._make()  # a wrong argument is told here
        self._lock = threading.Lock()
        self._running: tuple[int, BlockingPortal, AsyncClient, weakref.finalize[[ExitStack, int], Client]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Idempotent; the next call opens it again."""
        with self._lock:
            if self._running is not None:
                self._running[3]()
            self._running = None

    @overload
    def verify(
        self, row: Document, answer: str | None = None, *, key: str | None = None, deadline_s: float | None = None,
        on_no_verdict: Literal["raise"] = "raise",
    ) -> Verdict: ...  # fmt: skip

    @overload
    def verify(
        self, row: Document, answer: str | None = None, *, key: str | None = None, deadline_s: float | None = None,
        on_no_verdict: OnNoVerdict,
    ) -> Verdict | None: ...  # fmt: skip

    def verify(
        self,
        row: Document,
        answer: str | None = None,
        *,
        key: str | None = None,
        deadline_s: float | None = None,
        on_no_verdict: OnNoVerdict = "raise",
    ) -> Verdict | None:
        """See AsyncClient.verify."""
        portal, client = self._open()
        options = {"key": key, "deadline_s": deadline_s, "on_no_verdict": on_no_verdict}
        return _wait(portal, functools.partial(client.verify, row, answer, **options))

    def verify_many(
        self,
        rows: Iterable[Item],
        *,
        at_once: int = AT_ONCE,
        ordered: bool = True,
        key_prefix: str | None = None,
        deadline_s: float | None = None,
        on_no_verdict: OnNoVerdict = "none",
        progress: Callable[[Progress], None] | None = None,
    ) -> Generator[Verified]:
        """See AsyncClient.verify_many. Rows of an iterator are read, and `progress` is called, in other threads."""
        portal, client = self._open()
        many = client.verify_many(
            rows,
            at_once=at_once,
            ordered=ordered,
            key_prefix=key_prefix,
            deadline_s=deadline_s,
            on_no_verdict=on_no_verdict,
            progress=progress,
        )
        try:
            while (found := _wait(portal, functools.partial(anext, many, None))) is not None:
                yield found
        finally:
            with suppress(RuntimeError):  # where that wait was interrupted, and what it waited for ends by itself
                portal.call(many.aclose)

    @contextmanager
    def session(self, row: Document | None = None) -> Iterator[BlockingSession]:
        """See AsyncClient.session."""
        portal, client = self._open()
        with portal.wrap_async_context_manager(portal.call(client.session, row)) as session:
            yield BlockingSession(session, portal)

    def health(self) -> Mapping[str, Document]:
        """See AsyncClient.health."""
        portal, client = self._open()
        return _wait(portal, client.health)

    def _open(self) -> tuple[BlockingPortal, AsyncClient]:
        with self._lock:
            if self._running is None or self._running[0] != os.getpid():
                with ExitStack() as stack:
                    portal = stack.enter_context(start_blocking_portal())
                    client = stack.enter_context(portal.wrap_async_context_manager(self._make()))
                    closing = weakref.finalize(self, _close, stack.pop_all(), os.getpid())
                self._running = os.getpid(), portal, client, closing
            return self._running[1], self._running[2]


def _close(stack: ExitStack, pid: int) -> None:
    """A child that was forked has no such thread."""
    if os.getpid() == pid:
        stack.close()
