"""The host's end of a sandbox that is used as a small machine: many requests at once, and streams with credit.

Owns framing, bounds and deadlines of guest/envd/daemon.py's channel; knows no HTTP. What a reply says is the program's
word, so every field is checked where it is read. A box that sends more than it was granted, or nothing in time, is
lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import anyio
import anyio.abc

from sandbox_gym.contract import Program, Run
from sandbox_gym.errors import BoxLost, SandboxGymError
from sandbox_gym.faults import log_failure
from sandbox_gym.guest.protocol import frames
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.channel.driver import NOTHING, Driver, DriverLink

HOME: Final = "/home/user"
USER: Final = "user"
WINDOW: Final = 1 << 20
"""Bytes of a stream that may be under way: what one stream can take of the host's memory."""
COST: Final = 128
ROOT_USER: Final = "root"
ROOT_HOME: Final = "/root"
PIECE: Final = 1 << 20
ANSWER_S: Final = 60.0
MAX_REPLY: Final = 17 << 20
MAX_STREAMS: Final = 1024
STRAYS: Final = 8 << 20
"""Bytes that a box may say unasked, beside what was under way of streams that were let go."""
SUSPEND_S: Final = 5.0
"""For what is under way to be answered before a box stands still."""
GO_ON_S: Final = 20.0
FOREVER_S: Final = 365 * 24 * 3600.0
_RUN_ID: Final = 1

Header = Mapping[str, object]


