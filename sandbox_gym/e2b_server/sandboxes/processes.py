"""Processes, watches and notebooks of one sandbox as the server knows them: who listens to what.

A process goes on when nobody listens; a listener that does not read holds it up for a while and is then let go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.channel.envd import FOREVER_S, Envd, Stream
from sandbox_gym.sandbox.channel.outcomes import quantity

STALL_S: Final = 60.0
"""How long a listener that takes nothing may hold a process up."""
BUFFERED: Final = 8
Event = tuple[Mapping[str, object], bytes]


@dataclass(frozen=True, slots=True)
class Config:
    """What a process was started as."""

    cmd: str
    args: tuple[str, ...]
    envs: Mapping[str, str]
    cwd: str | None = None
    tag: str | None = None
    pty: bool = False


class RunningProcess:
    """One process. `run` passes its events to all who listen, until its end."""

    def __init__(self, pid: int, config: Config, stream: Stream) -> None:
        self.pid, self.config = pid, config
        self._stream = stream
        self._listeners: list[MemoryObjectSendStream[Event]] = []
        self.lost = False

    def listen(self) -> MemoryObjectReceiveStream[Event]:
        """Events from now on. It ends after the process's end, or without one when the sandbox is lost."""
        send, receive = anyio.create_memory_object_stream[Event](BUFFERED)
        self._listeners.append(send)
        return receive

    async def run(self) -> None:
        try:
            while True:
                header, body = await self._stream.next(FOREVER_S)
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
            except (TimeoutError, anyio.BrokenResourceError):
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
    """What goes on in one running box."""

    envd: Envd
    processes: dict[int, RunningProcess] = field(default_factory=dict)
    watches: dict[str, Stream] = field(default_factory=dict)
    notebooks: dict[str, Notebook] = field(default_factory=dict)
    opening: anyio.Lock = field(default_factory=anyio.Lock)


def number(reply: Mapping[str, object], name: str) -> int:
    """A count in a box's reply. Raises BoxLost when it is none."""
    value = reply.get(name)
    if type(value) is not int or not -(1 << 53) < value < 1 << 53:
        raise BoxLost(f"the sandbox answered without {name}")
    return value


def real(reply: Mapping[str, object], name: str) -> float:
    """A quantity in a box's reply. Raises BoxLost when it is none."""
    try:
        return quantity(reply.get(name))
    except TypeError:
        raise BoxLost(f"the sandbox answered without {name}") from None


def words(reply: Mapping[str, object], name: str, limit: int = 8192) -> str:
    """A bounded text in a box's reply; empty when it is none."""
    value = reply.get(name)
    return value[:limit].encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""
