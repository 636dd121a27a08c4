"""A sandbox's one way out: a proxy of this process's, on a socket that listens on the sandbox's own loopback.

The sandbox keeps its empty network namespace. The socket is made inside of it by a process that hands it out and ends;
who connects to it speaks HTTP's proxy protocol (RFC 9110, 9.3.6: CONNECT; RFC 9112, 3.2.2: absolute form) to us. We
dial what the AllowList permits and nothing else. It is the name that is checked, and the address that it stands
for, which is then dialled: what is said inside of TLS is between the two ends. All that comes from there is hostile.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import anyio.to_thread
import h11
import structlog

from sandbox_gym.errors import ProviderDown
from sandbox_gym.network import AllowList

PORT: Final = 3128
"""Where it listens in every sandbox that has one."""
MAX_CONNECTIONS: Final = 32
"""Of one sandbox; more wait in the kernel."""
MAX_LOOKUPS: Final = 4
MAX_ADDRESSES: Final = 4
MAX_HEAD: Final = 32 << 10
MAX_TOLD: Final = 20
"""Refusals that are logged of one sandbox."""
HEAD_S: Final = 15.0
DIAL_S: Final = 15.0
IDLE_S: Final = 300.0
LISTEN_S: Final = 15.0
CLOSE_S: Final = 2.0
FULL_S: Final = 0.1
"""How often to look whether this process can bear another connection."""
PIECE: Final = 1 << 16
NOT_HERE: Final = (
    "a sandbox's allow-list needs its processes to be seen from here, by root or by the user who started them; "
    "let the server run on the Docker Engine's machine, outside of containers"
)
_LISTEN: Final = f"""
import ctypes, os, socket, sys
channel, *namespaces = map(int, sys.argv[1:])
libc = ctypes.CDLL(None, use_errno=True)
for namespace in namespaces:
    if libc.setns(namespace, 0):
        sys.exit(os.strerror(ctypes.get_errno()))
listener = socket.socket()
listener.bind(("127.0.0.1", {PORT}))
listener.listen({MAX_CONNECTIONS})
socket.send_fds(socket.socket(fileno=channel), [b"."], [listener.fileno()])
"""
_NS_GET_USERNS: Final = 0xB701
"""ioctl_ns(2)"""
_HOST: Final = re.compile(r"[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")
_OWN: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"host", b"upgrade")
)
"""Headers that are between the program and us."""
_LOOKING_UP: Final = ThreadPoolExecutor(8, "lookup")
"""Names that never answer hold up doors alone."""
_OPEN: Final[set[asyncio.Task[None]]] = set()
"""Connections of all doors."""
_log = structlog.get_logger(__name__)


class NoWayOut(ProviderDown):
    """A sandbox's proxy can't be had here. Another sandbox's could not either."""


class _Refused(Exception):
    """What the program is told instead of an answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


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


@dataclass(frozen=True, slots=True)
class _Request:
    """Where a program wants to go. `head`: what is said there first, nothing for a tunnel; `rest`: what came after."""

    host: str
    port: int
    head: bytes
    rest: bytes


class Pace:
    """At most so many turns a second, and so many at once: what one sandbox may cost everybody's event loop."""

    def __init__(self, rate: float, burst: int) -> None:
        self._gap_s, self._burst_s = 1 / rate, burst / rate
        self._next = 0.0

    async def turn(self) -> None:
        now = time.monotonic()
        self._next = max(self._next, now - self._burst_s) + self._gap_s
        if self._next > now:
            await asyncio.sleep(self._next - now)


