"""Which own functions one request passes, in order of first call, and what it exchanges with sandboxes meanwhile.

All: a function counts when it is defined under `sandbox_gym/` or `verifiers/` and was called in the request's context,
which is its task, and the tasks and worker threads that it started. Housekeeping that runs beside it does not count;
neither do comprehensions, lambdas and generated methods, nor what runs inside sandboxes, which are other processes.

On the path: of these, each one through which the request reaches its sandbox, because it writes to the sandbox's stream
or reads from it, itself or through what it calls; and each one of another module that such a function calls, unless it
is a single statement, as an accessor is. That is what somebody reads who follows a request from its route to the
program and back. Helpers within a module are left out, and so is what a called function calls in turn.

Knows neither servers nor figures.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from tools.source import PRODUCT, ROOT

_LIBRARY: Final = "/anyio/"
"""Whose task groups start tasks, and whose streams reach sandboxes."""
OWN_STREAM: Final = "sandbox_gym.sandbox.channel.socket_stream"
"""The module whose stream reaches the guests of local sandboxes."""


@dataclass(frozen=True, slots=True)
class Function:
    """An own function. `name` is qualified within the module."""

    module: str
    name: str
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.name}"


@dataclass(frozen=True, slots=True)
class Probe:
    """Functions whose calls are counted apart, by the first argument of each."""

    package: str
    names: tuple[str, ...]

    def covers(self, function: Function) -> bool:
        return function.module.startswith(self.package) and function.name.rpartition(".")[2] in self.names


@dataclass(slots=True)
class _Stream:
    """A stream to a sandbox, as one request used it; held, so that its address stays its own."""

    held: object
    sending: bool = False
    round_trips: int = 0


@dataclass(slots=True, eq=False)
class Recording:
    """What one request passed."""

    probes: Mapping[str, Probe]
    functions: dict[CodeType, Function] = field(default_factory=dict)
    """In order of first call."""
    calls: dict[str, list[int]] = field(default_factory=dict)
    """By probe: of each call, a number that stands for its first argument."""
    writes: int = 0
    """To sandboxes."""
    _callers: dict[CodeType, set[CodeType]] = field(default_factory=dict)
    _started_by: dict[CodeType, CodeType] = field(default_factory=dict)
    """Of functions that became tasks."""
    _talkers: set[CodeType] = field(default_factory=set)
    """Those that wrote to a sandbox's stream, or read from it."""
    _streams: dict[int, _Stream] = field(default_factory=dict)
    _frames: dict[int, FrameType] = field(default_factory=dict)
    """Kept while recording, so that a coroutine that goes on is not taken for another call."""
    _actions: dict[CodeType, Callable[[FrameType], None] | None] = field(default_factory=dict)

    def enter(self, frame: FrameType) -> None:
        """A function is called, or a coroutine goes on."""
        code = frame.f_code
        if code not in self._actions:
            self._actions[code] = self._action(code)
        action = self._actions[code]
        if action is not None:
            action(frame)

    def done(self) -> None:
        """Let go of what was held to tell calls apart."""
        self._frames.clear()

    def path(self, is_accessor: Callable[[Function], bool]) -> list[Function]:
        """The functions on the path, in order of first call."""
        way = self._way()
        return [
            function
            for code, function in self.functions.items()
            if code in way or (self._called_from(code, way) and not is_accessor(function))
        ]

    def round_trips(self, streams: Set[int] | None = None) -> int:
        """On all streams, or on these; each begins with a write that follows no other."""
        return sum(one.round_trips for key, one in self._streams.items() if streams is None or key in streams)

    def streams(self) -> frozenset[int]:
        """The streams that were used."""
        return frozenset(self._streams)

    def _way(self) -> set[CodeType]:
        """Those that reach a stream, themselves or through what they call."""
        found, rest = set(self._talkers), list(self._talkers)
        while rest:
            for caller in self._callers.get(rest.pop(), ()):
                if caller not in found:
                    found.add(caller)
                    rest.append(caller)
        return found

    def _called_from(self, code: CodeType, way: Set[CodeType]) -> bool:
        """Whether one of `way` in another module calls it."""
        module = self.functions[code].module
        return any(self.functions[one].module != module for one in self._callers.get(code, set()) & way)

    def _action(self, code: CodeType) -> Callable[[FrameType], None] | None:
        """What is to be done at the calls of a function that was not seen before."""
        if _LIBRARY in code.co_filename:
            return self._library_action(code)
        function = own_function(code)
        if function is None:
            return None
        self.functions[code] = function
        probe = next((name for name, one in self.probes.items() if one.covers(function)), "")
        called = partial(self._called, probe)
        stream = self._stream_action(code) if function.module == OWN_STREAM else None
        return called if stream is None else partial(_each, (called, stream))

    def _library_action(self, code: CodeType) -> Callable[[FrameType], None] | None:
        if code.co_qualname in ("TaskGroup.start_soon", "TaskGroup.start"):
            return self._started
        return self._stream_action(code) if "Stream" in code.co_qualname else None

    def _stream_action(self, code: CodeType) -> Callable[[FrameType], None] | None:
        return {"send": self._sent, "receive": self._received}.get(code.co_name)

    def _called(self, probe: str, frame: FrameType) -> None:
        code = frame.f_code
        caller = self._own_caller(frame) or self._started_by.get(code)
        if caller is not None and caller is not code:
            self._callers.setdefault(code, set()).add(caller)
        if probe and self._is_new(frame):
            self.calls.setdefault(probe, []).append(_first_argument(frame))

    def _started(self, frame: FrameType) -> None:
        started = frame.f_locals.get("func")
        while isinstance(started, partial):
            started = started.func
        code = getattr(getattr(started, "__func__", started), "__code__", None)
        starter = self._own_caller(frame)
        if code is not None and starter is not None:
            self._started_by[code] = starter

    def _sent(self, frame: FrameType) -> None:
        if self._is_new(frame):
            stream = self._stream(frame)
            self.writes += 1
            stream.round_trips += not stream.sending
            stream.sending = True

    def _received(self, frame: FrameType) -> None:
        self._stream(frame).sending = False

    def _stream(self, frame: FrameType) -> _Stream:
        talker = self._own_caller(frame)
        if talker is not None:
            self._talkers.add(talker)
        held = frame.f_locals["self"]
        return self._streams.setdefault(id(held), _Stream(held))

    def _is_new(self, frame: FrameType) -> bool:
        """Whether this is a call, and no coroutine that goes on."""
        known = id(frame) in self._frames
        self._frames[id(frame)] = frame
        return not known

    def _own_caller(self, frame: FrameType) -> CodeType | None:
        """The nearest own function below in the stack."""
        below = frame.f_back
        while below is not None and below.f_code not in self.functions:
            below = below.f_back
        return below.f_code if below is not None else None


