"""Every application and its routes, asked without a server.

The applications do not run: what gets past their guard is answered 503, 404 or 422."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, cast

import anyio
from anyio.abc import TaskGroup
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Scope

from sandbox_gym.config import Settings
from sandbox_gym.e2b_server.builds.handlers import BuildRoutes
from sandbox_gym.e2b_server.builds.manager import Builds
from sandbox_gym.e2b_server.control.handlers import Control
from sandbox_gym.e2b_server.launch import pool_app
from sandbox_gym.e2b_server.sandboxes.manager import Sandboxes
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.server.access.accounts import load_accounts
from sandbox_gym.server.app import build_app, guarded
from sandbox_gym.server.dashboard.app import Dashboard
from sandbox_gym.server.dashboard.operator_auth import OperatorAuth
from sandbox_gym.server.registry import SERVERS
from sandbox_gym.server.workers.routes import WorkerRoutes
from sandbox_gym.server.workers.sockets import Peers
from tests.server.fakes import fake_engine

HOST: Final = "localhost:8080"


@dataclass(frozen=True)
class Served:
    """An application and its routes: (method, path)."""

    app: ASGIApp
    routes: tuple[tuple[str, str], ...]


def _walk(routes: Sequence[BaseRoute]) -> Iterator[tuple[str, str]]:
    for route in routes:
        if isinstance(route, Mount):
            yield "GET", f"{route.path}/anything"
        else:
            assert isinstance(route, Route | APIRoute), route
            for method in route.methods or {"GET", "POST", "DELETE"}:
                yield method, re.sub(r"{\w+(:\w+)?}", "1", route.path)


def _dashboard() -> Dashboard:
    return Dashboard(OperatorAuth("", 8080), dict)


def resources_server(kind: str, **fields: object) -> Served:
    settings = Settings.from_flat({"provider": "fake", "expose_tools_over_mcp": True, **fields})
    resources = SERVERS[kind](settings, kind)
    app = build_app(resources, lambda: fake_engine(FakeProvider()), settings)
    routes = (*_walk(app.routes), *_walk(_dashboard()._router.routes))
    return Served(app, routes)


def _front(folder: Path) -> Served:
    """Of several workers; a request that got past would wait for one."""
    served = resources_server("coding")
    settings = Settings.from_flat({"provider": "fake"})
    resources = SERVERS["coding"](settings, "coding")
    routes = WorkerRoutes(served.app, resources, "cookie", "secret", 0, Peers(folder, 1))
    return Served(guarded(routes, settings), served.routes)


def pool(domain: str = "", **fields: object) -> Served:
    settings = Settings.from_flat({"pool_network": True, **fields})

    @asynccontextmanager
    async def never(_: TaskGroup) -> AsyncIterator[Sandboxes]:
        raise AssertionError("it does not run")
        yield

    app = pool_app(settings, load_accounts(settings.keys, settings.token), domain, never, lambda _: _dashboard())
    control = Control(cast(Sandboxes, None), BuildRoutes(cast(Builds, None)), domain)
    paths = [(one.method, re.sub(r"\{[^}]*\}", "i1", one.template)) for one, _ in control.routes()]
    envd = [
        ("POST", "/files"),
        ("GET", "/files"),
        ("POST", "/process.Process/Start"),
        ("POST", "/execute"),
        ("GET", "/"),
    ]
    return Served(app, (*paths, *envd, ("GET", "/health"), *_walk(_dashboard()._router.routes)))


@cache
def served(name: str, folder: Path) -> Served:
    if name == "pool":
        return pool()
    return _front(folder) if name == "workers" else resources_server(name)


@dataclass
class Asked:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


async def _ask(app: ASGIApp, method: str, path: str, headers: dict[str, str], body: bytes) -> Asked:
    query = path.partition("?")
    scope: Scope = {
        "type": "http", "method": method, "path": query[0], "raw_path": query[0].encode(), "scheme": "http",
        "query_string": query[2].encode(), "http_version": "1.1", "server": ("127.0.0.1", 8080), "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
    }  # fmt: skip
    incoming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    asked = Asked()

    async def receive() -> Message:
        return incoming.pop() if incoming else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            asked.status = message["status"]
            asked.headers = {name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]}
        asked.body += message.get("body", b"")

    with anyio.fail_after(10):
        await app(scope, receive, send)
    return asked


def ask(app: ASGIApp, requests: Sequence[tuple[str, str, dict[str, str]]], body: bytes = b"") -> list[Asked]:
    async def all_of_them() -> list[Asked]:
        return [await _ask(app, *request, body) for request in requests]

    return anyio.run(all_of_them)
