"""The SDK's other half: AsyncSandbox."""

from __future__ import annotations

import os
import time

import anyio
import pytest
from e2b import AsyncSandbox, CommandExitException, PtySize, SandboxQuery
from e2b.exceptions import SandboxNotRunningException, TimeoutException
from e2b.sandbox.filesystem.watch_handle import FilesystemEvent, FilesystemEventType

from tests.e2b.servers import PoolServer

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


async def test_everything_once(pool: PoolServer) -> None:
    where = pool.where()
    sandbox = await AsyncSandbox.create(timeout=120, metadata={"kind": "async"}, envs={"FOO": "bar"}, **where)
    try:
        heard: list[str] = []
        result = await sandbox.commands.run("echo $FOO; echo err >&2", on_stdout=heard.append)
        assert (result.stdout, result.stderr, heard) == ("bar\n", "err\n", ["bar\n"])
        with pytest.raises(CommandExitException):
            await sandbox.commands.run("exit 2")
        with pytest.raises(TimeoutException):
            await sandbox.commands.run("sleep 20", timeout=1)
        handle = await sandbox.commands.run("cat; echo end", background=True, stdin=True)
        await sandbox.commands.send_stdin(handle.pid, "in\n")
        await sandbox.commands.close_stdin(handle.pid)
        assert (await handle.wait()).stdout == "in\nend\n"
        data = os.urandom(5 << 20)
        await sandbox.files.write("ü/big", data)
        assert bytes(await sandbox.files.read("ü/big", format="bytes")) == data
        assert [entry.name for entry in await sandbox.files.list("ü")] == ["big"]
        pages = AsyncSandbox.list(query=SandboxQuery(metadata={"kind": "async"}), **where)
        assert [one.sandbox_id for one in await pages.next_items()] == [sandbox.sandbox_id]
        assert await sandbox.get_metrics()
        assert await sandbox.pause()
        again = await AsyncSandbox.connect(sandbox.sandbox_id, timeout=60, **where)
        assert bytes(await again.files.read("ü/big", format="bytes")) == data
        (fork,) = await again.fork(count=1)
        assert isinstance(fork, AsyncSandbox)
        assert await fork.files.exists("ü/big")
        await fork.kill()
    finally:
        assert await sandbox.kill()
    assert not await sandbox.is_running()


async def test_watch_by_stream(pool: PoolServer) -> None:
    sandbox = await AsyncSandbox.create(timeout=60, **pool.where())
    seen: list[FilesystemEvent] = []
    try:
        await sandbox.files.make_dir("watched")
        handle = await sandbox.files.watch_dir("watched", on_event=seen.append)
        await sandbox.files.write("watched/file", "x")
        with anyio.fail_after(10):
            while (FilesystemEventType.CREATE, "file") not in {(event.type, event.name) for event in seen}:
                await anyio.sleep(0.05)
        await handle.stop()  # type: ignore[no-untyped-call]
    finally:
        await sandbox.kill()


async def test_pty(pool: PoolServer) -> None:
    sandbox = await AsyncSandbox.create(timeout=60, **pool.where())
    seen = bytearray()
    try:
        terminal = await sandbox.pty.create(PtySize(rows=20, cols=70), on_data=seen.extend)
        await sandbox.pty.send_stdin(terminal.pid, b"stty size; exit\n")
        await terminal.wait()
        assert b"20 70" in seen
    finally:
        await sandbox.kill()


async def test_many_commands_at_once(pool: PoolServer) -> None:
    sandbox = await AsyncSandbox.create(timeout=60, **pool.where())
    said: dict[int, str] = {}

    async def run(number: int) -> None:
        said[number] = (await sandbox.commands.run(f"sleep 1; echo {number}")).stdout

    try:
        started = time.monotonic()
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(run, number)
        assert said == {number: f"{number}\n" for number in range(40)}
        assert time.monotonic() - started < 40
    finally:
        await sandbox.kill()


async def test_a_kill_in_the_middle(pool: PoolServer) -> None:
    sandbox = await AsyncSandbox.create(timeout=60, **pool.where())
    async with anyio.create_task_group() as tasks:

        async def soon() -> None:
            await anyio.sleep(1)
            await sandbox.kill()

        tasks.start_soon(soon)
        with pytest.raises(SandboxNotRunningException):
            await sandbox.commands.run("sleep 30")


async def test_a_client_that_leaves_leaves_its_process_running(pool: PoolServer) -> None:
    sandbox = await AsyncSandbox.create(timeout=60, **pool.where())

    async def until_there(name: str) -> None:
        with anyio.fail_after(30):
            while not await sandbox.files.exists(name):
                await anyio.sleep(0.1)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sandbox.commands.run, "touch begun; until [ -e left ]; do sleep 0.1; done; touch done")
            await until_there("begun")
            tasks.cancel_scope.cancel()
        await sandbox.files.write("left", "")
        await until_there("done")
    finally:
        await sandbox.kill()
