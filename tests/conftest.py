"""Shared by all tests: anyio on asyncio, and the real providers, whose absence here is a failure, never a skip."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import structlog

from sandbox_gym.config import Settings
from sandbox_gym.sandbox.api import Provider, SandboxSpec, SessionFolder
from sandbox_gym.sandbox.e2b.limits import E2bOptions
from sandbox_gym.sandbox.e2b.provider import E2bProvider
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.registry import PROVIDERS, make_provider
from sandbox_gym.sandbox.sandbox import Sandbox
from tests import daily
from tests.chaos.outcomes import HEAD
from tests.e2b.servers import PoolServer
from tests.forgotten import forget_folders, forget_snapshots, remove_folder

VARIANTS = {"local": ("local", "local-rlimits"), "e2b": ("e2b-on-local", "e2b-on-docker"), "fake": ()}
"""`e2b-on-*` is the e2b provider with a `serve pool` of our own, over that provider.
`local-rlimits` is what an unprivileged user gets; tests run as root, where cgroups must work."""
REAL_PROVIDERS = tuple(variant for name in PROVIDERS for variant in VARIANTS.get(name, (name,)))
"""Every provider of the registry that runs programs: a new one is among them by its line there."""


ALONE = (
    "tests/load/test_http.py",
    "tests/load/test_math_http.py",
    "tests/load/test_sessions_http.py",
    "tests/load/test_shares.py",
    "tests/load/test_starved.py",
    "tests/engine/test_reaper",
    "tests/engine/test_attribution.py",
    "tests/engine/starvation/",
    "tests/swe/test_crowded.py",
)
"""These load the machine, measure how busy it is, or sweep up what a killed owner left, as any other server would."""
FIRST = "tests/engine/test_reaper"
"""Before the session's pool servers are started: each sweeps up every minute what these tests look for."""

LOGGING = structlog.get_config()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--extended", action="store_true", help="long suites on every provider, as make test-all has it")


TEMPROOT = "PYTEST_DEBUG_TEMPROOT"
"""pytest's name for the folder above all tmp_path."""
OWN_TEMPROOT = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """A temporary folder of this run's own: pytest would also clear away earlier runs', and fail on a mount or a tree
    that a killed one left. A run that is told to end (`timeout`, CI) ends what its fixtures started."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    if TEMPROOT not in os.environ:
        forget_folders()
        config.stash[OWN_TEMPROOT] = os.environ[TEMPROOT] = tempfile.mkdtemp(prefix="sg-")  # short: sockets lie in it


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What a failed run left is kept for some days, to be looked at. What went with its folder is no more use:
    snapshots' images."""
    root = session.config.stash.get(OWN_TEMPROOT, None)
    if root and exitstatus == 0:
        remove_folder(Path(root))
    if root:
        forget_snapshots()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The fault matrix of tests/chaos as one table; its lines come with the reports, also from other processes."""
    reports = [report for category in terminalreporter.stats.values() for report in category]
    calls = [report.user_properties for report in reports if getattr(report, "when", "") == "call"]
    lines = [line for properties in calls for name, line in properties if name == "matrix"]
    if lines:
        terminalreporter.section("fault matrix")
        terminalreporter.write("\n".join([HEAD, *lines, ""]))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m alone` looks only where such tests are: all files together take ten seconds to read."""
    inside = collection_path.relative_to(config.rootpath).as_posix()
    if config.getoption("markexpr") != "alone" or not collection_path.is_file():
        return None
    return True if not inside.startswith(ALONE) else None


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(ALONE):
            item.add_marker("alone")
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
    if config.getoption("--extended") or any("::" in argument for argument in config.args):
        return  # a test that is asked for by its name is run
    left_out = set(daily.left_out(items))
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether a test that takes a part of its cases daily takes them all."""
    return bool(request.config.getoption("--extended"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """A command or server that a test runs in its own process sends the log elsewhere: not for the tests after it."""
    structlog.configure(**LOGGING)
    yield
    structlog.configure(**LOGGING)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real tasks with known verdicts; SANDBOX_GYM_TEST_DATA names another folder."""
    default = Path(__file__).parents[2] / "shared" / "data"
    return Path(os.environ.get("SANDBOX_GYM_TEST_DATA", default))


@pytest.fixture(scope="session")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], PoolServer]]:
    """A pool server by the provider beneath, started when it is first asked for."""
    running: dict[str, PoolServer] = {}

    def pool(beneath: str) -> PoolServer:
        if beneath not in running:
            running[beneath] = PoolServer(beneath, tmp_path_factory.mktemp("pool"), keys="")
        return running[beneath]

    try:
        yield pool
    finally:
        for server in running.values():
            server.stop()
    for server in running.values():
        assert "unexpected_error" not in server.log()


def e2b_options(pool: PoolServer) -> E2bOptions:
    """An account at a pool that asks for no key, and hurries."""
    return E2bOptions(api_key="any", api_url=pool.url, creates_per_s=100)


def remote_environment(pool: PoolServer) -> dict[str, str]:
    """The same for a server process."""
    return {
        "SANDBOX_GYM_E2B_API_URL": pool.url,
        "SANDBOX_GYM_E2B_API_KEY": "any",
        "SANDBOX_GYM_E2B_CREATES_PER_S": "100",
    }


def make_real(
    name: str, pools: Callable[[str], PoolServer] | None = None, *, sessions: SessionFolder | None = None
) -> Provider:
    if name.startswith("e2b-on-") and pools is not None:
        return E2bProvider(e2b_options(pools(name.removeprefix("e2b-on-"))), sessions=sessions)
    if name in VARIANTS["local"]:
        return LocalProvider(cgroup="never" if name == "local-rlimits" else "require", sessions=sessions)
    return make_provider(Settings(provider=name), sessions)


@pytest.fixture(params=REAL_PROVIDERS)
async def box(request: pytest.FixtureRequest, pools: Callable[[str], PoolServer]) -> AsyncIterator[Sandbox]:
    """A fresh box of each real provider."""
    provider = make_real(request.param, pools)
    box = await provider.create(SandboxSpec())
    try:
        yield box
    finally:
        await box.aclose()
        await provider.aclose()
