"""The proxy that is a sandbox's way out: what it takes for a request, where it goes, and what it refuses."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from sandbox_gym.sandbox.egress import http, proxy
from sandbox_gym.sandbox.egress.proxy import EgressProxy

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def opened(*allow: str) -> AsyncIterator[tuple[EgressProxy, int]]:
    """A door and the port where it listens, here on this machine's own loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    one = EgressProxy(allow, "test")
    one.serve(listener)
    try:
        yield one, listener.getsockname()[1]
    finally:
        await one.aclose()


@asynccontextmanager
async def far_side(answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") -> AsyncIterator[Far]:
    far = Far(answer)
    server = await asyncio.start_server(far.serve, "127.0.0.1", 0)
    far.port = server.sockets[0].getsockname()[1]
    try:
        yield far
    finally:
        server.close()
        for task in far.tasks:
            await asyncio.wait_for(task, 10)


class Far:
    """A server that keeps what it hears and answers once there is an empty line in it."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.heard, self.port = answer, b"", 0
        self.ended = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.append(task)
        while data := await reader.read(65536):
            self.heard += data
            if b"\r\n\r\n" in self.heard and self.answer:
                writer.write(self.answer)
                self.answer = b""
        self.ended.set()
        await closed(writer)


def connect(target: str) -> bytes:
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()


async def say(port: int, request: bytes) -> bytes:
    """All that comes back; our own end is closed once something did."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    found = await reader.read(65536)
    with suppress(OSError):
        writer.write_eof()
        found += await reader.read()
    await closed(writer)
    return found


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def test_a_request_is_passed_on_and_the_programs_own_words_are_not() -> None:
    async with opened("127.0.0.1") as (_, port), far_side() as far:
        request = (
            f"POST http://127.0.0.1:{far.port}/a/b?c=d HTTP/1.1\r\nHost: other.test\r\nProxy-Authorization: x\r\n"
            "Connection: keep-alive\r\nContent-Length: 3\r\nX-Mine: yes\r\n\r\nabc"
        )
        assert (await say(port, request.encode())).endswith(b"\r\n\r\nhi")
        head, _, body = far.heard.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        assert lines[0] == b"POST /a/b?c=d HTTP/1.1"
        assert set(lines[1:]) == {
            f"Host: 127.0.0.1:{far.port}".encode(), b"Connection: close", b"content-length: 3", b"x-mine: yes",
        }  # fmt: skip
        assert body == b"abc"


async def test_a_tunnel_carries_bytes_as_they_are() -> None:
    async with opened("127.0.0.1") as (_, port), far_side(answer=b"\x00\xffback") as far:
        said = b"\x16\x03\x01\r\n\r\n"
        found = await say(port, connect(f"127.0.0.1:{far.port}") + said)
        assert found == b"HTTP/1.1 200 Connection established\r\n\r\n\x00\xffback"
        assert far.heard == said
        await far.ended.wait()


@pytest.mark.parametrize(
    "target",
    ["127.0.0.2:%d", "[::1]:%d", "localhost:%d", "127.1:%d", "2130706433:%d", "0x7f.1:%d", "[::ffff:127.0.0.1]:%d"],
)
async def test_what_is_not_listed_is_not_dialled(target: str) -> None:
    async with opened("192.0.2.1", "localhost", "example.com") as (_, port), far_side() as far:
        found = await say(port, connect(target % far.port))
        assert found.startswith(b"HTTP/1.1 403 Forbidden\r\n"), found
        assert b"is not among what this sandbox may reach" in found
        assert far.heard == b""


@pytest.mark.parametrize(
    "request_line",
    [b"GET / HTTP/1.1", b"GET https://127.0.0.1/ HTTP/1.1", b"GET ftp://127.0.0.1/ HTTP/1.1",
     b"CONNECT 127.0.0.1 HTTP/1.1", b"CONNECT 127.0.0.1:0 HTTP/1.1", b"CONNECT 127.0.0.1:65536 HTTP/1.1",
     b"CONNECT :443 HTTP/1.1",
     b"CONNECT 127.0.0.1:%d0 HTTP/1.1" % (10**30), b"CONNECT 127.0.0.1:0000080 HTTP/1.1",
     b"CONNECT a:000001" + b"9" * 5000 + b" HTTP/1.1",
     b"CONNECT 127.0.0.1:00000165979 HTTP/1.1",
     b"CONNECT a/b:443 HTTP/1.1", b"CONNECT 127.0.0.1:+80 HTTP/1.1",
     b"GET http://127.0.0.1:x/ HTTP/1.1", b"GET http:// HTTP/1.1", b"GET http://[/ HTTP/1.1", b"\x16\x03\x01\x02",
     b"CONNECT \xc2\xb2:443 HTTP/1.1"],
)  # fmt: skip
async def test_what_is_no_request_to_a_proxy_is_told_so(request_line: bytes) -> None:
    async with opened("0.0.0.0/0") as (_, port):
        found = await say(port, request_line + b"\r\nHost: x\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 400 Bad Request\r\n"), found


async def test_a_head_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "HEAD_S", 0.5)
    async with opened("0.0.0.0/0") as (_, port):
        assert (await say(port, b"GET http://a/ HTTP/1.1\r\nX: " + b"y" * (http.MAX_HEAD + 1))).startswith(
            b"HTTP/1.1 400 "
        )
        assert await say(port, b"GET http://a") == b""  # slow: it is let go


