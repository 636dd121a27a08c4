"""The fixture that makes servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.server.app import build_app
from tests.server.fakes import EchoResources, Server, exits_as_told, fake_engine

Serving = Callable[..., Server]


@pytest.fixture
def serving() -> Iterator[Serving]:
    """Makes servers; each is closed at the end."""
    opened: list[TestClient] = []

    def make(resources: EchoResources | None = None, settings: Settings | None = None, *, down: bool = False) -> Server:
        provider = FakeProvider(exits_as_told, down=down)
        chosen = resources or EchoResources()
        app = build_app(chosen, lambda: fake_engine(provider), settings or Settings.model_validate({}))
        client = TestClient(app)
        client.__enter__()
        opened.append(client)
        return Server(client, provider, chosen)

    yield make
    for client in opened:
        client.__exit__(None, None, None)
