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
import ipaddress
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import anyio.to_thread
import h11
import structlog

from sandbox_gym.errors import ProviderDown
from sandbox_gym.network import AllowList

PORT: Final = 3128
"""Where it listens in every sandbox that has one."""
MAX_CONNECTIONS: Final = 64
MAX_HEAD: Final = 32 << 10
MAX_TOLD: Final = 20
"""Refusals that are logged of one sandbox."""
HEAD_S: Final = 15.0
DIAL_S: Final = 15.0
IDLE_S: Final = 300.0
LISTEN_S: Final = 15.0
CLOSE_S: Final = 2.0
PIECE: Final = 1 << 16
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
_log = structlog.get_logger(__name__)


class _Refused(Exception):
    """What the program is told instead of an answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


@dataclass(frozen=True, slots=True)
class _Request:
    """Where a program wants to go. `head`: what is said there first, nothing for a tunnel; `rest`: what came after."""

    host: str
    port: int
    head: bytes
    rest: bytes


class Door:
    """One sandbox's. `open_door` makes one."""

    def __init__(self, allow: Sequence[str], box_id: str) -> None:
        """Raises ValueError for what is no allow-list."""
        self.allow = AllowList(allow)
        self._box_id, self._told = box_id, 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def environment(self) -> Mapping[str, str]:
        """What programs find it by."""
        url = f"http://127.0.0.1:{PORT}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        inside = "localhost,127.0.0.1,::1"
        return {**dict.fromkeys(names, url), "NO_PROXY": inside, "no_proxy": inside}

    async def serve(self, listener: socket.socket) -> None:
        """From now on, until closed."""
        self._server = await asyncio.start_server(self._accepted, sock=listener, limit=PIECE)

    async def aclose(self) -> None:
        """Nothing gets out any more. Idempotent."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=3 * CLOSE_S)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) > 2 * MAX_CONNECTIONS:
                return
            async with asyncio.timeout(HEAD_S):
                request = await _read_request(reader)
            if len(self._tasks) > MAX_CONNECTIONS:
                raise _Refused(503, f"more than {MAX_CONNECTIONS} connections at once")
            await self._carry(request, reader, writer)
        except _Refused as refused:
            await _answer(reader, writer, refused)
        except (OSError, TimeoutError):
            pass  # the program went
        finally:
            await _let_go(writer)
            self._tasks.discard(task)

    async def _carry(self, request: _Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await self._dial(request)
        try:
            if request.head:
                far_writer.write(request.head)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            far_writer.write(request.rest)
            async with asyncio.TaskGroup() as both:
                both.create_task(_pump(reader, far_writer))
                both.create_task(_pump(far_reader, writer))
        except* (OSError, TimeoutError):
            pass  # one end went; the other is told by the end of its stream
        finally:
            await _let_go(far_writer)

    async def _dial(self, request: _Request) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = request.host.strip("[]"), request.port
        try:
            async with asyncio.timeout(DIAL_S):
                loop = asyncio.get_running_loop()
                found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
                permitted = [address for address in addresses if self.allow.permits(host, port, address)]
                if not permitted:
                    raise self._refusal(host, port)
                for address in permitted[:-1]:
                    with contextlib.suppress(OSError):
                        return await asyncio.open_connection(address, port)
                return await asyncio.open_connection(permitted[-1], port)
        except socket.gaierror:
            # whether a name is there is not for everybody to ask
            listed = self.allow.permits(host, port, "1.1.1.1") and not _is_address(host)
            raise (_Refused(502, f"{host} has no address") if listed else self._refusal(host, port)) from None
        except TimeoutError:
            raise _Refused(504, f"{host}:{port} did not answer within {DIAL_S:.0f} s") from None
        except (OSError, UnicodeError) as error:
            raise _Refused(502, f"{host}:{port} can't be reached ({type(error).__name__})") from None

    def _refusal(self, host: str, port: int) -> _Refused:
        self._told += 1
        if self._told <= MAX_TOLD:
            _log.info("network_refused", box=self._box_id, host=host, port=port)
        return _Refused(403, f"{host}:{port} is not among what this sandbox may reach")


async def open_door(pid: int, allow: Sequence[str], box_id: str) -> Door:
    """A door in the sandbox that `pid` of this machine is in, or a child of it. Raises ProviderDown, and ValueError for
    what is no allow-list."""
    door = Door(allow, box_id)
    await door.serve(await anyio.to_thread.run_sync(_listen_inside, pid))
    return door


def _listen_inside(pid: int) -> socket.socket:
    """A socket that listens on the loopback of another process's network namespace. Blocking. Raises ProviderDown."""
    ours, theirs = socket.socketpair()
    with ours, theirs, _namespaces(_pid_inside(pid)) as (net, owner):
        # nobody but root may enter it from outside of its owner, the user namespace of whoever made it
        handles = [theirs.fileno(), net] if os.geteuid() == 0 else [theirs.fileno(), owner, net]
        argv = [sys.executable, "-I", "-S", "-c", _LISTEN, *map(str, handles)]
        try:
            done = subprocess.run(
                argv, pass_fds=handles, capture_output=True, timeout=LISTEN_S, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ProviderDown(f"a sandbox's network namespace can't be entered: {error}") from error
        if done.returncode != 0:
            why = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise ProviderDown(f"a sandbox's network namespace can't be entered: {why}")
        ours.setblocking(False)
        _, passed, _, _ = socket.recv_fds(ours, 1, 1)
    listener = socket.socket(fileno=passed[0])
    listener.setblocking(False)
    return listener


@contextlib.contextmanager
def _namespaces(pid: int) -> Iterator[tuple[int, int]]:
    """Descriptors of a process's network namespace and of the user namespace that owns it. Raises ProviderDown."""
    handles: list[int] = []
    try:
        handles.append(os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        handles.append(fcntl.ioctl(handles[0], _NS_GET_USERNS))
        yield handles[0], handles[1]
    except OSError as error:
        raise ProviderDown(f"a sandbox's network namespace can't be opened: {error}") from error
    finally:
        for handle in handles:
            os.close(handle)


def _pid_inside(pid: int) -> int:
    """`pid`, or the first process below it, that is in another network namespace than this process."""
    here = os.stat("/proc/self/ns/net").st_ino
    waiting = [pid]
    while waiting:
        one = waiting.pop(0)
        try:
            if os.stat(f"/proc/{one}/ns/net").st_ino != here:
                return one
        except OSError:
            continue
        waiting += _children(one)
    raise ProviderDown(
        "a sandbox's allow-list needs its processes to be seen from here, by root or by the user who started them; "
        "let the server run on the Docker Engine's machine, outside of containers"
    )


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                if int((entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry.name))
    return found


async def _read_request(reader: asyncio.StreamReader) -> _Request:
    """Raises _Refused for what is no request to a proxy."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    try:
        while (event := connection.next_event()) is h11.NEED_DATA:
            connection.receive_data(await reader.read(PIECE))
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
    if not text.isdecimal() or not text.isascii() or not 0 < int(text[:6]) < 65536:
        raise _Refused(400, "the port is none")
    return int(text)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the stream's end, which the other side is told. Raises OSError and TimeoutError."""
    while True:
        async with asyncio.timeout(IDLE_S):
            data = await reader.read(PIECE)
            if not data:
                break
            writer.write(data)
            await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _let_go(writer: asyncio.StreamWriter) -> None:
    """Closed when what was written is on its way, or at once where nobody takes it."""
    writer.close()
    try:
        async with asyncio.timeout(CLOSE_S):
            await writer.wait_closed()
    except (OSError, TimeoutError):
        writer.transport.abort()
    except BaseException:
        writer.transport.abort()
        raise


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
    400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
}  # fmt: skip
