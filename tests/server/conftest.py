"""The fixture that makes servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.server import CodingResources
from tests.server.dashboards import Opening, doubled
from tests.server.fakes import EchoResources, Server, exits_as_told, fake_engine

Serving = Callable[..., Server]


@pytest.fixture
def serving() -> Iterator[Serving]:
    """Makes servers; each is closed at the end."""
    opened: list[TestClient] = []

    def make(resources: EchoResources | None = None, settings: Settings | None = None, *, down: bool = False) -> Server:
        provider = FakeProvider(exits_as_told, down=down)
        chosen = resources or EchoResources()
        app = build_app(chosen, lambda: fake_engine(provider), settings or Settings.from_flat({}))
        client = TestClient(app, base_url="http://localhost")
        client.__enter__()
        opened.append(client)
        return Server(client, provider, chosen)

    yield make
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def opening() -> Iterator[Opening]:
    """Makes clients of a coding server over fake boxes."""
    opened: list[TestClient] = []

    def make(journal: Path | None = None, **fields: object) -> TestClient:
        settings = Settings.from_flat({"early_stop": False, **fields})
        provider = FakeProvider(doubled)
        url = None if journal is None else str(journal)
        app = build_app(CodingResources(settings), lambda: fake_engine(provider), settings, journal_url=url)
        client = TestClient(app, follow_redirects=False, base_url="http://localhost")
        client.__enter__()
        opened.append(client)
        return client

    yield make
    for client in opened:
        client.__exit__(None, None, None)