def _each(actions: Iterable[Callable[[FrameType], None]], frame: FrameType) -> None:
    for action in actions:
        action(frame)


def own_function(code: CodeType) -> Function | None:
    """None for what is not ours, and for what has no name of its own."""
    if code.co_name.startswith("<") or not code.co_filename.startswith(f"{ROOT}/"):
        return None
    path = Path(code.co_filename).relative_to(ROOT)
    if path.parts[0] not in PRODUCT:
        return None
    module = ".".join([PRODUCT[path.parts[0]], *path.with_suffix("").parts[1:]])
    return Function(module.removesuffix(".__init__"), code.co_qualname.replace(".<locals>", ""), code.co_firstlineno)


def _first_argument(frame: FrameType) -> int:
    names = [name for name in frame.f_code.co_varnames[: frame.f_code.co_argcount] if name != "self"]
    value = frame.f_locals.get(names[0]) if names else None
    return hash(value) if isinstance(value, bytes | str) else id(value)


_recording: Final[ContextVar[Recording | None]] = ContextVar("recording", default=None)


def _profile(frame: FrameType, event: str, _argument: object) -> None:
    if event == "call":
        recording = _recording.get()
        if recording is not None:
            recording.enter(frame)


@contextmanager
def watching() -> Iterator[None]:
    """Watch this thread, and those that start from now on."""
    threading.setprofile(_profile)
    sys.setprofile(_profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@contextmanager
def recording(probes: Mapping[str, Probe]) -> Iterator[Recording]:
    """Record what this task does from now on, and what it starts; within `watching`."""
    made = Recording(probes)
    token = _recording.set(made)
    try:
        yield made
    finally:
        _recording.reset(token)
        made.done()
