"""Several processes behind one port: NeMo Gym's `num_workers`, `serve --workers`.

Each worker is a whole server with its share of the sandboxes; uvicorn restarts dead ones. `routes` decides which worker
answers a request. Sessions survive the death of their worker: its successor has the same number and records.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import structlog
import uvicorn
from fastapi import FastAPI
from starlette.routing import Router
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.observe.tracing import open_tracing
from sandbox_gym.private import make_private
from sandbox_gym.sandbox.cleanup.owner import held_lease
from sandbox_gym.server.access.accounts import load_accounts
from sandbox_gym.server.app import build_app, check_bind, guarded, session_cookie
from sandbox_gym.server.connections import BoundedConfig
from sandbox_gym.server.protocol.dataset import Dataset
from sandbox_gym.server.protocol.resources import ResourcesServer
from sandbox_gym.server.serving import (
    BROKE,
    Draining,
    bound_logs,
    can_listen,
    ready_to_listen,
    say_where,
    server_bounds,
)
from sandbox_gym.server.workers.routes import WorkerRoutes, fresh_session_id, keyed
from sandbox_gym.server.workers.sockets import Peers
from sandbox_gym.settings.group import is_set, value_of

Build = Callable[[Settings, str], ResourcesServer]
CLAIM_S: Final = 30.0
"""Seconds that a new worker waits for the number of one that is ending."""
PARENT_S: Final = 1.0
HEALTHCHECK_S: Final = 30
"""As in NeMo Gym: a worker that answers no ping for this long is replaced."""
_SHARED: Final = (
    *("boxes", "queue_size", "session_max_live", "session_max_count", "session_snapshot_disk_mb", "swe_disk_mb"),
    *("judge_max_concurrency", "e2b_max_sandboxes", "e2b_creates_per_s"),
)
_DRAINING: Final = "draining"
"""The file that tells workers that the server was told to stop."""
_log = structlog.get_logger("sandbox_gym.server")
_LEAST: Final = {"boxes": 2, "e2b_max_sandboxes": 2, "swe_disk_mb": 100}


def share(settings: Settings, number: int, count: int) -> Settings:
    """One worker's share of the limits that the settings set for the whole server. Raises ConfigurationError where a
    share is too small."""
    parts: dict[str, int | float] = {}
    for name in _SHARED:
        whole = value_of(settings, name)
        assert isinstance(whole, int | float)
        part = whole / count if isinstance(whole, float) else whole // count + (number < whole % count)
        least = _LEAST.get(name, 1 if isinstance(whole, int) else 0)
        if part < least and is_set(settings, name):
            raise ConfigurationError(f"{name} is {whole}: {count} workers need at least {least} each")
        parts[name] = max(part, least)
    return settings.replaced(parts)


@dataclass(frozen=True)
class WorkerApp:
    """Makes one worker's application in its own process, to which it is pickled."""

    build: Build
    name: str
    settings: Settings
    sessions: str
    """The name of the sessions' folder; each worker appends its number."""
    folder: Path
    """The folder of the sockets by which workers reach each other."""
    count: int
    parent_pid: int
    journal_url: str | None = None
    dataset: Path | None = None
    session_secret: str = field(default="", repr=False)

    def __call__(self) -> ASGIApp:
        bound_logs()
        own = claim_number(self.folder, self.count)
        settings = share(self.settings, own, self.count)
        resources = self.build(settings, self.name)
        app = build_app(
            resources,
            partial(open_engine, settings, sessions=f"{self.sessions}-{own}"),
            settings,
            journal_url=self.journal_url,
            dataset=None if self.dataset is None else Dataset.opened(self.dataset),
            new_session_id=partial(fresh_session_id, own, self.count),
            tracing=open_tracing(settings.traces, f"sandbox-gym-{resources.name}"),
            session_secret=self.session_secret,
        )
        peers = Peers(self.folder, self.count)
        routes = WorkerRoutes(app, resources, session_cookie(resources), self.session_secret, own, peers)
        accounts = load_accounts(settings.keys, settings.token)
        entrance = guarded(routes, settings) if accounts.open else keyed(routes, accounts)

        @asynccontextmanager
        async def lifespan(_: Router) -> AsyncIterator[None]:
            serving = _answering_peers(app, peers.listen(own), settings.shutdown_grace_s)
            with _replaced_if_broken():
                async with app.router.lifespan_context(app), serving, anyio.create_task_group() as group:
                    group.start_soon(end_with, self.parent_pid)
                    yield
                    group.cancel_scope.cancel()

        drained = Draining(entrance, (self.folder / _DRAINING).exists)
        return Router(default=drained, lifespan=lifespan)


