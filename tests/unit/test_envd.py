"""The host's end of a box that takes many requests: what a hostile driver may say, and what becomes of who waits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
import pytest
from anyio.abc import ByteStream

from sandbox_gym.errors import BoxLost
from sandbox_gym.guest.protocol import frames
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.channel.envd import COST, STRAYS, WINDOW, Envd, Refused
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel

pytestmark = pytest.mark.anyio


@dataclass
class Box:
    """The other end: what a supervisor would pass on."""

    stream: ByteStream
    outer: frames.FrameReader
    inner: frames.FrameReader

    async def asked(self) -> tuple[Mapping[str, object], bytes]:
        """The next request; grants are passed over."""
        while True:
            found = self.inner.next()
            if found is not None:
                if found[0]["op"] != "grant":
                    return found[0], found[1]
                continue
            frame = self.outer.next()
            if frame is None:
                self.outer.feed(await self.stream.receive(65536))
            elif frame[0]["op"] == "chan":
                self.inner.feed(frame[1])

    async def say(self, header: Mapping[str, object], body: bytes = b"") -> None:
        await self.raw(frames.pack(header, body))

    async def raw(self, data: bytes) -> None:
        for start in range(0, len(data), frames.CHUNK):
            piece = data[start : start + frames.CHUNK]
            await self.stream.send(frames.pack({"op": "chan", "id": 1, "eof": False}, piece))


@asynccontextmanager
async def envd(serve: Callable[[Box], Awaitable[None]]) -> AsyncIterator[Envd]:
    """An Envd whose box answers its first ping and then does what `serve` does."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)

    async def handle(stream: ByteStream) -> None:
        async with stream:
            box = Box(stream, frames.FrameReader(), frames.FrameReader(max_body=4 << 20))
            request, _ = await box.asked()
            await box.say({"id": request["id"], "ok": True})
            with suppress(anyio.BrokenResourceError, anyio.EndOfStream):  # the host has hung up
                await serve(box)

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        client = await anyio.connect_tcp("127.0.0.1", port)
        link = GuestChannel(client, lambda: "a box")
        driver = Envd(link, tasks)
        await driver.start(Limits())
        try:
            yield driver
        finally:
            await link.aclose()
            tasks.cancel_scope.cancel()


async def _answer(box: Box, **reply: object) -> int:
    request, _ = await box.asked()
    await box.say({"id": request["id"], "ok": True, **reply})
    number = request["id"]
    assert isinstance(number, int)
    return number


async def test_answers_in_any_order() -> None:
    async def serve(box: Box) -> None:
        asked = [await box.asked() for _ in range(3)]
        for request, body in reversed(asked):
            await box.say({"id": request["id"], "ok": True, "said": request["say"]}, body)
        await anyio.sleep_forever()

    said: dict[int, object] = {}
    async with envd(serve) as driver:

        async def ask(number: int) -> None:
            reply, body = await driver.call({"op": "x", "say": number}, b"%d" % number)
            said[number] = (reply["said"], body)

        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(ask, number)
    assert said == {number: (number, b"%d" % number) for number in range(3)}


async def test_a_refusal_has_a_code_and_bounded_words() -> None:
    async def serve(box: Box) -> None:
        request, _ = await box.asked()
        await box.say({"id": request["id"], "ok": False, "code": "not_found", "why": "x" * 100_000})
        await anyio.sleep_forever()

    async with envd(serve) as driver:
        with pytest.raises(Refused) as caught:
            await driver.call({"op": "x"})
        assert caught.value.code == "not_found"
        assert len(str(caught.value)) <= 1000


async def test_a_box_that_sends_more_than_it_may_is_lost() -> None:
    async def serve(box: Box) -> None:
        number = await _answer(box)
        for _ in range(2 * WINDOW // 65536 + 2):
            await box.say({"stream": number, "event": "stdout"}, b"x" * 65536)
        await anyio.sleep_forever()

    async with envd(serve) as driver:
        _, stream = await driver.open({"op": "start"})
        with anyio.fail_after(10):
            await driver.ended.wait()
        assert stream._waiting <= 2 * WINDOW + 65536 + COST
        with pytest.raises(BoxLost, match="granted"):
            await driver.call({"op": "x"})


async def test_a_box_that_speaks_unasked_without_end_is_lost() -> None:
    async def serve(box: Box) -> None:
        for number in range(STRAYS // 65536 + 10):
            await box.say({"stream": 1000 + number, "event": "stdout"}, b"x" * 65536)
        await anyio.sleep_forever()

    async with envd(serve) as driver:
        with anyio.fail_after(20):
            await driver.ended.wait()
        with pytest.raises(BoxLost, match="not asked for"):
            driver.check()


@pytest.mark.parametrize(
    "nonsense",
    [b"\xff" * 64, frames.HEAD.pack(4, 0) + b"null", frames.HEAD.pack(3, 0) + b"{}}", frames.HEAD.pack(1 << 30, 0)],
    ids=["lengths", "no object", "no JSON", "too long"],
)
async def test_nonsense_is_a_lost_box(nonsense: bytes) -> None:
    async def serve(box: Box) -> None:
        await box.asked()
        await box.raw(nonsense)
        await anyio.sleep_forever()

    async with envd(serve) as driver:
        with pytest.raises(BoxLost):
            await driver.call({"op": "x"}, within_s=10)


async def test_who_waits_for_a_box_that_ends_is_told() -> None:
    async def serve(box: Box) -> None:
        await _answer(box)
        await box.asked()
        await box.stream.aclose()

    async with envd(serve) as driver:
        _, stream = await driver.open({"op": "start"})
        told: list[str] = []

        async def hear() -> None:
            with pytest.raises(BoxLost):
                await stream.next(30)
            told.append("stream")

        async def ask() -> None:
            with pytest.raises(BoxLost):
                await driver.call({"op": "x"})
            told.append("call")

        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(hear)
                tasks.start_soon(ask)
        assert sorted(told) == ["call", "stream"]


async def test_a_box_that_does_not_answer_is_lost_at_the_deadline() -> None:
    async def serve(box: Box) -> None:
        await anyio.sleep_forever()

    async with envd(serve) as driver:
        with anyio.fail_after(10), pytest.raises(BoxLost, match="did not answer"):
            await driver.call({"op": "x"}, within_s=0.2)
        with pytest.raises(BoxLost):
            await driver.call({"op": "y"})


async def test_an_abandoned_question_does_not_cost_the_box() -> None:
    async def serve(box: Box) -> None:
        first, _ = await box.asked()
        second, _ = await box.asked()
        await box.say({"id": first["id"], "ok": True, "late": True})
        await box.say({"id": second["id"], "ok": True, "late": False})
        await anyio.sleep_forever()

    async with envd(serve) as driver:
        with pytest.raises(TimeoutError):
            await driver.ask({"op": "input"}, within_s=0.2)
        reply, _ = await driver.call({"op": "x"})
        assert reply["late"] is False
