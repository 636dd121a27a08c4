"""Bounds on connections: their number, and the time for a head, for a body, and for reading the response.

Owns sockets and time; knows no route. At the limit the connection idle for longest is closed for a new one, so that
clients with idle connections block no other client; where every connection is busy a new one is answered 503.
"""

from __future__ import annotations

import asyncio
import fcntl
import resource
import termios
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Literal

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sandbox_gym.sandbox.egress.proxy import have_descriptors

WRITE_STALL_S: Final = 600.0
"""Seconds that a client may leave its response unread; long, because a sandbox's stream may be read late."""
LINGER_S: Final = 2.0
"""Seconds that a refused client has for what it was sending; a close before would reset the connection, and the
refusal be lost."""
_BUSY: Final = "all connections are busy"
_LOOKED_AT: Final = 8
_OF_SERVER: Final = 128
_OF_SANDBOX: Final = 6
"""Descriptors that the server needs, and those of one sandbox, with a margin."""
MAX_BACKLOG: Final = 2048
_PHRASES: Final = {408: b"Request Timeout", 503: b"Service Unavailable"}


@dataclass(eq=False)
class Bounds:
    """Limits of one server process's clients, and its idle connections, the one idle for longest first."""

    most: int
    """Connections at once."""
    head_s: float
    """Seconds from a connection's start, or a further request's first byte, to the end of the head."""
    body_s: float
    """Seconds without a byte of an awaited body."""
    backlog: int = MAX_BACKLOG
    idle: dict[BoundedProtocol, None] = field(default_factory=dict)
    sending: dict[BoundedProtocol, float] = field(default_factory=dict)
    """Bodies that are being received, and since when."""
    lingering: set[BoundedProtocol] = field(default_factory=set)
    """Refused connections whose clients have not closed them yet."""
    most_lingering: int = MAX_BACKLOG

    def make_room(self, connections: int, now: float) -> bool:
        """Whether one more connection may stay; another may have been closed for it."""
        if connections <= self.most:
            return True
        victim = self._idle_for_longest()
        if victim is None:
            victim = next((one for one, since in self.sending.items() if now - since > self.body_s), None)
        if victim is None:
            return False
        victim.make_room()
        return True

    def may_wait(self, connections: int) -> bool:
        """Whether room may be made soon: one has sent what is not read yet, and may be slow."""
        return bool(self.idle) and connections <= self.most + self.backlog

    def _idle_for_longest(self) -> BoundedProtocol | None:
        """One of those that have sent nothing. Of many that come at once the requests are still to be read."""
        for one in list(islice(self.idle, _LOOKED_AT)):
            if not one.has_unread():
                return one
            del self.idle[one]
            self.idle[one] = None
        return None

    def forget(self, connection: BoundedProtocol) -> None:
        self.lingering.discard(connection)
        self.idle.pop(connection, None)
        self.sending.pop(connection, None)


