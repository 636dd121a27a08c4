"""One pool server for each provider; its absence is a failure, never a skip."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2b import Sandbox
from e2b_code_interpreter import Sandbox as Interpreter

from tests.e2b.servers import PoolServer

ROOT = Path(__file__).parents[2]


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


@pytest.fixture(scope="module")
def kernels(pool: PoolServer) -> PoolServer:
    if pool.provider == "docker":
        found = subprocess.run(
            ["docker", "image", "inspect", "sandbox-gym/code-interpreter:latest"], capture_output=True
        )
        if found.returncode:
            subprocess.run([ROOT / "images" / "build.sh", "code-interpreter"], check=True, timeout=1700)
    return pool


@pytest.fixture(scope="module")
def box(kernels: PoolServer) -> Iterator[Interpreter]:
    sandbox = Interpreter.create(timeout=1700, **kernels.where())
    try:
        yield sandbox
    finally:
        sandbox.kill()
