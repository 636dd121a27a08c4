"""A sandbox's one way out: a proxy of this process's, on a socket that listens on the sandbox's own loopback.

The sandbox keeps its empty network namespace. The socket is made inside of it by a process that hands it out and ends.
Programs that connect to it speak HTTP's proxy protocol (RFC 9110, 9.3.6: CONNECT; RFC 9112, 3.2.2: absolute form). The
proxy dials what the AllowList permits and nothing else: it checks the name and the address that the name stands for,
and dials that address. What is inside of TLS is between the two ends. All that comes from the sandbox is hostile.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import anyio.to_thread
import structlog

from sandbox_gym.network import AllowList
from sandbox_gym.sandbox.egress.http import PIECE, Refused, Request, answer, read_request
from sandbox_gym.sandbox.egress.inner_listener import listen_inside

PORT: Final = 3128
"""Where it listens in every sandbox that has one."""
MAX_CONNECTIONS: Final = 32
"""Of one sandbox; more wait in the kernel."""
MAX_LOOKUPS: Final = 4
MAX_DESCRIPTORS: Final = 65_536
MAX_ADDRESSES: Final = 4
MAX_LOGGED: Final = 20
"""Refusals that are logged of one sandbox."""
HEAD_S: Final = 15.0
DIAL_S: Final = 15.0
IDLE_S: Final = 300.0
CLOSE_S: Final = 2.0
FULL_S: Final = 0.1
"""How often to look whether this process can bear another connection."""
_LOOKING_UP: Final = ThreadPoolExecutor(8, "lookup")
"""Slow DNS lookups block only proxies, not the rest of the server."""
_OPEN: Final[set[asyncio.Task[None]]] = set()
"""Connections of all proxies."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Way:
    """Where a connection leads: what was asked for, and what that is."""

    host: str
    port: int
    address: str


@dataclass(slots=True)
class _Flow:
    """A connection's two directions: when something last went either way."""

    at: float = field(default_factory=time.monotonic)

    def left_s(self) -> float:
        return self.at + IDLE_S - time.monotonic()


class Pace:
    """At most so many turns a second, and so many at once: what one sandbox may cost the server's event loop."""

    def __init__(self, rate: float, burst: int) -> None:
        self._gap_s, self._burst_s = 1 / rate, burst / rate
        self._next = 0.0

    async def turn(self) -> None:
        now = time.monotonic()
        self._next = max(self._next, now - self._burst_s) + self._gap_s
        if self._next > now:
            await asyncio.sleep(self._next - now)


