"""One pool server for each provider; its absence is a failure, never a skip."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2b import Sandbox

from tests.e2b.servers import PoolServer


@pytest.fixture(scope="session", params=["local", "docker"])
def pool(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PoolServer]:
    server = PoolServer(request.param, tmp_path_factory.mktemp("pool"))
    try:
        yield server
    finally:
        server.stop()
    assert "unexpected_error" not in server.log()
    assert "Traceback" not in server.log()


@pytest.fixture
def sandbox(pool: PoolServer) -> Iterator[Sandbox]:
    """A fresh one of alice's."""
    sandbox = Sandbox.create(timeout=300, **pool.where())
    try:
        yield sandbox
    finally:
        sandbox.kill()
