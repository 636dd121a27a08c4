"""A server that the trainers' rewards ask, by its name in the environment as users give it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.load.servers import ServerProcess


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ServerProcess("local", tmp_path_factory.mktemp("trainers")) as server:
        yield server.url


@pytest.fixture
def server(server_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SANDBOX_GYM_URL", server_url)
    return server_url
