"""Real Ray clusters on this machine: a head and several raylets, tokens on, in a folder of their own."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"  # Ray warns of its own future without it
os.environ["RAY_raylet_start_wait_time_s"] = "120"  # noqa: SIM112 - Ray's own spelling

from tests.cluster.machines import Machines


def pytest_configure(config: pytest.Config) -> None:
    """Ray leaves its own sockets and files to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore::ResourceWarning")
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """Short, for sockets lie in it."""
    made = Path(tempfile.mkdtemp(prefix="sgr-"))
    # not a node's `temp_dir`: Ray writes the head's address to the default folder all the same, and does not make it
    os.environ["RAY_TMPDIR"] = str(made)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="session")
def machines(folder: Path) -> Iterator[Machines]:
    """A head without a pool of its own, and three nodes with one each."""
    running = Machines()
    try:
        running.start(3)
        yield running
    finally:
        running.stop()