def looked_up(monkeypatch: pytest.MonkeyPatch, names: Mapping[str, list[str]]) -> list[str]:
    """Names as they are here said to be; which ones were asked for."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def look_up(host: str, port: int, flags: int = 0, **more: Any) -> Any:
        if flags & socket.AI_NUMERICHOST:
            return real(host, port, flags=flags, **more)
        asked.append(host)
        if host not in names:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in names[host]]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


async def test_a_listed_name_that_leads_home_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"public.example.com": ["127.0.0.1"], "mixed.example.com": ["169.254.169.254", "10.0.0.1"]}
    asked = looked_up(monkeypatch, names)
    async with opened("*.example.com") as (_, port):
        for host in names:
            assert (await say(port, connect(f"{host}:443"))).startswith(b"HTTP/1.1 403 ")
        # whether a name exists is told of listed ones only
        for host, status in (
            ("none.example.com:443", b"502"),
            ("x.example.net:443", b"403"),
            ("a.example.com:22", b"403"),
        ):
            found = await say(port, connect(host))
            assert found.startswith(b"HTTP/1.1 " + status), found
    # and no other name is asked for: the question would reach whoever answers for it
    assert asked == [*names, "none.example.com"]


async def test_what_can_not_be_reached_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    port_there = taken.getsockname()[1]
    taken.close()
    async with opened("127.0.0.1") as (_, port):
        found = await say(port, connect(f"127.0.0.1:{port_there}"))
        assert found.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")

        async def never(*_: object) -> None:
            await asyncio.sleep(60)

        monkeypatch.setattr(proxy, "DIAL_S", 0.2)
        monkeypatch.setattr(asyncio, "open_connection", _for_others(never, port, asyncio.open_connection))
        found = await say(port, connect("127.0.0.1:9"))
        assert found.startswith(b"HTTP/1.1 504 Gateway Timeout\r\n")


def _for_others(instead: Callable[..., object], port: int, real: Callable[..., object]) -> Callable[..., object]:
    def chosen(host: str | None = None, at: int | None = None, **more: object) -> object:
        return real(host, at, **more) if host is None or at == port else instead()

    return chosen


async def test_connections_are_bounded_and_end_with_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them wait in the kernel, until there is a place."""
    monkeypatch.setattr(proxy, "MAX_CONNECTIONS", 3)
    async with far_side(answer=b"") as far:
        async with opened("127.0.0.1") as (one, port):
            held = []
            for _ in range(3):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(connect(f"127.0.0.1:{far.port}"))
                assert b" 200 " in await reader.read(1000)
                held.append((reader, writer))
            fourth = asyncio.create_task(say(port, connect("127.0.0.2:9")))
            await asyncio.sleep(0.3)
            assert not fourth.done()
            reader, writer = held.pop()
            await closed(writer)
            assert (await fourth).startswith(b"HTTP/1.1 403 ")
            # what another list does not permit is cut off, the rest goes on
            one.restrict(["127.0.0.1"])
            await asyncio.sleep(0.1)
            assert not held[0][0].at_eof()
            one.restrict(["127.0.0.2"])
            reader, writer = held.pop()
            assert await reader.read() == b""
            await closed(writer)
        for reader, writer in held:
            assert await reader.read() == b""
            await closed(writer)
        with pytest.raises(OSError, match="Connect call failed"):
            await asyncio.open_connection("127.0.0.1", port)