class Refused(SandboxGymError):
    """The sandbox's user can't have what was asked for. `code` is one of guest/envd/daemon.py's."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(slots=True, eq=False)
class _Waiter:
    soon: bool
    """The answer waits for no program."""
    answered: anyio.Event = field(default_factory=anyio.Event)
    reply: tuple[Header, bytes] | None = None


class Stream:
    """Events of one process, watch, connection or cell, in order. For one reader."""

    def __init__(self, envd: Envd, number: int, *, lasting: bool = False) -> None:
        """`lasting`: it goes on with a box that stood still."""
        self.envd, self.number, self.lasting = envd, number, lasting
        self._events: deque[tuple[Header, bytes]] = deque()
        self._arrived = anyio.Event()
        self._waiting = 0
        self.closed = False

    def arrive(self, header: Header, body: bytes) -> None:
        """Raises BoxLost when the box sends more than it may."""
        self._waiting += len(body) + COST
        if self._waiting > 2 * WINDOW:
            raise self.envd.lost("sent more than it was granted")
        self._events.append((header, body))
        self._arrived.set()

    async def next(self, within_s: float) -> tuple[Header, bytes]:
        """The next event. Raises TimeoutError, and BoxLost when the box is gone."""
        with anyio.fail_after(within_s):
            while not self._events:
                self.envd.check_alive()
                if self.closed:
                    raise self.envd.away()
                self._arrived = anyio.Event()
                await self._arrived.wait()
        header, body = self._events.popleft()
        self._waiting -= len(body) + COST
        if header.get("event") == "end":
            self.envd.forget(self.number)
        else:
            await self.envd.grant(self.number, len(body) + COST)
        return header, body

    async def take(self) -> list[bytes]:
        """The bodies of all events that are there."""
        found = []
        while self._events:
            found.append((await self.next(1))[1])
        return found

    def wake(self) -> None:
        self._arrived.set()


class Envd(Driver):
    """One box's. Any number of requests at once."""

    def __init__(self, link: DriverLink, tasks: anyio.abc.TaskGroup, *, root: bool = False, home: str = HOME) -> None:
        """`root`: what runs keeps all that the box's own supervisor holds, and is held by the box alone. `home`: the
        user's; where it is not HOME, programs are told their user's name when they start."""
        super().__init__(link, root=root)
        self._tasks, self._home = tasks, home
        self._reader = frames.FrameReader(max_header=1 << 20, max_body=MAX_REPLY)
        self._sending = anyio.Lock()
        self._waiters: dict[int, _Waiter] = {}
        self._streams: dict[int, Stream] = {}
        self._numbers = 0
        self._gone: BoxLost | None = None
        self._away = False
        self._later: list[Header] = []
        self._owed: dict[int, int] = {}
        """Bytes that streams are granted once the box runs again."""
        self._strays = STRAYS
        self.ended = anyio.Event()
        """Set when the box is lost."""

    async def start(self, limits: Limits, env: Mapping[str, str] = NOTHING) -> None:
        """See `Driver.start`."""
        named = {"USER": USER, "LOGNAME": USER} if self._home == HOME else {}
        # the box is theirs: pip need not spare what its distribution manages
        environment = {"HOME": self._home, **named, "SHELL": "/bin/bash", "PIP_BREAK_SYSTEM_PACKAGES": "1", **env}
        argv = ("envd", "root") if self._root else ("envd",)
        run = Run("envd", Program("session", {}, argv=argv, env=environment, workdir=self._home), limits=limits)
        await self._link.send_run(run, _RUN_ID, "relay")
        self._tasks.start_soon(self._listen)
        await self.call({"op": "ping"}, within_s=20)

    # -- requests

    async def call(self, request: Header, body: bytes = b"", *, within_s: float = ANSWER_S) -> tuple[Header, bytes]:
        """A request that is answered at once. Raises Refused; BoxLost also when no answer comes in time."""
        self._numbers += 1
        try:
            return await self._exchange(self._numbers, request, body, within_s)
        except TimeoutError:
            self._fail(self._link.lost(f"did not answer within {within_s:.0f} s"))
            raise self.check_gone() from None

    async def tidy(self, request: Header) -> None:
        """Have the box free something: one that stands still when it goes on, one that is gone not at all."""
        try:
            await self.call(request)
        except BoxLost:
            if self._gone is None:
                self._later.append(request)

    async def ask(self, request: Header, body: bytes = b"", *, within_s: float) -> tuple[Header, bytes]:
        """A request whose answer may wait for a program. Raises Refused, BoxLost, TimeoutError."""
        self._numbers += 1
        return await self._exchange(self._numbers, request, body, within_s, soon=False)

    async def open(self, request: Header, body: bytes = b"", *, lasting: bool = False) -> tuple[Header, Stream]:
        """A request that opens a stream, and the stream. `lasting`: see Stream. Raises Refused, BoxLost."""
        if len(self._streams) >= MAX_STREAMS:
            raise Refused("resource_exhausted", f"{MAX_STREAMS} streams are open already")
        self._numbers += 1
        number = self._numbers
        stream = self._streams[number] = Stream(self, number, lasting=lasting)
        try:
            with anyio.CancelScope(shield=True):  # so that what was started is never without its owner
                reply, _ = await self._exchange(number, {**request, "window": WINDOW}, body, ANSWER_S)
            return reply, stream
        except TimeoutError:
            self._fail(self._link.lost(f"did not answer within {ANSWER_S:.0f} s"))
            raise self.check_gone() from None
        except BaseException:
            self.forget(number)
            raise

    async def _exchange(
        self, number: int, request: Header, body: bytes, within_s: float, *, soon: bool = True
    ) -> tuple[Header, bytes]:
        self.check()
        waiter = self._waiters[number] = _Waiter(soon)
        try:
            with anyio.fail_after(within_s):
                async with self._sending:
                    self.check()
                    await self._send({**request, "id": number}, body)
                await waiter.answered.wait()
        finally:
            self._waiters.pop(number, None)
            self._strays += COST + (PIECE if waiter.reply is None else 0)
        if waiter.reply is None:
            raise self.away() if self._gone is None else self.check_gone()
        header, content = waiter.reply
        if header.get("ok") is not True:
            raise Refused(str(header.get("code"))[:40], str(header.get("why"))[:1000])
        return header, content

    async def _send(self, header: Header, body: bytes = b"") -> None:
        """One message. The caller has the turn."""
        message: bytes = frames.pack(header, body)
        if len(message) - len(body) - frames.HEAD.size > frames.MAX_HEADER:  # the box would give up at it
            raise Refused("invalid_argument", f"arguments and variables have over {frames.MAX_HEADER} bytes")
        with anyio.CancelScope(shield=True):  # a message cut short would put the channel out of step
            for start in range(0, len(message), frames.CHUNK):
                chunk = message[start : start + frames.CHUNK]
                await self._link.send({"op": "chan", "id": _RUN_ID, "eof": False}, chunk)

    async def grant(self, number: int, size: int) -> None:
        async with self._sending:
            if self._gone is not None or number not in self._streams:
                return
            if self._away:
                self._owed[number] = self._owed.get(number, 0) + size
            else:
                await self._send({"op": "grant", "id": 0, "stream": number, "bytes": size})

    def forget(self, number: int) -> None:
        """Events of that stream are of no more interest."""
        stream = self._streams.pop(number, None)
        if stream is not None:
            stream.closed = True
            self._strays += 2 * WINDOW

    # -- what comes

    async def _listen(self) -> None:
        try:
            while True:
                header, body = await self._link.receive_patiently(FOREVER_S)
                if header.get("op") != "chan":
                    raise self._link.lost(f"its session ended: {str(header.get('status'))[:40]}")
                self._reader.feed(body)
                while (frame := self._reader.next()) is not None:
                    self._dispatch(*frame)
        except frames.BadFrame as error:
            self._fail(self._link.lost(f"answered nonsense ({error})"))
        except BoxLost as error:
            self._fail(error)
        except Exception as error:  # it costs this sandbox, not those of all tenants
            log_failure("envd_listener_failed", error)
            self._fail(self._link.lost(f"its answers can't be read ({type(error).__name__})"))
        finally:
            self._fail(BoxLost("the sandbox was stopped"))

    def _dispatch(self, header: Header, body: bytes) -> None:
        number = header.get("stream")
        if isinstance(number, int):
            stream = self._streams.get(number)
            if stream is not None:
                stream.arrive(header, body)
            else:
                self._stray(body)
            return
        answered = header.get("id")
        waiter = self._waiters.get(answered) if isinstance(answered, int) else None
        if waiter is not None:
            waiter.reply = (header, body)
            waiter.answered.set()
        else:
            self._stray(body)

    def _stray(self, body: bytes) -> None:
        """A message that nothing waits for. Raises BoxLost for too many: a sandbox must not keep this process busy."""
        self._strays -= len(body) + COST
        if self._strays < 0:
            raise self._link.lost("sent what was not asked for")

    # -- standing still

    async def suspend(self) -> None:
        """The box is about to stand still: end what is under way, for a message cut short would cost the box. Whoever
        waits for it is told that it is lost, but for readers of lasting streams, which go on with it."""
        self._away = True
        with anyio.move_on_after(SUSPEND_S):
            async with self._sending:
                under_way = [waiter for waiter in self._waiters.values() if waiter.soon]
            for waiter in under_way:
                await waiter.answered.wait()
        for number in [number for number, stream in self._streams.items() if not stream.lasting]:
            stream = self._streams[number]
            self.forget(number)
            stream.wake()
            self._later += [{"op": "disconnect", "stream": number}, {"op": "unwatch", "stream": number}]
        for waiter in self._waiters.values():
            waiter.answered.set()

    async def go_on(self) -> None:
        """The box runs again. Raises BoxLost."""
        self._away = False
        await self.call({"op": "hold", "on": False}, within_s=GO_ON_S)
        later, self._later = self._later, []
        owed, self._owed = self._owed, {}
        for request in later:
            await self.call(request)
        for number, size in owed.items():
            await self.grant(number, size)

    def lost(self, why: str) -> BoxLost:
        return self._link.lost(why)

    def check(self) -> None:
        """Raises BoxLost when the box is gone, or stands still."""
        self.check_alive()
        if self._away:
            raise self.away()

    def check_alive(self) -> None:
        """Raises BoxLost when the box is gone."""
        if self._gone is not None:
            raise BoxLost(str(self._gone))

    def away(self) -> BoxLost:
        """The error to raise of a box that stands still, or of what was let go when it did."""
        return BoxLost("the sandbox is paused, or was")

    def check_gone(self) -> BoxLost:
        """The error to raise of a box that is gone."""
        return BoxLost(str(self._gone or "the sandbox was stopped"))

    def _fail(self, error: BoxLost) -> None:
        if self._gone is None:
            self._gone = error
        self.ended.set()
        for waiter in self._waiters.values():
            waiter.answered.set()
        for stream in self._streams.values():
            stream.wake()
