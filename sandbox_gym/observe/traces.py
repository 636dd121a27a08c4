"""The seam between what is traced and what traces: spans of the current exchange, which are nothing unless one began.

Owns the words (`span`, `finished`, `note`, `event`, `carried`); knows no telemetry library. Attributes are ours:
numbers, ids and closed sets of words, never what an answer, a program or a row says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from types import TracebackType
from typing import Final, Protocol

Value = str | bool | int | float | Sequence[str]
Attributes = Mapping[str, Value]
NONE: Final[Attributes] = {}


class Span(Protocol):
    """Something that began. It ends with its context; an error that leaves the context is the span's."""

    def note(self, attributes: Attributes) -> None: ...

    def event(self, name: str, attributes: Attributes = NONE) -> None: ...

    def rename(self, name: str) -> None:
        """What it was is known only now. From a closed set, too."""
        ...

    def fail(self, kind: str) -> None:
        """Ours, though no error was raised: `kind` is a word of a closed set."""
        ...


class Tracer(Protocol):
    """What makes spans beneath the one that is current in this task. Nothing here waits or raises."""

    @property
    def recording(self) -> bool:
        """Whether anybody will see them."""
        ...

    def span(self, name: str, attributes: Attributes, *, calls_out: bool) -> AbstractContextManager[Span]: ...

    def finished(self, name: str, seconds: float, attributes: Attributes) -> None: ...

    def current(self) -> Span: ...

    def carried(self) -> dict[str, str]: ...


class RootTracer(Protocol):
    """What begins the traces of a process. `root`: `carrier` are the caller's headers, by names in lower case."""

    def root(self, name: str, carrier: Mapping[str, str], attributes: Attributes) -> AbstractContextManager[Span]: ...

    def close(self) -> None:
        """Send what is left. Blocks, at most as long as the exporter's own timeouts."""
        ...


class _Nothing:
    """The span, and the tracer, of what is not traced."""

    recording = False

    def __enter__(self) -> Span:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def note(self, attributes: Attributes) -> None:
        return None

    def event(self, name: str, attributes: Attributes = NONE) -> None:
        return None

    def rename(self, name: str) -> None:
        return None

    def fail(self, kind: str) -> None:
        return None

    def span(self, name: str, attributes: Attributes, *, calls_out: bool) -> AbstractContextManager[Span]:
        return self

    def finished(self, name: str, seconds: float, attributes: Attributes) -> None:
        return None

    def current(self) -> Span:
        return self

    def carried(self) -> dict[str, str]:
        return {}


NOTHING: Final = _Nothing()
tracer: Final[ContextVar[Tracer]] = ContextVar("sandbox_gym_tracer", default=NOTHING)
"""Set by the root of a trace for all that its task does; tasks that it starts inherit it."""


def span(name: str, attributes: Attributes = NONE, *, calls_out: bool = False) -> AbstractContextManager[Span]:
    """A part of what is going on, for the time of a `with`. `calls_out`: another server is asked."""
    return tracer.get().span(name, attributes, calls_out=calls_out)


def finished(name: str, seconds: float, attributes: Attributes = NONE) -> None:
    """A part that ends now and took `seconds`."""
    tracer.get().finished(name, seconds, attributes)


def traced() -> bool:
    """Whether anybody will see spans that are made now: what only they need may be left out."""
    return tracer.get().recording


def note(attributes: Attributes) -> None:
    """Attributes of the current span."""
    tracer.get().current().note(attributes)


def event(name: str, attributes: Attributes = NONE) -> None:
    """Something that happened during the current span."""
    tracer.get().current().event(name, attributes)


def carried() -> dict[str, str]:
    """Headers by which a server that is asked now goes on with this trace (W3C Trace Context); empty without one."""
    return tracer.get().carried()