def bounds_of(most: int, head_s: float, body_s: float, *, sandboxes: int) -> Bounds:
    """Bounds that leave enough descriptors for `sandboxes` and the server; raises the soft limit for it."""
    have_descriptors()
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    reserve = _OF_SERVER + _OF_SANDBOX * sandboxes
    most = min(most, max(descriptors - reserve, descriptors // 2))
    # asyncio accepts the whole backlog at once, before any connection can be refused
    backlog = min(MAX_BACKLOG, max(16, (descriptors - most) // 4))
    return Bounds(most, head_s, body_s, backlog, most_lingering=(descriptors - most) // 2)


class BoundedConfig(uvicorn.Config):
    """uvicorn's configuration with a bounded protocol. Web sockets are not served: their protocol has no bounds."""

    def __init__(self, app: Any, bounds: Bounds, **options: Any) -> None:  # uvicorn's own types
        super().__init__(app, http=BoundedProtocol, ws="none", backlog=bounds.backlog, **options)
        self.bounds = bounds


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with a deadline for everything that a connection waits for."""

    def __init__(
        self,
        config: BoundedConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._bounds = config.bounds
        self._waits_for: Literal["head", "body", "reader", "end", ""] = ""
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # -- events

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._begun():
            return
        transport.pause_reading()
        self._begin_later()

    def _begin_later(self) -> None:
        """Of many that come at once none is read yet: who is slow shows when they were, in the next turn."""
        self.loop.call_soon(self.loop.call_soon, self._begin_or_refuse)

    def _begin_or_refuse(self) -> None:
        if self.transport.is_closing():
            return
        if not self._begun():
            if self._bounds.may_wait(len(self.connections)):
                return self._begin_later()
            self._refuse(503, _BUSY, {"retry-after": "1"})
        self.transport.resume_reading()

    def _begun(self) -> bool:
        """Whether there is room."""
        room = self._bounds.make_room(len(self.connections), self.loop.time())
        if room:
            self._bounds.idle[self] = None
            self._wait_for("head", self._bounds.head_s)
        return room

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing() or self in self._bounds.lingering:
            return
        super().data_received(data)
        if self._at_work():
            self._work()
        elif self._waits_for != "head":  # the first bytes of a further request
            self._wait_for("head", self._bounds.head_s)

    def on_response_complete(self) -> None:
        self._rest()
        super().on_response_complete()
        if self._at_work():  # the next request arrived together with this one
            self._work()

    def connection_lost(self, exc: Exception | None) -> None:
        self._bounds.forget(self)
        self._wait_for("", 0)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for("reader", WRITE_STALL_S)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._waits_for == "reader":
            self._wait_for("", 0)

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # close() would wait for a client that does not read
        else:
            super().timeout_keep_alive_handler()

    def has_unread(self) -> bool:
        """Whether bytes of a request are here that were not read yet."""
        descriptor = self.transport.get_extra_info("socket").fileno()
        return descriptor >= 0 and fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)) != bytes(4)

    # -- deadlines

    def make_room(self) -> None:
        """Close this connection to make room for another."""
        self._bounds.forget(self)
        if self._waits_for == "head":  # its client may be about to send a request
            self._refuse(503, _BUSY, {"retry-after": "1"})
        elif self._waits_for == "body":
            self._time_out("the server has too many connections")
        elif self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()
        self.connections.discard(self)  # at once, because more connections may be waiting

    def _at_work(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _work(self) -> None:
        self._bounds.idle.pop(self, None)
        if self.cycle.more_body:
            self._bounds.sending.setdefault(self, self.loop.time())
            self._wait_for("body", self._bounds.body_s)
        else:
            self._bounds.sending.pop(self, None)
            self._wait_for("", 0)

    def _rest(self) -> None:
        """Idle until the next request; uvicorn's own timer limits that."""
        self._bounds.sending.pop(self, None)
        self._bounds.idle.pop(self, None)
        self._bounds.idle[self] = None
        if self._waits_for != "reader":
            self._wait_for("", 0)

    def _wait_for(self, what: Literal["head", "body", "reader", "end", ""], within_s: float) -> None:
        self._waits_for = what
        if not what:
            return
        self._due = self.loop.time() + within_s
        if self._timer is not None and self._timer.when() > self._due:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self.loop.call_at(self._due, self._look)

    def _look(self) -> None:
        """The timer has ended; the deadline may have been extended since."""
        self._timer = None
        if not self._waits_for:
            return
        if self._waits_for == "body" and self.flow.read_paused:  # the server is busy, not the client
            self._due = self.loop.time() + self._bounds.body_s
        if self.loop.time() < self._due:
            self._timer = self.loop.call_at(self._due, self._look)
        elif self._waits_for in ("reader", "end") or self.transport.is_closing():
            self.transport.abort()
        elif self._waits_for == "body":
            self._time_out(f"no byte of the body arrived for {self._bounds.body_s:g} s")
        else:
            self._refuse(408, f"no complete head of a request arrived within {self._bounds.head_s:g} s")

    def _time_out(self, why: str) -> None:
        """End a request whose body does not arrive; its handler sees a disconnect."""
        started = self.cycle.response_started
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        if started:
            self.transport.abort()
        else:
            self._refuse(408, why)

    def _refuse(self, status: int, why: str, headers: dict[str, str] | None = None) -> None:
        self._wait_for("", 0)
        body = b'{"detail":"%s"}' % why.encode()
        defaults = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        fields = [(name.encode(), value.encode()) for name, value in {**defaults, **(headers or {})}.items()]
        try:
            for event in (
                h11.Response(status_code=status, headers=fields, reason=_PHRASES[status]),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # the connection can't be answered any more
            self.transport.abort()
        if self.transport.is_closing() or len(self._bounds.lingering) >= self._bounds.most_lingering:
            return self.transport.close()
        self._bounds.lingering.add(self)
        self.connections.discard(self)
        self.transport.write_eof()
        self._wait_for("end", LINGER_S)
