"""Shared by all tests: anyio on asyncio, and the real providers, whose absence here is a failure, never a skip."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_gym.sandbox.api import Box, Provider
from sandbox_gym.sandbox.docker import DockerProvider
from sandbox_gym.sandbox.local import LocalProvider

REAL_PROVIDERS = ("local", "local-rlimits", "docker")
"""`local-rlimits` is what an unprivileged user gets; tests run as root, where cgroups must work."""


EXTENDED = ("tests/attacks/test_swe_attacks.py", "tests/e2b/")
"""Long suites whose second provider, docker, is for `make test-all`; in the daily run the first one carries them."""
DAILY = ("tests/e2b/test_life.py",)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--extended", action="store_true", help="long suites on every provider, as make test-all has it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--extended"):
        return
    left_out = [item for item in items if _is_extended(item.nodeid)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not _is_extended(item.nodeid)]


def _is_extended(node: str) -> bool:
    return node.startswith(EXTENDED) and not node.startswith(DAILY) and "[docker" in node


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real tasks with known verdicts; SANDBOX_GYM_TEST_DATA names another folder."""
    default = Path(__file__).parents[2] / "shared" / "data"
    return Path(os.environ.get("SANDBOX_GYM_TEST_DATA", default))


def make_real(name: str) -> Provider:
    if name == "docker":
        return DockerProvider()
    return LocalProvider(cgroup="never" if name == "local-rlimits" else "require")


@pytest.fixture(params=REAL_PROVIDERS)
async def box(request: pytest.FixtureRequest) -> AsyncIterator[Box]:
    """A fresh box of each real provider."""
    provider = make_real(request.param)
    box = await provider.start("python")
    try:
        yield box
    finally:
        await box.aclose()
        await provider.aclose()
