"""Servers that the trainers' rewards ask, by their names in the environment as users give them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.load.servers import ServerProcess


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ServerProcess("local", tmp_path_factory.mktemp("trainers")) as server:
        yield server.url


@pytest.fixture(scope="session")
def math_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ServerProcess("local", tmp_path_factory.mktemp("math"), server="math") as server:
        yield server.url


@pytest.fixture
def server(server_url: str, math_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SANDBOX_GYM_URL", server_url)
    monkeypatch.setenv("SANDBOX_GYM_MATH_URL", math_url)
    return server_url
