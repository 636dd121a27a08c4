"""A server over fake boxes that is traced, and a collector for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.contract import Run
from sandbox_gym.observe.tracing import open_tracing
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.protocol.resources import ResourcesServer
from tests.observe.collector import Collector, Health, collecting
from tests.server.fakes import EchoResources, fake_engine

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNSAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
TRACE_ID, CALLERS_SPAN = CALLER.split("-")[1:3]
SERVER = 2
CLIENT = 3


@contextmanager
def exporting_to(health: Health, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting(health) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield collector


@contextmanager
def serving(
    behave: Callable[[Run], Behaviour], resources: ResourcesServer | None = None, **fields: object
) -> Iterator[TestClient]:
    """A server over fake boxes, its traces sent when it ends, if not before."""
    settings = Settings.from_flat({"traces": True, **fields})
    chosen = resources or EchoResources()
    tracing = open_tracing(settings.traces, "tested")
    app = build_app(chosen, lambda: fake_engine(FakeProvider(behave)), settings, tracing=tracing)
    with TestClient(app, base_url="http://localhost") as client:
        yield client
