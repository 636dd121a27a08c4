"""Shared by all tests: anyio on asyncio, and the real providers, whose absence here is a failure, never a skip."""

from __future__ import annotations

import os
import subprocess
import tempfile
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


TEMPROOT = "PYTEST_DEBUG_TEMPROOT"
"""pytest's name for the folder above all tmp_path."""
OWN_TEMPROOT = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """A temporary folder of this run's own: pytest would also clear away earlier runs', and fail on a mount or a tree
    that a killed one left."""
    if TEMPROOT not in os.environ:
        config.stash[OWN_TEMPROOT] = os.environ[TEMPROOT] = tempfile.mkdtemp(prefix="sg-")  # short: sockets lie in it


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What a failed run left is kept, to be looked at."""
    root = session.config.stash.get(OWN_TEMPROOT, None)
    if root and exitstatus == 0:
        subprocess.run(["rm", "-rf", "--one-file-system", root], check=False, stderr=subprocess.DEVNULL)


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