async def test_all_sandboxes_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "most_connections", lambda: 1)
    async with far_side(answer=b"") as far, opened("127.0.0.1") as (_, first), opened("127.0.0.1") as (_, second):
        reader, writer = await asyncio.open_connection("127.0.0.1", first)
        writer.write(connect(f"127.0.0.1:{far.port}"))
        assert b" 200 " in await reader.read(1000)
        # one may get a place that its door was waiting with when there was room
        others = [asyncio.create_task(say(second, connect("127.0.0.2:9"))) for _ in range(3)]
        await asyncio.sleep(0.5)
        assert sum(other.done() for other in others) <= 1
        await closed(writer)
        for other in others:
            assert (await other).startswith(b"HTTP/1.1 403 ")


async def test_one_way_alone_keeps_a_tunnel_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "IDLE_S", 0.5)

    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(12):
            writer.write(b".")
            await asyncio.sleep(0.1)
        await closed(writer)

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    async with opened("127.0.0.1") as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(connect(f"127.0.0.1:{server.sockets[0].getsockname()[1]}"))
        assert (await reader.read()).endswith(b"\r\n\r\n" + 12 * b".")
        await closed(writer)
    server.close()


async def test_a_peer_that_the_kernel_gives_up_on_ends_its_tunnel() -> None:
    """ETIMEDOUT is a TimeoutError too, and comes again at once whenever it is asked for."""
    reader, writer = asyncio.StreamReader(), _Nowhere()
    reader.set_exception(TimeoutError(110, "Connection timed out"))
    one = EgressProxy(["127.0.0.1"], "test")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(one._pump(proxy._Flow(), reader, writer), 5)  # type: ignore[arg-type]


class _Nowhere:
    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...


async def test_lookups_that_hang_hold_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a program gives up on one and asks again."""
    hanging = threading.Event()
    begun: list[str] = []
    real = socket.getaddrinfo

    def look_up(host: str, port: int, flags: int = 0, **more: Any) -> Any:
        if flags & socket.AI_NUMERICHOST:
            return real(host, port, flags=flags, **more)
        begun.append(host)
        hanging.wait(30)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(proxy, "DIAL_S", 0.2)
    async with opened("*.example.com") as (_, port):
        for number in range(proxy.MAX_LOOKUPS + 3):
            found = await say(port, connect(f"n{number}.example.com:443"))
            assert found.startswith(b"HTTP/1.1 504 "), found
        assert len(begun) == proxy.MAX_LOOKUPS
        hanging.set()


async def test_closing_while_connections_come_leaves_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """No task, no descriptor, and no traceback of asyncio's."""
    handles = len(os.listdir("/proc/self/fd"))
    for pause_s in (0.0, 0.001, 0.02):
        async with opened("127.0.0.1") as (_, port):
            clients = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
            await asyncio.sleep(pause_s)
        for _, writer in clients:
            await closed(writer)
    await asyncio.sleep(0.05)
    assert len(os.listdir("/proc/self/fd")) == handles
    assert caplog.records == []


async def test_an_idle_tunnel_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "IDLE_S", 0.3)
    async with opened("127.0.0.1") as (_, port), far_side(answer=b"") as far:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(connect(f"127.0.0.1:{far.port}"))
        assert b" 200 " in await reader.read(1000)
        assert await reader.read() == b""
        await far.ended.wait()
        await closed(writer)
