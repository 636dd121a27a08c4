"""A Docker Engine that hangs, refuses, or dies in the middle of something: told once and soon, with what helps; nothing
stays behind once it is back."""

from __future__ import annotations

import contextlib
import gc
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from sandbox_gym.cli.pool import collect
from sandbox_gym.config import Settings
from sandbox_gym.errors import ProviderDown
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.cleanup.owner import this_owner
from sandbox_gym.sandbox.docker import engine as engine_module
from sandbox_gym.sandbox.docker.provider import DockerProvider

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
SOCKET = Path("/var/run/docker.sock")
SICK = (
    b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n"
    b'{"message":"sick"}'
)
needs_engine = pytest.mark.skipif(not SOCKET.exists(), reason="no Docker Engine at its usual socket")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "CONNECT_S", 0.5)
    monkeypatch.setattr(engine_module, "SILENT_S", 0.2)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[bytes], None]]:
    """An Engine that gives one answer to whatever it is asked; nothing: none, ever."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "sick.sock"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'sick.sock'}")
    taken: list[socket.socket] = []

    def begin(answer: bytes) -> None:
        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])
                    if answer:
                        taken[-1].recv(65536)
                        taken[-1].sendall(answer)
                        taken[-1].close()

        listener.listen(32)
        threading.Thread(target=serve, daemon=True).start()

    yield begin
    listener.shutdown(socket.SHUT_RDWR)
    for one in (listener, *taken):
        one.close()


@pytest.mark.parametrize(("answer", "helps"), [(b"", "restart it"), (SICK, "look at its log")], ids=["hangs", "500"])
async def test_the_remedy_fits_an_engine_that_is_there(
    answering: Callable[[bytes], None], answer: bytes, helps: str
) -> None:
    answering(answer)
    provider = DockerProvider()
    (row,) = await provider.doctor.probe()
    assert not row.works
    assert helps in row.remedy
    assert "install" not in row.remedy
    await provider.aclose()


async def test_the_remedy_where_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'none.sock'}")
    provider = DockerProvider()
    (row,) = await provider.doctor.probe()
    assert "install" in row.remedy
    await provider.aclose()


def refuses(path: Path) -> list[socket.socket]:
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(path))
    return []


def full(path: Path) -> list[socket.socket]:
    """Takes no more connections, as one that is stopped."""
    listener, waiting = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(0)
    waiting.connect(str(path))
    return [waiting, listener]


@pytest.mark.parametrize("unreachable", [refuses, full])
def test_no_socket_stays_of_an_engine_that_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unreachable: Callable[[Path], list[socket.socket]]
) -> None:
    held = unreachable(tmp_path / "none.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'none.sock'}")

    async def ask() -> None:
        provider = DockerProvider()
        (row,) = await provider.doctor.probe()
        assert ("hangs" in row.remedy) == bool(held)
        with pytest.raises(ProviderDown):
            await provider.create(SandboxSpec("python"))
        await provider.aclose()

    anyio.run(ask)
    for one in held:
        one.close()
    gc.collect()  # a socket that was left warns, and a warning is a failure


@pytest.mark.parametrize("answer", [b"", SICK], ids=["hangs", "500"])
async def test_a_collection_tells_of_a_sick_engine_once(
    answering: Callable[[bytes], None], tmp_path: Path, answer: bytes
) -> None:
    answering(answer)
    swept = await collect(Settings(provider="docker", state_dir=tmp_path / "state"), dry_run=True)
    assert [failure.source for failure in swept.failures if failure.source.startswith("docker")] == ["docker"]


async def test_callers_of_an_engine_that_hangs_wait_for_it_together(
    answering: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the next ones not at all, for a while."""
    monkeypatch.setattr(engine_module, "SILENT_S", 60)
    answering(b"")
    asked: list[object] = []
    provider = DockerProvider()
    really = provider.engine._ask

    def ask() -> None:
        asked.append(None)
        really()

    monkeypatch.setattr(provider.engine, "_ask", ask)

    async def create() -> None:
        with pytest.raises(ProviderDown, match="answers none"):
            await provider.create(SandboxSpec("python"))

    async with anyio.create_task_group() as group:
        for _ in range(12):
            group.start_soon(create)
    await create()
    assert len(asked) == 1
    await provider.aclose()


class Between:
    """What stands between the SDK and the Engine. Once a request holds `at`, nothing is answered, while `sick`:
    connections are closed, or, if it `hangs`, stay silent."""

    def __init__(self, path: Path, *, hangs: bool) -> None:
        self.at, self.hangs, self.sick, self._open = b"", hangs, False, True
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=[self._listener.accept()[0]], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as engine, contextlib.suppress(OSError):
            if not self.sick:
                engine.connect(str(SOCKET))
                self._carry(client, engine)
            while self.sick and self.hangs and self._open:
                time.sleep(0.05)

    def _carry(self, client: socket.socket, engine: socket.socket) -> None:
        """Until one end has no more to say, or the Engine got what it dies of: it does that, and nobody hears of it."""
        until = float("inf")
        while self._open and time.monotonic() < until:
            for one in select.select([client, engine], [], [], 0.1)[0]:
                data = one.recv(65536)
                if not data:
                    return
                if one is client:
                    self.sick = self.sick or bool(self.at and self.at in data)
                    engine.sendall(data)
                elif not self.sick:
                    client.sendall(data)
            if self.sick:
                until = min(until, time.monotonic() + 1)

    def close(self) -> None:
        self._open = False
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def containers() -> list[str]:
    named = f"name=sandbox-gym-{this_owner()}-"
    listed = ["docker", "--host", f"unix://{SOCKET}", "ps", "--all", "--quiet", "--filter", named]
    return subprocess.run(listed, capture_output=True, text=True, check=True, timeout=60).stdout.split()


@needs_engine
@pytest.mark.parametrize("hangs", [False, True], ids=["dies", "hangs"])
@pytest.mark.parametrize("at", [b"/containers/create", b"/attach?", b"/start"])
async def test_a_container_that_a_failing_engine_has_made_goes_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at: bytes, hangs: bool
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'between.sock'}")
    monkeypatch.setattr(engine_module, "CALL_TIMEOUT_S", 6)
    before = containers()
    with contextlib.closing(Between(tmp_path / "between.sock", hangs=hangs)) as proxy:
        provider = DockerProvider()
        await (await provider.create(SandboxSpec("python"))).aclose()
        proxy.at = at
        with anyio.fail_after(60), pytest.raises(ProviderDown):
            await provider.create(SandboxSpec("python"))
        assert await anyio.to_thread.run_sync(containers) != before
        proxy.at, proxy.sick = b"", False
        await anyio.sleep(0.5)
        await (await provider.create(SandboxSpec("python"))).aclose()
        assert await anyio.to_thread.run_sync(containers) == before
        await provider.aclose()
