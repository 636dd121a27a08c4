"""The ASGI application of the pool: dispatches each request to its part, and opens and closes the sandboxes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Final

import anyio
import anyio.abc
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox_gym.e2b_server.access import (
    ENVD_PORT,
    INTERPRETER_PORT,
    PoolHosts,
    Target,
    check_token,
    check_traffic,
    signed_for,
    target_of,
    user_of,
)
from sandbox_gym.e2b_server.builds.handlers import BuildRoutes
from sandbox_gym.e2b_server.builds.manager import Builds
from sandbox_gym.e2b_server.code_interpreter import Interpreter
from sandbox_gym.e2b_server.control.handlers import Control
from sandbox_gym.e2b_server.control.routes import HEALTH
from sandbox_gym.e2b_server.control.shapes import PoolHealth
from sandbox_gym.e2b_server.documents import PoolDocuments
from sandbox_gym.e2b_server.envd.connect_rpc import error_reply
from sandbox_gym.e2b_server.envd.file_driver import FileDriver
from sandbox_gym.e2b_server.envd.files import answer_files
from sandbox_gym.e2b_server.envd.filesystem import Filesystem
from sandbox_gym.e2b_server.envd.process import Processes, base_environment
from sandbox_gym.e2b_server.envd.shapes import EnvdMetrics
from sandbox_gym.e2b_server.faults import Fault, as_json, fault_of, gone, port_closed
from sandbox_gym.e2b_server.proxy import Proxy
from sandbox_gym.e2b_server.sandboxes.manager import Sandboxes
from sandbox_gym.e2b_server.sandboxes.processes import Work
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.sandbox.egress import proxy
from sandbox_gym.server.dashboard.app import is_dashboards
from sandbox_gym.server.dashboard.routes import pool_operations

Open = Callable[[anyio.abc.TaskGroup], AbstractAsyncContextManager[Sandboxes]]
Shown = Callable[[Sandboxes], ASGIApp]
HEALTH_S: Final = 5.0
REST_S: Final = 2.0


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


class PoolApp:
    """One port for the control plane, every sandbox's envd and code interpreter, and programs in sandboxes."""

    def __init__(
        self, open_sandboxes: Open, hosts: PoolHosts, domain: str = "", dashboard: Shown | None = None
    ) -> None:
        self._open, self._hosts, self._domain, self._dashboard = open_sandboxes, hosts, domain, dashboard
        self._sandboxes: Sandboxes | None = None
        self._control: Control | None = None
        self._documents: PoolDocuments | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            request = Request(scope, receive)
            try:
                response = await self._answer(request)
            except ClientDisconnect:
                return  # the client has left
            except Exception as error:  # one that is no Fault is answered under an error id
                response = fault_of(error).response()
            if type(response) is Response:
                await _read_rest(request)
            await response(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1003})

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        started = False
        try:
            async with self._serving():
                started = True
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except* SandboxGymError as group:
            if started:
                raise
            why = "; ".join(str(error) for error in _leaves(group))
            await send({"type": "lifespan.startup.failed", "message": why})
        if started:
            await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            async with self._open(tasks) as sandboxes:
                templates = BuildRoutes(Builds(sandboxes, sandboxes.folder / "uploads"))
                self._sandboxes, self._control = sandboxes, Control(sandboxes, templates, self._domain)
                self._documents = self._documented(sandboxes, self._control)
                try:
                    yield
                finally:
                    self._sandboxes = self._control = None
            tasks.cancel_scope.cancel()

    async def _answer(self, request: Request) -> ASGIApp:
        if self._sandboxes is None or self._control is None:
            raise Fault(503, "the server is stopping", retry_after_s=5)
        target = target_of(request, self._hosts) or signed_for(request, self._sandboxes)
        if target is None and self._dashboard is not None and is_dashboards(request.url.path):
            return self._dashboard(self._sandboxes)
        if target is not None:
            return await self._to_sandbox(self._sandboxes, request, target)
        if request.url.path == HEALTH.path:
            return self._healthy(request, self._sandboxes)
        if self._documents is not None and self._documents.owns(request.url.path):
            return await self._documents.answer(request)
        return await self._control.answer(request)

    def _documented(self, sandboxes: Sandboxes, control: Control) -> PoolDocuments:
        shown = pool_operations() if self._dashboard is not None else ()
        return PoolDocuments(sandboxes.accounts, [HEALTH, *(one for one, _ in control.routes()), *shown])

    @staticmethod
    def _healthy(request: Request, sandboxes: Sandboxes) -> Response:
        if request.method not in ("GET", "HEAD"):
            raise _asked_with(request, "GET, HEAD")
        health: PoolHealth = {"status": "ok", "running": len(sandboxes.running())}
        return as_json(health)

    async def _to_sandbox(self, sandboxes: Sandboxes, request: Request, target: Target) -> Response:
        sandbox = sandboxes.find(target.sandbox_id)
        if sandbox is None or not await sandboxes.wake(sandbox) or sandbox.work is None:
            return gone(target.sandbox_id)
        work = sandbox.work
        if work.envd.ended.is_set() or work.suspended:
            return gone(target.sandbox_id)
        if target.port == ENVD_PORT:
            return await self._envd(sandboxes, request, sandbox, work)
        if target.port == INTERPRETER_PORT:
            return await Interpreter(sandbox, work).answer(request)
        # with the machine's network a sandbox's loopback is the machine's own: never expose it
        if not sandbox.record.public_traffic or sandbox.record.network:
            check_traffic(request, sandbox)
        if target.port == proxy.PORT and sandbox.egress is not None:  # for its own programs only
            return port_closed(sandbox.sandbox_id, target.port)
        return await Proxy(sandbox, work, target.port).answer(request)

    async def _envd(self, sandboxes: Sandboxes, request: Request, sandbox: Sandbox, work: Work) -> Response:
        path = request.url.path
        if path == "/health":
            asked = request.method in ("GET", "HEAD")
            return (
                await self._health(sandbox, work) if asked else error_reply(request, _asked_with(request, "GET, HEAD"))
            )
        if path == "/files":
            return await answer_files(request, sandbox, sandboxes.driver)
        try:
            check_token(request, sandbox)
            user = user_of(request, sandbox)
            envd = await sandboxes.driver(sandbox, user)
        except (SandboxGymError, TimeoutError) as error:
            return error_reply(request, fault_of(error))
        request.scope["tenant"] = sandbox.record.tenant
        service, _, method = path.strip("/").partition("/")
        methods: dict[str, Callable[[], Awaitable[Response]]] = {
            "process.Process": lambda: Processes(sandbox, work, sandboxes.tasks, envd, user).answer(request, method),
            "filesystem.Filesystem": lambda: Filesystem(work, FileDriver(sandboxes.driver, sandbox, user, envd)).answer(
                request, method
            ),
            "metrics": lambda: self._metrics(sandboxes, sandbox),
            "envs": lambda: self._envs(sandbox),
        }
        if service not in methods:
            return error_reply(request, Fault(404, f"no route {request.method} {path[:200]}"))
        allowed = "GET" if service in ("metrics", "envs") else "POST"
        if request.method != allowed:
            return error_reply(request, _asked_with(request, allowed))
        return await methods[service]()

    async def _health(self, sandbox: Sandbox, work: Work) -> Response:
        try:
            await work.envd.ask({"op": "ping"}, within_s=HEALTH_S)
        except TimeoutError:  # Docker freezes a container while it commits it
            return port_closed(sandbox.sandbox_id, ENVD_PORT)
        except SandboxGymError:
            return gone(sandbox.sandbox_id)
        return Response(status_code=204)

    async def _envs(self, sandbox: Sandbox) -> Response:
        return as_json(base_environment(sandbox))

    async def _metrics(self, sandboxes: Sandboxes, sandbox: Sandbox) -> Response:
        await sandboxes.sample(sandbox)
        sample, limits = sandbox.samples[-1], sandboxes.machines.limits_of(sandbox.record.image)
        metrics: EnvdMetrics = {
            "ts": int(sample.at),
            "cpu_count": max(1, round(limits.cpus)),
            "cpu_used_pct": sample.cpu_pct,
            "mem_total": limits.memory_bytes,
            "mem_used": sample.memory,
            "disk_used": sample.disk,
            "disk_total": limits.scratch_bytes,
        }
        return as_json(metrics)


async def _read_rest(request: Request) -> None:
    """Read the body that an error left unread: the SDK's HTTP client gives up a response that begins before the whole
    upload was sent, and its caller is told of a broken connection."""
    if "expect" not in request.headers:
        with anyio.move_on_after(REST_S), suppress(ClientDisconnect, RuntimeError):  # the latter where all was read
            async for _ in request.stream():
                pass


def _asked_with(request: Request, methods: str) -> Fault:
    return Fault(405, f"{request.url.path[:200]} takes {methods}", headers={"Allow": methods})
