"""Starts `serve pool`: E2B's API by the settings."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice
from typing import Final

import anyio.abc
from starlette.types import ASGIApp, Scope

from sandbox_gym.config import Settings
from sandbox_gym.e2b_server.access import PoolHosts, for_a_program, is_upload, names_a_sandbox
from sandbox_gym.e2b_server.app import Open, PoolApp, Shown
from sandbox_gym.e2b_server.envd.process import STREAM_S
from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.sandboxes.housekeeping import holding
from sandbox_gym.e2b_server.sandboxes.manager import Sandboxes
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.e2b_server.sandboxes.templates import Machines, session_folder
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.observe.sanitize import sanitized
from sandbox_gym.observe.tracing import open_tracing
from sandbox_gym.sandbox.cleanup.owner import held_lease
from sandbox_gym.sandbox.cleanup.reaper import Reaper, reaping
from sandbox_gym.sandbox.registry import capabilities_of, make_provider, orphan_sources
from sandbox_gym.server.access.accounts import Accounts, load_accounts
from sandbox_gym.server.access.request_guard import RequestGuard
from sandbox_gym.server.app import check_bind
from sandbox_gym.server.dashboard.app import is_form, is_page
from sandbox_gym.server.dashboard.live import MAX_TENANTS, server_document
from sandbox_gym.server.dashboard.shapes import PoolShown
from sandbox_gym.server.dashboard.wiring import pool_dashboard
from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.server.serving import serve_app
from sandbox_gym.server.traced import TracedExchanges

KEEP_ALIVE_S: Final = 120
SHUTDOWN_GRACE_S: Final = 2
_CUT: Final = "ASGI callable returned without completing response."


def serve_pool(settings: Settings, *, domain: str) -> None:
    """Serve until a signal. Raises ConfigurationError before it listens."""
    accounts = load_accounts(settings.keys, settings.token, network=settings.pool.network, allow_out=settings.allow_out)
    if accounts.open:
        check_bind(settings, may_be_open=False)
    if not capabilities_of(settings).computers:
        raise ConfigurationError(f"provider {settings.provider} holds no sandboxes; use local or docker")

    logging.getLogger("uvicorn.error").addFilter(
        lambda record: record.getMessage() != _CUT
    )  # streams are closed early on purpose
    picture = PoolPicture(settings.provider)
    dashboard = pool_dashboard(settings, picture.document)

    def shown(sandboxes: Sandboxes) -> ASGIApp:
        assert dashboard is not None
        picture.sandboxes = sandboxes
        return dashboard

    tracing = open_tracing(settings.traces, "sandbox-gym-pool")
    app = pool_app(
        settings, accounts, domain, partial(_open, settings, accounts), shown if dashboard is not None else None
    )
    with held_lease(settings.state_dir):  # a folder that can't be used is known before it listens
        serve_app(
            app if tracing is None else TracedExchanges(app, tracing),
            settings,
            "pool",
            body_s=max(settings.body_timeout_s, STREAM_S),  # a program's input may come from a person who types
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
        )


def pool_app(settings: Settings, accounts: Accounts, domain: str, opened: Open, shown: Shown | None) -> ASGIApp:
    """The application. Without keys it refuses pages of other sites; programs in sandboxes guard their own ports."""
    hosts = PoolHosts(settings.host, settings.allowed_hosts, domain=domain, keyed=not accounts.open)
    app = PoolApp(opened, hosts, domain, shown)
    if not accounts.open:
        return app

    def refuse(status: int, why: str) -> ASGIApp:
        return Fault(status, why).response()

    def takes_forms(scope: Scope) -> bool:
        return is_form(scope) or names_a_sandbox(scope) or is_upload(scope)

    outside = partial(for_a_program, hosts=hosts)
    return RequestGuard(app, hosts.admit, pages=is_page, forms=takes_forms, outside=outside, refuse=refuse)


@asynccontextmanager
async def _open(settings: Settings, accounts: Accounts, tasks: anyio.abc.TaskGroup) -> AsyncIterator[Sandboxes]:
    folder = settings.state_dir / "e2b" / str(settings.port)
    with held_lease(settings.state_dir) as lease:
        provider = make_provider(settings, session_folder(settings, folder / "boxes"))
        reaper = Reaper(orphan_sources(settings, [provider]), lease.renew)
        try:
            async with reaping(reaper):
                machines = Machines(settings, provider, tasks)
                sandboxes = Sandboxes(machines, accounts, folder / "held", tasks, most=settings.session.max_live)
                async with holding(sandboxes, tasks):
                    yield sandboxes
        finally:
            await provider.aclose()


MAX_SANDBOXES: Final = 24


class PoolPicture:
    """The picture of the sandboxes that are served now."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._started_at = time.time()
        self.sandboxes: Sandboxes | None = None

    def document(self) -> PoolShown:
        """The picture as JSON."""
        everyone = self.sandboxes.everyone() if self.sandboxes is not None else []
        running = Counter(one.record.tenant for one in everyone if one.running)
        owned = Counter(one.record.tenant for one in everyone)
        latest = [_listed(one) for one in islice(reversed(everyone), MAX_SANDBOXES)]
        return {
            "at": time.time(),
            "server": server_document("pool", "pool", self._provider, "", self._started_at),
            "sandboxes": {
                "running": running.total(),
                "paused": owned.total() - running.total(),
                "most": self.sandboxes.most if self.sandboxes is not None else 0,
                "tenants": [
                    {"tenant": sanitized(name, 60), "running": running[name], "paused": count - running[name]}
                    for name, count in owned.most_common(MAX_TENANTS)
                ],
                "other_tenants": max(0, len(owned) - MAX_TENANTS),
                "latest": latest,
            },
        }


def _listed(one: Sandbox) -> Document:
    """A sandbox's id may be shown: its token is the secret."""
    sample = one.samples[-1] if one.samples else None
    return {
        "id": sanitized(one.sandbox_id, 40),
        "tenant": sanitized(one.record.tenant, 60),
        "template": sanitized(one.record.template, 80),
        "running": one.running,
        "started_at": one.record.started_at,
        "ends_at": one.end_at,
        "cpu_pct": sample.cpu_pct if sample is not None else None,
        "memory_bytes": sample.memory if sample is not None else None,
    }
