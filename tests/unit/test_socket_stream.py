"""Byte streams over raw sockets: ends, cancellations and a close under a waiter leave the event loop in order."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from sandbox_gym.sandbox.channel.socket_stream import RawSocketStream

pytestmark = pytest.mark.anyio
MUCH = bytes(range(256)) * 8_192


@asynccontextmanager
async def pair() -> AsyncIterator[tuple[RawSocketStream, RawSocketStream]]:
    near, far = (RawSocketStream(one) for one in socket.socketpair())
    async with near, far:
        yield near, far


async def test_more_than_a_buffer_arrives_whole_and_then_the_end() -> None:
    got = bytearray()
    async with pair() as (near, far), anyio.create_task_group() as tasks:

        async def send() -> None:
            await near.send(MUCH)
            await near.send_eof()

        tasks.start_soon(send)
        with anyio.fail_after(20):
            while True:
                try:
                    got += await far.receive(10_000)
                except anyio.EndOfStream:
                    break
    assert bytes(got) == MUCH


async def test_data_in_the_round_of_a_cancellation_is_kept_and_nothing_is_reported() -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context))
    got = bytearray()
    async with pair() as (near, far):

        async def receive() -> None:
            got.extend(await far.receive())

        for number in range(400):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(receive)
                for _ in range(3):  # then it waits; anyio.wait_all_tasks_blocked would look each 0.1 s
                    await anyio.lowlevel.checkpoint()
                await near.send(bytes([number % 256]))
                for _ in range(number % 3):  # the data comes to the event loop after the cancellation, with it, before
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
            if len(got) == number:  # else the next one would not wait
                await receive()
    assert bytes(got) == bytes(number % 256 for number in range(400))
    assert reported == []


async def test_a_close_ends_who_waits() -> None:
    async with pair() as (near, _far), anyio.create_task_group() as tasks:

        async def wait() -> None:
            with pytest.raises(anyio.ClosedResourceError):
                await near.receive()

        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(5):
            await near.aclose()
            await near.aclose()


async def test_what_the_other_end_dropped_is_broken() -> None:
    async with pair() as (near, far):
        await far.aclose()
        with pytest.raises(anyio.BrokenResourceError):
            await near.send(MUCH)
        with pytest.raises(anyio.EndOfStream):
            await near.receive()


async def test_descriptors_arrive_with_the_first_byte_of_what_no_buffer_holds() -> None:
    near, far = socket.socketpair()
    with far, socket.socketpair()[0] as passed:
        async with RawSocketStream(near) as stream, anyio.create_task_group() as tasks:
            tasks.start_soon(stream.send, MUCH, [passed.fileno()])
            first, descriptors, _flags, _address = await anyio.to_thread.run_sync(socket.recv_fds, far, 10, 4)
            with socket.socket(fileno=descriptors[0]) as arrived:
                assert len(descriptors) == 1
                assert arrived.getsockname() == passed.getsockname()
                assert arrived.fileno() != passed.fileno()
            left = len(MUCH) - len(first)
            while left:
                left -= len(await anyio.to_thread.run_sync(far.recv, 1 << 20))