def claim_number(folder: Path, count: int) -> int:
    """Claim the first number that no living worker has, until this process ends. Raises ConfigurationError."""
    ends_at = time.monotonic() + CLAIM_S
    while time.monotonic() < ends_at:
        for number in range(count):
            fd = os.open(folder / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
            else:
                return number
        time.sleep(0.1)
    raise ConfigurationError(f"all {count} worker numbers are in use")


class _Quiet(uvicorn.Server):
    """A second server in one process, which leaves signals to the first."""

    def capture_signals(self) -> AbstractAsyncContextManager[None]:  # type: ignore[override]
        return nullcontext()


@asynccontextmanager
async def _answering_peers(app: FastAPI, listener: socket.socket, grace_s: float) -> AsyncIterator[None]:
    """Serve the application to other workers at this worker's own socket while the context lasts."""
    # what others wait for ends as their own requests do: with its answer, or when their grace is over
    config = uvicorn.Config(
        app, lifespan="off", access_log=False, log_config=None, timeout_graceful_shutdown=round(grace_s)
    )
    server = _Quiet(config)
    async with anyio.create_task_group() as group:
        group.start_soon(partial(server.serve, sockets=[listener]))
        try:
            yield
        finally:
            server.should_exit = True


@contextmanager
def _replaced_if_broken() -> Iterator[None]:
    """End the worker when one of its background tasks fails: uvicorn alone would keep answering 503."""
    try:
        yield
    except BaseException as error:
        _log.error("worker_failed", exc_info=error)
        os.kill(os.getpid(), signal.SIGTERM)
        raise


async def end_with(parent_pid: int) -> None:
    """End the worker when its parent was killed; runs until cancelled."""
    while os.getppid() == parent_pid:  # noqa: ASYNC110 - no event tells that a parent died
        await anyio.sleep(PARENT_S)
    os.kill(os.getpid(), signal.SIGTERM)


def close_worker_ends(workers: Iterable[Process]) -> None:
    """Close the parent's copy of a started worker's end of the pipe, so that the worker's death ends the parent's wait
    for a ping at once. Idempotent."""
    for worker in workers:
        worker.child_conn.close()


class _Supervisor(Multiprocess):
    """uvicorn's supervisor with a fixed number of workers."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], drain_s: float, mark: Path) -> None:
        super().__init__(config, sockets)
        self._drain_s, self._mark = drain_s, mark

    def handle_term(self) -> None:
        """Workers see the mark, and stop after the drain; at a second signal they stop at once."""
        if not self._drain_s or self._mark.exists():
            return super().handle_term()
        self._mark.touch()
        over = threading.Timer(self._drain_s, self.should_exit.set)
        over.daemon = True
        over.start()

    def init_processes(self) -> None:
        super().init_processes()
        close_worker_ends(self.processes)

    def keep_subprocess_alive(self) -> None:
        super().keep_subprocess_alive()
        close_worker_ends(self.processes)

    def restart_all(self) -> None:
        """Restart workers one after another; each successor takes over its predecessor's number and sessions."""
        for index, old in enumerate(self.processes):
            old.terminate()
            old.join()
            self.processes[index] = Process(self.config, self.sockets)
            self.processes[index].start()
            close_worker_ends(self.processes)
            self.processes[index].wait_until_ready(HEALTHCHECK_S, self.should_exit)

    def handle_ttin(self) -> None:
        _log.warning("worker_count_fixed", remedy="start with another number of workers")

    handle_ttou = handle_ttin


def serve_workers(make: Callable[[Path], WorkerApp], settings: Settings, needs: str, *, keep_alive_s: int) -> None:
    """Serve until a signal. `make`: makes the application from the folder for its sockets. `needs`: see
    `ready_to_listen`. Raises ConfigurationError."""
    check_bind(settings)
    with held_lease(settings.state_dir) as lease:
        folder = lease.scratch() / "workers"
        make_private(folder)
        app = make(folder)
        for number in range(app.count):
            share(settings, number, app.count)
        config = BoundedConfig(
            app,
            server_bounds(settings),
            factory=True,
            lifespan="on",
            host=settings.host,
            port=settings.port,
            workers=app.count,
            access_log=False,
            timeout_keep_alive=keep_alive_s,
            timeout_graceful_shutdown=round(settings.shutdown_grace_s),
            timeout_worker_healthcheck=HEALTHCHECK_S,
        )
        try:
            with ready_to_listen(settings, needs) as listeners:
                with can_listen(settings):
                    for listener in listeners:
                        listener.listen(config.backlog)  # clients that connect before the first worker is ready wait
                say_where(settings, listeners)
                supervisor = _Supervisor(config, listeners, settings.drain_s, folder / _DRAINING)
                supervisor.run()
        finally:
            for path in folder.iterdir():
                path.unlink(missing_ok=True)
            folder.rmdir()
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise SystemExit(BROKE)