class EgressProxy:
    """One sandbox's. `open_egress_proxy` makes one."""

    def __init__(self, allow: Sequence[str], box_id: str) -> None:
        """Raises ValueError for what is no allow-list."""
        self._allow = AllowList(allow)
        self._box_id, self._logged, self._closed = box_id, 0, False
        self._listener: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._ways: dict[asyncio.Task[None], _Way | None] = {}
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self._lookups = asyncio.Semaphore(MAX_LOOKUPS)
        self._accepts, self._pieces = Pace(100, 100), Pace(2000, 500)

    @property
    def environment(self) -> Mapping[str, str]:
        """What programs find it by."""
        url = f"http://127.0.0.1:{PORT}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        inside = "localhost,127.0.0.1,::1"
        return {**dict.fromkeys(names, url), "NO_PROXY": inside, "no_proxy": inside}

    def serve(self, listener: socket.socket) -> None:
        """From now on, until closed; the proxy closes the socket."""
        self._listener = listener
        self._accepting = asyncio.create_task(self._accept(listener))

    def restrict(self, allow: Sequence[str]) -> None:
        """Another list from now on; what it does not permit is cut off. Raises ValueError."""
        self._allow = AllowList(allow)
        for task, way in self._ways.items():
            if way is not None and not self._permits(way):
                task.cancel()

    async def aclose(self) -> None:
        """Nothing gets out any more. Idempotent."""
        self._closed = True
        tasks = [*self._ways, *((self._accepting,) if self._accepting is not None else ())]
        for task in tasks:
            task.cancel()
        listener, self._listener = self._listener, None
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=CLOSE_S)
        finally:
            if listener is not None:
                listener.close()

    async def _accept(self, listener: socket.socket) -> None:
        """Accepts no connection without a slot for it: the others wait in the kernel, at the sandbox's cost."""
        loop = asyncio.get_running_loop()
        while True:
            await self._slots.acquire()
            await self._accepts.turn()
            await self._room()
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as error:  # this process has no more descriptors, or that connection is gone
                self._slots.release()
                if self._may_log():
                    _log.warning("egress_accept_failed", box=self._box_id, why=str(error))
                await asyncio.sleep(1)
                continue
            except BaseException:
                self._slots.release()
                raise
            try:
                await self._room()  # there was room before the wait for a connection, and may be none now
            except BaseException:
                connection.close()
                raise
            task = asyncio.create_task(self._serve(connection))
            _OPEN.add(task)
            self._ways[task] = None
            task.add_done_callback(partial(self._served, connection))

    async def _room(self) -> None:
        """Until this process can take another connection; sandboxes with many of them get no more of the last half."""
        while len(_OPEN) >= most_connections() // (2 if len(self._ways) >= MAX_CONNECTIONS // 8 else 1):  # noqa: ASYNC110
            await asyncio.sleep(FULL_S)

    def _served(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        connection.close()  # a task that is cancelled before it begins does not
        _OPEN.discard(task)
        self._ways.pop(task, None)
        self._slots.release()
        error = None if task.cancelled() else task.exception()
        if error is not None and self._may_log():  # a bug of the proxy: no input of a sandbox should get here
            _log.error("egress_failed", box=self._box_id, error=type(error).__name__)

    async def _serve(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=PIECE)
        try:
            async with asyncio.timeout(HEAD_S):
                request = await read_request(reader, self._pieces.turn)
            await self._carry(request, reader, writer)
        except Refused as refused:
            await answer(reader, writer, refused)
        except (OSError, TimeoutError):
            pass  # the program went
        finally:
            await self._close(writer)

    async def _carry(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        far_reader, far_writer = await self._dial(task, request)
        flow = _Flow()
        try:
            if request.head:
                far_writer.write(request.head)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            far_writer.write(request.rest)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(flow, reader, far_writer))
                both.create_task(self._pump(flow, far_reader, writer))
        except* (OSError, TimeoutError):
            pass  # one end closed; the other sees the end of its stream
        finally:
            await self._close(far_writer)

    async def _pump(self, flow: _Flow, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the stream's end, which is passed on to the other side. Raises OSError, and TimeoutError once nothing
        has gone either way for a while."""
        while True:
            try:
                async with asyncio.timeout(flow.left_s()) as idle:
                    data = await reader.read(PIECE)
            except TimeoutError:
                # the idle limit, and something went the other way; a peer that is gone is a TimeoutError too
                if idle.expired() and flow.left_s() > 0:
                    continue
                raise
            if not data:
                break
            flow.at = time.monotonic()
            writer.write(data)
            async with asyncio.timeout(IDLE_S):
                await writer.drain()
            await self._pieces.turn()
        if writer.can_write_eof():
            writer.write_eof()

    async def _dial(
        self, task: asyncio.Task[None], request: Request
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = request.host.strip("[]"), request.port
        addresses = await self._addresses(host, port)
        for number, address in enumerate(addresses, 1):
            self._ways[task] = _Way(host, port, address)
            if self._closed or not self._permits(_Way(host, port, address)):
                raise self._refusal(host, port)
            try:
                async with asyncio.timeout(DIAL_S / len(addresses)):
                    return await asyncio.open_connection(address, port, limit=PIECE)
            except TimeoutError:
                refused = Refused(504, f"{host}:{port} does not answer")
            except OSError as error:
                refused = Refused(502, f"{host}:{port} can't be reached ({type(error).__name__})")
            if number == len(addresses):
                raise refused
        raise Refused(502, f"{host} has no address")

    async def _addresses(self, host: str, port: int) -> list[str]:
        """What a host stands for and may be dialled. Names that are not listed are not looked up: the query itself
        would be a message to the name's server. Raises Refused."""
        literal = _literal(host, port)
        if literal is not None:
            found = [literal]
        elif not self._allow.permits_name(host, port):
            raise self._refusal(host, port)
        else:
            try:
                async with asyncio.timeout(DIAL_S):
                    answers = await self._look_up(host, port)
            except TimeoutError:
                raise Refused(504, f"the name {host} was not answered") from None
            except (OSError, UnicodeError):
                raise Refused(502, f"{host} has no address") from None
            found = list(dict.fromkeys(str(one[4][0]) for one in answers))[:MAX_ADDRESSES]
        permitted = [address for address in found if self._permits(_Way(host, port, address))]
        if not permitted:
            raise self._refusal(host, port)
        return permitted

    async def _look_up(self, host: str, port: int) -> Sequence[tuple[Any, ...]]:
        """One of this sandbox's lookup slots is taken until its thread is done, also where the caller has given up."""
        loop = asyncio.get_running_loop()
        await self._lookups.acquire()
        job = _LOOKING_UP.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)

        def done(_job: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._lookups.release)

        job.add_done_callback(done)
        return await asyncio.wrap_future(job)

    def _permits(self, way: _Way) -> bool:
        named = _literal(way.host, way.port) is None
        if named and not self._allow.permits_name(way.host, way.port):
            return False
        return self._allow.permits_address(way.address, named=named)

    def _refusal(self, host: str, port: int) -> Refused:
        if self._may_log():
            _log.info("egress_refused", box=self._box_id, host=host, port=port)
        return Refused(403, f"{host}:{port} is not among what this sandbox may reach")

    def _may_log(self) -> bool:
        self._logged += 1
        return self._logged <= MAX_LOGGED

    async def _close(self, writer: asyncio.StreamWriter) -> None:
        """Closed when what was written is on its way; at once where the peer does not read, or the proxy is closed."""
        if self._closed:
            writer.transport.abort()
            return
        writer.close()
        try:
            async with asyncio.timeout(CLOSE_S):
                await writer.wait_closed()
        except (OSError, TimeoutError):
            writer.transport.abort()
        except BaseException:
            writer.transport.abort()
            raise


async def open_egress_proxy(pid: int, allow: Sequence[str], box_id: str, *, below: bool = True) -> EgressProxy:
    """A proxy in the sandbox that `pid` of this machine is in, or, where `below`, a child of it. Raises NoWayOut, and
    ValueError for what is no allow-list."""
    have_descriptors()
    proxy = EgressProxy(allow, box_id)
    with anyio.CancelScope(shield=True):  # a socket without an owner would keep the namespace alive
        listener = await anyio.to_thread.run_sync(partial(listen_inside, pid, PORT, below=below))
        proxy.serve(listener)
    return proxy


def have_descriptors() -> None:
    """As many as this process may have, within reason: some programs that it starts close each that they could have.
    Programs in sandboxes are given a number of their own."""
    import resource  # not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, MAX_DESCRIPTORS)
    if soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_connections() -> int:
    """Of all sandboxes together: each takes two of this process's descriptors, of which they get a quarter."""
    import resource

    return max(16, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8)


def _literal(host: str, port: int) -> str | None:
    """The address that a host is by itself, however it is written; None for a name. Queries no server."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0])
