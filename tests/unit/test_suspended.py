"""What is under way when a box is about to stand still, and what becomes of it when the box goes on."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from sandbox_gym.e2b_server.envd.files import Upload
from sandbox_gym.e2b_server.sandboxes.processes import Work
from sandbox_gym.errors import BoxLost, ProviderDown
from sandbox_gym.guest.protocol import frames
from sandbox_gym.sandbox.channel.envd import Envd
from sandbox_gym.sandbox.docker.machine import DockerMachine
from tests.unit.test_envd import Box, envd

pytestmark = pytest.mark.anyio


async def _heard(box: Box) -> list[Mapping[str, object]]:
    """All requests from now on, grants among them, answered until one is the end."""
    heard: list[Mapping[str, object]] = []
    while not heard or heard[-1]["op"] != "end":
        if (found := box.inner.next()) is not None:
            heard.append(found[0])
            if found[0]["op"] != "grant":
                await box.say({"id": found[0]["id"], "ok": True})
        elif (frame := box.outer.next()) is not None:
            box.inner.feed(frame[1])
        else:
            box.outer.feed(await box.stream.receive(65536))
    return heard


async def test_a_process_that_was_being_started_goes_on_with_the_box() -> None:
    async def serve(box: Box) -> None:
        request, _ = await box.asked()
        await anyio.sleep(0.1)
        await box.say({"id": request["id"], "ok": True, "pid": 7})
        hold, _ = await box.asked()
        await box.say({"id": hold["id"], "ok": True})
        await box.say({"stream": request["id"], "event": "stdout"}, b"more")
        await anyio.sleep_forever()

    async with envd(serve) as driver, anyio.create_task_group() as tasks:

        async def start() -> None:
            _, stream = await driver.open({"op": "start"}, lasting=True)
            assert (await stream.next(10))[1] == b"more"

        tasks.start_soon(start)
        await anyio.sleep(0.02)
        await driver.suspend()
        with pytest.raises(BoxLost):
            await driver.call({"op": "x"})
        await driver.go_on()


async def test_no_message_is_cut_by_a_standstill_and_none_follows() -> None:
    read = anyio.Event()
    got: list[int] = []
    told: list[str] = []

    async def serve(box: Box) -> None:
        await read.wait()
        await box.stream.send(frames.pack({"op": "took", "id": 1, "bytes": 3 << 20}))
        while True:
            request, body = await box.asked()
            got.append(len(body))
            await box.say({"id": request["id"], "ok": True})

    async with envd(serve) as driver, anyio.create_task_group() as tasks:

        async def write() -> None:
            try:
                await driver.call({"op": "write"}, b"x" * (3 << 20))
                told.append("done")
            except BoxLost:
                told.append("lost")

        for _ in range(3):  # there is room for one, and for a part of another
            tasks.start_soon(write)
        await anyio.sleep(0.05)
        tasks.start_soon(driver.suspend)
        await anyio.sleep(0.05)
        read.set()
        with anyio.fail_after(4):
            while len(told) < 3:
                await anyio.sleep(0.01)
        assert sorted(told) == ["done", "done", "lost"]
        assert got == [3 << 20] * 2


async def test_what_a_box_is_owed_it_gets_when_it_goes_on() -> None:
    heard: list[Mapping[str, object]] = []

    async def serve(box: Box) -> None:
        request, _ = await box.asked()
        await box.say({"id": request["id"], "ok": True})
        for _ in range(20):
            await box.raw(frames.pack({"stream": request["id"], "event": "stdout"}, b"12345"))
        heard.extend(await _heard(box))
        await anyio.sleep_forever()

    async with envd(serve) as driver:
        upload = Upload(driver, "/tmp/file", {})
        _, stream = await driver.open({"op": "start"}, lasting=True)
        await stream.next(10)
        await driver.suspend()
        for _ in range(19):
            await stream.next(10)
        upload._handle = 9  # of a file that is half written
        await upload.aclose()
        await driver.go_on()
        await driver.call({"op": "end"})
    assert [one["op"] for one in heard] == ["grant", "hold", "close", "grant", "end"]
    assert heard[3]["bytes"] == 19 * cast(int, heard[0]["bytes"])


class Lost:
    """A driver that is lost as soon as anything is asked of it."""

    ended = anyio.Event()

    async def call(self, *_: object, **__: object) -> None:
        raise BoxLost("it is gone")

    async def suspend(self) -> None:
        """Asks nothing."""

    go_on = call


class Living(Lost):
    async def call(self, *_: object, **__: object) -> Any:
        return {"running": 1}, b""

    go_on = call


async def test_root_s_driver_that_is_lost_costs_no_pause() -> None:
    work = Work(cast(Envd, Living()), cast(Envd, Lost()))
    async with work.held() as busy:
        assert busy
    async with work.quit_all():
        assert work.suspended
    await work.go_on()
    work = Work(cast(Envd, Lost()), cast(Envd, Living()))
    with pytest.raises(BoxLost):
        await work.go_on()


@pytest.mark.parametrize(("refusals", "frozen"), [(0, True), (2, True), (3, False)])
async def test_an_engine_that_can_t_freeze_a_busy_container_is_asked_again(refusals: int, frozen: bool) -> None:
    left = refusals

    async def call(_ask: object) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise ProviderDown("unable to freeze")

    machine = object.__new__(DockerMachine)
    machine._engine, machine._frozen = cast(Any, SimpleNamespace(call=call)), False
    if frozen:
        assert await machine.freeze()
    else:
        with pytest.raises(ProviderDown):
            await machine.freeze()
    assert machine._frozen is frozen