class Door:
    """One sandbox's. `open_door` makes one."""

    def __init__(self, allow: Sequence[str], box_id: str) -> None:
        """Raises ValueError for what is no allow-list."""
        self._allow = AllowList(allow)
        self._box_id, self._told, self._closed = box_id, 0, False
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
        """From now on, until closed; the socket is the door's."""
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
        """Takes no connection that it has no place for: the others wait in the kernel, at the sandbox's cost."""
        loop = asyncio.get_running_loop()
        while True:
            await self._slots.acquire()
            await self._accepts.turn()
            await self._room()
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as error:  # this process has no more descriptors, or that connection is gone
                self._slots.release()
                if self._may_tell():
                    _log.warning("network_not_accepted", box=self._box_id, why=str(error))
                await asyncio.sleep(1)
                continue
            except BaseException:
                self._slots.release()
                raise
            try:
                await self._room()  # doors that nobody knocked at have waited since there was some
            except BaseException:
                connection.close()
                raise
            task = asyncio.create_task(self._serve(connection))
            _OPEN.add(task)
            self._ways[task] = None
            task.add_done_callback(partial(self._served, connection))

    async def _room(self) -> None:
        """Until this process can bear another connection: of those who have few already the first half is not full."""
        while len(_OPEN) >= most_connections() // (2 if len(self._ways) >= MAX_CONNECTIONS // 8 else 1):  # noqa: ASYNC110
            await asyncio.sleep(FULL_S)

    def _served(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        connection.close()  # a task that is cancelled before it begins does not
        _OPEN.discard(task)
        self._ways.pop(task, None)
        self._slots.release()
        error = None if task.cancelled() else task.exception()
        if error is not None and self._may_tell():  # ours: no word of a sandbox should get here
            _log.error("network_failed", box=self._box_id, error=type(error).__name__)

    async def _serve(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=PIECE)
        try:
            async with asyncio.timeout(HEAD_S):
                request = await _read_request(reader, self._pieces)
            await self._carry(request, reader, writer)
        except _Refused as refused:
            await _answer(reader, writer, refused)
        except (OSError, TimeoutError):
            pass  # the program went
        finally:
            await self._let_go(writer)

    async def _carry(self, request: _Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
            pass  # one end went; the other is told by the end of its stream
        finally:
            await self._let_go(far_writer)

    async def _pump(self, flow: _Flow, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the stream's end, which the other side is told. Raises OSError, and TimeoutError once nothing has gone
        either way for a while."""
        while True:
            try:
                async with asyncio.timeout(flow.left_s()) as idle:
                    data = await reader.read(PIECE)
            except TimeoutError:
                # our own, and something went the other way; the kernel's word of a peer that is gone is one too
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
        self, task: asyncio.Task[None], request: _Request
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
                refused = _Refused(504, f"{host}:{port} does not answer")
            except OSError as error:
                refused = _Refused(502, f"{host}:{port} can't be reached ({type(error).__name__})")
            if number == len(addresses):
                raise refused
        raise _Refused(502, f"{host} has no address")

    async def _addresses(self, host: str, port: int) -> list[str]:
        """What a host stands for and may be dialled. Names that are not listed are not looked up: the question itself
        would be a message to whoever answers for the name. Raises _Refused."""
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
                raise _Refused(504, f"the name {host} was not answered") from None
            except (OSError, UnicodeError):
                raise _Refused(502, f"{host} has no address") from None
            found = list(dict.fromkeys(str(one[4][0]) for one in answers))[:MAX_ADDRESSES]
        permitted = [address for address in found if self._permits(_Way(host, port, address))]
        if not permitted:
            raise self._refusal(host, port)
        return permitted

    async def _look_up(self, host: str, port: int) -> Sequence[tuple[Any, ...]]:
        """A place among this sandbox's lookups is taken until its thread is done, whoever has given up on it."""
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

    def _refusal(self, host: str, port: int) -> _Refused:
        if self._may_tell():
            _log.info("network_refused", box=self._box_id, host=host, port=port)
        return _Refused(403, f"{host}:{port} is not among what this sandbox may reach")

    def _may_tell(self) -> bool:
        self._told += 1
        return self._told <= MAX_TOLD

    async def _let_go(self, writer: asyncio.StreamWriter) -> None:
        """Closed when what was written is on its way; at once where nobody takes it, or the door is closed."""
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


async def open_door(pid: int, allow: Sequence[str], box_id: str, *, below: bool = True) -> Door:
    """A door in the sandbox that `pid` of this machine is in, or, where `below`, a child of it. Raises NoWayOut, and
    ValueError for what is no allow-list."""
    _have_descriptors()
    door = Door(allow, box_id)
    with anyio.CancelScope(shield=True):  # a socket that nobody takes over would keep the namespace alive
        listener = await anyio.to_thread.run_sync(_listen_inside, pid, below)
        door.serve(listener)
    return door


def _have_descriptors() -> None:
    """As many as this process may have; programs in sandboxes are given a number of their own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_connections() -> int:
    """Of all sandboxes together: each takes two of this process's descriptors, of which they get a quarter."""
    return max(16, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8)


def _listen_inside(pid: int, below: bool) -> socket.socket:
    """A socket that listens on the loopback of another process's network namespace. Blocking. Raises NoWayOut."""
    ours, theirs = socket.socketpair()
    with ours, theirs, _namespaces(_pid_inside(pid, below=below)) as (net, owner):
        # nobody but root may enter it from outside of its owner, the user namespace of whoever made it
        handles = [theirs.fileno(), net] if os.geteuid() == 0 else [theirs.fileno(), owner, net]
        argv = [sys.executable, "-I", "-S", "-c", _LISTEN, *map(str, handles)]
        try:
            done = subprocess.run(
                argv, pass_fds=handles, capture_output=True, timeout=LISTEN_S, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoWayOut(f"a sandbox's network namespace can't be entered: {error}") from error
        if done.returncode != 0:
            why = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise NoWayOut(f"a sandbox's network namespace can't be entered: {why}")
        ours.setblocking(False)
        _, passed, _, _ = socket.recv_fds(ours, 1, 1)
    if not passed:
        raise NoWayOut("this process has no more descriptors")
    listener = socket.socket(fileno=passed[0])
    listener.set_inheritable(False)
    listener.setblocking(False)
    return listener


@contextlib.contextmanager
def _namespaces(pid: int) -> Iterator[tuple[int, int]]:
    """Descriptors of a process's network namespace and of the user namespace that owns it. Raises NoWayOut."""
    handles: list[int] = []
    try:
        handles.append(os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        handles.append(fcntl.ioctl(handles[0], _NS_GET_USERNS))
        yield handles[0], handles[1]
    except OSError as error:
        raise NoWayOut(f"a sandbox's network namespace can't be opened: {error}") from error
    finally:
        for handle in handles:
            os.close(handle)


def _pid_inside(pid: int, *, below: bool) -> int:
    """`pid`, or where `below` the first process below it, that is in another network namespace than this process."""
    here = os.stat("/proc/self/ns/net").st_ino
    waiting = [pid]
    while waiting:
        one = waiting.pop(0)
        try:
            if os.stat(f"/proc/{one}/ns/net").st_ino != here:
                return one
        except OSError:
            continue
        waiting += _children(one) if below else []
    raise NoWayOut(NOT_HERE)


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                if int((entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry.name))
    return found


async def _read_request(reader: asyncio.StreamReader, pace: Pace) -> _Request:
    """Raises _Refused for what is no request to a proxy."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    try:
        while (event := connection.next_event()) is h11.NEED_DATA:
            connection.receive_data(await reader.read(PIECE))
            await pace.turn()
    except h11.RemoteProtocolError as error:
        raise _Refused(400, f"no HTTP request ({str(error)[:100]})") from None
    if not isinstance(event, h11.Request):
        raise ConnectionResetError("the program went")
    target, (rest, _ended) = event.target.decode("ascii", "replace"), connection.trailing_data
    if event.method == b"CONNECT":
        host, _, port = target.rpartition(":")
        return _Request(_checked(host), _port(port), b"", rest)
    try:
        url = urlsplit(target)
        port = str(url.port or 80)
    except ValueError:
        raise _Refused(400, "the URL is none") from None
    if url.scheme != "http" or not url.hostname:
        raise _Refused(400, "this is a proxy: ask for http://host/path, or CONNECT host:443")
    host = _checked(f"[{url.hostname}]" if ":" in url.hostname else url.hostname)
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    lines = [event.method + b" " + path.encode("ascii", "replace") + b" HTTP/1.1"]
    lines += [b"Host: " + (host if port == "80" else f"{host}:{port}").encode(), b"Connection: close"]
    lines += [name + b": " + value for name, value in event.headers if name not in _OWN]
    return _Request(host, _port(port), b"\r\n".join(lines) + b"\r\n\r\n", rest)


def _checked(host: str) -> str:
    if not _HOST.fullmatch(host):
        raise _Refused(400, "the host is no name and no address")
    return host


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 0 < int(text) < 65536:
        raise _Refused(400, "the port is none")
    return int(text)


def _literal(host: str, port: int) -> str | None:
    """The address that a host is by itself, however it is written; None for a name. Asks nobody."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0])


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refused: _Refused) -> None:
    body = f"sandbox_gym: {refused.why}\n".encode("ascii", "replace")
    head = (
        f"HTTP/1.1 {refused.status} {_REASONS[refused.status]}\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(CLOSE_S):
            writer.write(head.encode("ascii") + body)
            writer.write_eof()
            for _ in range(64):  # closed with words unread, the kernel would throw the answer away
                if not await reader.read(PIECE):
                    break


_REASONS: Final = {
    400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 504: "Gateway Timeout",
}  # fmt: skip
