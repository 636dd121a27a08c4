"""The interface between traced code and the tracer: spans of the current exchange, which do nothing without a trace.

Owns `span`, `finished`, `note`, `event` and `carried`; knows no telemetry library. Attributes are numbers, ids and
closed sets of words, never text of an answer, a program or a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Final, Protocol

Value = str | bool | int | float | Sequence[str]
Attributes = Mapping[str, Value]
NONE: Final[Attributes] = {}


class Span(Protocol):
    """A span that has begun. It ends with its context; an error that leaves the context is recorded on it."""

    def note(self, attributes: Attributes) -> None: ...

    def event(self, name: str, attributes: Attributes = NONE) -> None: ...

    def rename(self, name: str) -> None:
        """Rename the span, once its kind is known. The name is of a closed set too."""
        ...

    def fail(self, kind: str) -> None:
        """Mark the span as failed although no error was raised. `kind` is of a closed set."""
        ...


class Tracer(Protocol):
    """Makes spans below the one that is current in this task. Nothing here waits or raises."""

    @property
    def recording(self) -> bool:
        """Whether spans are recorded."""
        ...

    def span(self, name: str, attributes: Attributes, *, calls_out: bool) -> AbstractContextManager[Span]: ...

    def finished(self, name: str, seconds: float, attributes: Attributes) -> None: ...

    def current(self) -> Span: ...

    def carried(self) -> dict[str, str]: ...


class RootTracer(Protocol):
    """Begins the traces of a process. `root`: `carrier` has the caller's headers by lower-case name."""

    def root(self, name: str, carrier: Mapping[str, str], attributes: Attributes) -> AbstractContextManager[Span]: ...

    def close(self) -> None:
        """Send the remaining spans. Blocks, at most as long as the exporter's own timeouts."""
        ...


class _Nothing:
    """The span and the tracer of code that is not traced."""

    recording = False

    def __enter__(self) -> Span:
        return self

    def __exit__(self, *_: object) -> None:
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
"""Set by the root of a trace for its task; tasks that it starts inherit it."""


def span(name: str, attributes: Attributes = NONE, *, calls_out: bool = False) -> AbstractContextManager[Span]:
    """A span for the time of a `with`. `calls_out`: it calls another server."""
    return tracer.get().span(name, attributes, calls_out=calls_out)


def finished(name: str, seconds: float, attributes: Attributes = NONE) -> None:
    """A span that ends now and took `seconds`."""
    tracer.get().finished(name, seconds, attributes)


def traced() -> bool:
    """Whether spans are recorded now; work that only they need may be skipped otherwise."""
    return tracer.get().recording


def note(attributes: Attributes) -> None:
    """Set attributes of the current span."""
    tracer.get().current().note(attributes)


def event(name: str, attributes: Attributes = NONE) -> None:
    """Add an event to the current span."""
    tracer.get().current().event(name, attributes)


def carried() -> dict[str, str]:
    """Headers by which a called server continues this trace (W3C Trace Context); empty without a trace."""
    return tracer.get().carried()
