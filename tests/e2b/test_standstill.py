"""Sandboxes that are paused with all that runs in them."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import httpx
import pytest
from e2b import CommandHandle, Sandbox, TimeoutException
from e2b.exceptions import SandboxException
from e2b_code_interpreter import Sandbox as Interpreter

from tests.e2b.servers import KEYS, TENANTS, PoolServer, until

BOOT_ID = "/proc/sys/kernel/random/boot_id"
COUNTING = "i=0; while true; do i=$((i+1)); echo $i > n.new; mv n.new n; sleep 0.02; done"
MEMORY = """
import sys
held = bytearray(b"x" * 30_000_000)
print("ready", flush=True)
for line in sys.stdin:
    print(len(held), line.strip(), flush=True)
"""


def mode(pool: PoolServer, sandbox: Sandbox) -> str:
    asked = httpx.get(f"{pool.url}/sandboxes/{sandbox.sandbox_id}", headers={"X-API-KEY": KEYS["alice"]})
    return str(asked.json().get("pauseMode", ""))


def test_processes_memory_and_ports_are_as_they_were(pool: PoolServer, sandbox: Sandbox) -> None:
    sandbox.files.write("memory.py", MEMORY)
    sandbox.commands.run(COUNTING, background=True)
    sandbox.commands.run("python3 -m http.server 8000", background=True)
    asking = sandbox.commands.run("python3 memory.py", background=True, stdin=True)
    watch = sandbox.files.watch_dir("/home/user")
    until(lambda: sandbox.files.exists("n"))
    before, boot_id = sandbox.commands.list(), sandbox.files.read(BOOT_ID)
    for _ in range(3):
        assert sandbox.pause()
        assert not sandbox.is_running()
        assert mode(pool, sandbox) == "full"
        time.sleep(0.5)
        sandbox.connect(timeout=200)
        assert sandbox.files.read(BOOT_ID) == boot_id
        now = int(sandbox.files.read("n"))
        until(lambda now=now: int(sandbox.files.read("n")) > now)  # type: ignore[misc]
    assert [one.pid for one in sandbox.commands.list()] == [one.pid for one in before]
    again = sandbox.commands.connect(asking.pid)
    sandbox.commands.send_stdin(asking.pid, "still here\n")
    sandbox.commands.close_stdin(asking.pid)
    assert again.wait().stdout.splitlines()[-1] == "30000000 still here"
    port = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": "8000"}
    assert httpx.get(f"{pool.url}/n", headers=port).status_code == 200
    sandbox.files.write("seen", "1")
    assert "seen" in {event.name for event in watch.get_new_events()}


def test_nothing_runs_meanwhile(pool: PoolServer, sandbox: Sandbox) -> None:
    # forks as fast as it can, so that whoever stops processes one by one misses some
    sandbox.commands.run("while true; do (date +%s%N >> times; (true &) ); done", background=True)
    until(lambda: sandbox.files.exists("times"))
    sandbox.pause()
    paused_at = time.time_ns()
    time.sleep(2)
    goes_on_at = time.time_ns()
    sandbox.connect(timeout=200)

    def times() -> list[int]:
        return [int(line) for line in sandbox.files.read("times").split("\n")[:-1]]

    until(lambda: times()[-1] > goes_on_at)
    assert not [at for at in times() if paused_at < at < goes_on_at]


@pytest.mark.parametrize("kind", ["full", "filesystem"])
def test_what_listens_is_let_go(sandbox: Sandbox, kind: Literal["full", "filesystem"]) -> None:
    running = sandbox.commands.run("sleep 300", background=True)
    ends: list[str] = []

    def wait(handle: CommandHandle) -> None:
        try:
            handle.wait()
        except Exception as error:
            ends.append(type(error).__name__)

    import threading

    thread = threading.Thread(target=wait, args=(running,))
    thread.start()
    sandbox.pause(mode=kind)
    thread.join(20)
    assert ends == ["SandboxNotRunningException"], "a client hears that its sandbox is not there"
    sandbox.connect(timeout=100)
    left = [running.pid] if kind == "full" else []
    assert [one.pid for one in sandbox.commands.list()] == left
    assert sandbox.commands.kill(running.pid) == bool(left)


def test_a_cell_that_a_pause_ends_is_no_result(pool: PoolServer) -> None:
    with Interpreter.create("base", timeout=100, **pool.where()) as sandbox, ThreadPoolExecutor() as threads:
        cell = threads.submit(sandbox.run_code, "import time; open('begun', 'w'); time.sleep(60)")
        until(lambda: sandbox.files.exists("begun"))
        sandbox.pause()
        with pytest.raises((TimeoutException, httpx.RemoteProtocolError)):
            cell.result(30)
        sandbox.connect(timeout=100)
        assert sandbox.run_code("1 + 1").text == "2"


def test_transfers_are_cut_short(pool: PoolServer, sandbox: Sandbox) -> None:
    sandbox.files.write("big", b"x" * 16_000_000)
    url, whole = sandbox.download_url("big"), 0
    with contextlib.ExitStack() as streams:
        bodies = [streams.enter_context(httpx.stream("GET", url)).iter_raw(1000) for _ in range(3)]
        assert all(map(next, bodies))
        sandbox.pause()
        for body in bodies:
            with contextlib.suppress(httpx.RemoteProtocolError):
                assert sum(map(len, body)) == 16_000_000 - 1000
                whole += 1
    assert whole < 3, "a client is told that it has not all"
    sandbox.connect(timeout=200)
    assert len(sandbox.files.read("big", format="bytes")) == 16_000_000


def test_files_alone_where_they_are_asked_for(pool: PoolServer, sandbox: Sandbox) -> None:
    sandbox.commands.run("sleep 300", background=True)
    sandbox.files.write("kept", "1")
    boot_id = sandbox.files.read(BOOT_ID)
    sandbox.pause(mode="filesystem")
    assert mode(pool, sandbox) == "filesystem"
    sandbox.connect(timeout=200)
    assert (sandbox.commands.list(), sandbox.files.read("kept")) == ([], "1")
    assert sandbox.files.read(BOOT_ID) != boot_id
    sandbox.commands.run("sleep 300", background=True)
    sandbox.pause()
    sandbox.connect(timeout=200, on_resume="reboot")
    assert (sandbox.commands.list(), sandbox.files.read("kept")) == ([], "1")


@pytest.mark.parametrize("kind", ["full", "filesystem"])
def test_a_timeout_s_pause_is_of_the_kind_that_was_asked_for(pool: PoolServer, kind: str) -> None:
    lifecycle = {"on_timeout": {"action": "pause", "mode": kind}}
    sandbox = Sandbox.create(timeout=2, lifecycle=lifecycle, **pool.where())  # type: ignore[arg-type]
    try:
        sandbox.commands.run("sleep 300", background=True)
        until(lambda: mode(pool, sandbox) == kind)
        sandbox.connect(timeout=100)
        assert len(sandbox.commands.list()) == (kind == "full")
    finally:
        sandbox.kill()


def test_a_request_to_a_port_wakes_its_server(pool: PoolServer) -> None:
    lifecycle = {"on_timeout": "pause", "auto_resume": True}
    sandbox = Sandbox.create(timeout=3, lifecycle=lifecycle, **pool.where())  # type: ignore[arg-type]
    try:
        sandbox.commands.run("echo served > index.html; python3 -m http.server 8000", background=True)
        until(lambda: mode(pool, sandbox) == "full")
        port = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": "8000"}
        assert httpx.get(f"{pool.url}/", headers=port, timeout=30).text == "served\n"
    finally:
        sandbox.kill()


def test_places_are_for_those_that_run(tmp_path: Path) -> None:
    """A tenant keeps as many as may run, and whoever needs a place gets it: the longest paused keep files alone."""
    keys = TENANTS.replace("sandboxes = 12", "sandboxes = 2")
    pool = PoolServer("local", tmp_path, keys=keys)
    sandboxes: list[Sandbox] = []
    try:
        for _ in range(3):
            sandboxes.append(Sandbox.create(timeout=100, **pool.where()))
            sandboxes[-1].commands.run("sleep 300", background=True)
            sandboxes[-1].files.write("kept", "1")
            sandboxes[-1].pause()
        assert [mode(pool, one) for one in sandboxes] == ["filesystem", "full", "full"]
        sandboxes[0].connect(timeout=100)
        assert (sandboxes[0].files.read("kept"), sandboxes[0].commands.list()) == ("1", [])
        sandboxes[1].connect(timeout=100)
        assert len(sandboxes[1].commands.list()) == 1
        with pytest.raises(SandboxException, match="429"):
            sandboxes[2].connect(timeout=100, on_resume="reboot")
        assert mode(pool, sandboxes[2]) == "full", "what is refused costs nothing"
        sandboxes[2].kill()
        with pytest.raises(SandboxException):
            sandboxes[2].connect()
    finally:
        for one in sandboxes:
            with contextlib.suppress(SandboxException):
                one.kill()
        pool.stop()
    assert "Traceback" not in pool.log()


def test_a_server_that_ends_leaves_files(tmp_path: Path) -> None:
    pool = PoolServer("local", tmp_path)
    sandbox = Sandbox.create(timeout=100, **pool.where())
    sandbox.files.write("kept", "1")
    sandbox.commands.run("sleep 300", background=True)
    sandbox.pause()
    pool.stop()
    pool = PoolServer("local", tmp_path)
    try:
        sandbox = Sandbox.connect(sandbox.sandbox_id, timeout=100, **pool.where())
        assert (sandbox.files.read("kept"), sandbox.commands.list()) == ("1", [])
    finally:
        sandbox.kill()
        pool.stop()
