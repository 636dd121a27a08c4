"""The server's view of one sandbox's processes, watches and notebooks, and of the clients that listen to them.

A process goes on without listeners. A listener that does not read delays it for at most STALL_S and is then dropped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, NotRequired, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from typing_extensions import TypedDict

from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.channel.envd import FOREVER_S, Envd, Stream
from sandbox_gym.sandbox.channel.outcomes import quantity

STALL_S: Final = 60.0
"""How long a listener that reads nothing may delay a process."""
BUFFERED: Final = 8
ROOT_S: Final = 60.0
Event = tuple[Mapping[str, object], bytes]
T = TypeVar("T")


class ProcessConfig(TypedDict):
    """A process's command, arguments and environment."""

    cmd: str
    args: list[str]
    envs: dict[str, str]
    cwd: NotRequired[str]


class RunningProcess:
    """One process. `run` passes its events to all listeners until it ends."""

    def __init__(self, pid: int, config: ProcessConfig, stream: Stream, *, tag: str | None, pty: bool) -> None:
        self.pid, self.config, self.tag, self.pty = pid, config, tag, pty
        self.stream, self.envd = stream, stream.envd
        self._listeners: list[MemoryObjectSendStream[Event]] = []
        self.lost = self.paused = False

    def listen(self) -> MemoryObjectReceiveStream[Event]:
        """Events from now on. It ends after the process's end, or without one when the sandbox is lost."""
        self.paused = False
        send, receive = anyio.create_memory_object_stream[Event](BUFFERED)
        self._listeners.append(send)
        return receive

    def let_go(self) -> None:
        """It is paused: end all that listen."""
        self.paused = True
        listeners, self._listeners = self._listeners, []
        for one in listeners:
            one.close()

    async def run(self) -> None:
        try:
            while True:
                header, body = await self.stream.next(FOREVER_S)
                await self._publish((header, body))
                if header.get("event") == "end":
                    return
        except BoxLost:
            self.lost = True
        finally:
            for one in self._listeners:
                one.close()

    async def _publish(self, event: Event) -> None:
        for one in list(self._listeners):
            try:
                with anyio.fail_after(STALL_S):
                    await one.send(event)
            except (TimeoutError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                if one in self._listeners:
                    self._listeners.remove(one)
                one.close()


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook's context."""

    context_id: str
    language: str
    cwd: str
    lock: anyio.Lock = field(default_factory=anyio.Lock)


@dataclass(slots=True, eq=False)
class Work:
    """The drivers of one running box, its user's and its root's if it was asked for, and what runs in the box."""

    envd: Envd
    root: Envd | None = None
    processes: dict[int, RunningProcess] = field(default_factory=dict)
    watches: dict[str, Stream] = field(default_factory=dict)
    notebooks: dict[str, Notebook] = field(default_factory=dict)
    suspended: bool = False
    opening: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while a default context or root's driver is made."""

    def _drivers(self) -> list[Envd]:
        """Those that live."""
        return [one for one in (self.envd, self.root) if one is not None and not one.ended.is_set()]

    async def as_root(self, begun: Callable[[], Awaitable[Envd]]) -> Envd:
        """Root's driver, which is started when it is first asked for. Raises what `begun` does, TimeoutError."""
        async with self.opening:
            if self.root is None or self.root.ended.is_set():
                with anyio.fail_after(ROOT_S):
                    self.root = await begun()
            return self.root

    async def _each(self, ask: Callable[[Envd], Awaitable[T]]) -> list[T]:
        """Ask every driver that lives. One of root's that is lost meanwhile costs what runs below it alone. Raises
        BoxLost."""
        said = []
        for envd in self._drivers():
            try:
                said.append(await ask(envd))
            except BoxLost:
                if envd is self.envd:
                    raise
        return said

    @asynccontextmanager
    async def quit_all(self) -> AsyncIterator[None]:
        """Every process has ended in the body, and clients are told that the sandbox is lost. Raises BoxLost."""
        await self.suspend()
        await self.go_on()
        self.suspended = True
        try:
            await self._each(lambda envd: envd.call({"op": "quit_all"}))
            yield
        finally:
            self.suspended = False

    @asynccontextmanager
    async def held(self) -> AsyncIterator[bool]:
        """All processes stand still in the body, which is told whether there are any; and afterwards where it has
        suspended the drivers. Raises BoxLost."""
        try:
            states = await self._each(lambda envd: envd.call({"op": "hold", "on": True}))
            yield any(state.get("running") for state, _ in states)
        finally:
            if not self.suspended and not self.envd.ended.is_set():
                await self._each(lambda envd: envd.call({"op": "hold", "on": False}))

    @property
    def in_a_cell(self) -> bool:
        """Whether a notebook's cell runs."""
        return any(one.lock.locked() for one in self.notebooks.values())

    async def suspend(self) -> None:
        """All is about to stand still: whoever listens is told that the sandbox is lost."""
        self.suspended = True
        for envd in self._drivers():
            await envd.suspend()
        for process in self.processes.values():
            process.let_go()

    async def go_on(self) -> None:
        """Raises BoxLost."""
        await self._each(lambda envd: envd.go_on())
        self.suspended = False


def number(reply: Mapping[str, object], name: str) -> int:
    """An integer of a box's reply. Raises BoxLost where it is none."""
    value = reply.get(name)
    if type(value) is not int or not -(1 << 53) < value < 1 << 53:
        raise BoxLost(f"the sandbox answered without {name}")
    return value


def real(reply: Mapping[str, object], name: str) -> float:
    """A number of a box's reply. Raises BoxLost where it is none."""
    try:
        return quantity(reply.get(name))
    except TypeError:
        raise BoxLost(f"the sandbox answered without {name}") from None


def text_of(reply: Mapping[str, object], name: str, limit: int = 8192) -> str:
    """A bounded string of a box's reply; empty where it is none."""
    value = reply.get(name)
    return value[:limit].encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""
