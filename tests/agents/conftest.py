"""Servers for agents of the field. Their packages are the extra `agents`: `make test-agents` installs it first."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from tests.load.servers import ServerProcess
from tests.swe.agent import serving

_NEEDED = ("inspect_ai", "minisweagent", "swerex")
collect_ignore_glob = [] if all(importlib.util.find_spec(name) for name in _NEEDED) else ["test_*.py"]


@pytest.fixture(scope="session", params=["local", "docker"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("agents")
    with serving(request.param, folder, SANDBOX_GYM_SESSION_ROOT="true") as running:
        yield running
