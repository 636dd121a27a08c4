"""Shared by all tests: anyio on asyncio, and the real providers, whose absence here is a failure, never a skip."""

from __future__ import annotations

import os
import subprocess
import tempfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from sandbox_gym.sandbox.api import Provider, SandboxSpec
from sandbox_gym.sandbox.docker.provider import DockerProvider
from sandbox_gym.sandbox.e2b.limits import E2bOptions
from sandbox_gym.sandbox.e2b.provider import E2bProvider
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.sandbox import Sandbox
from tests.chaos.outcomes import HEAD
from tests.e2b.servers import PoolServer

REAL_PROVIDERS = ("local", "local-rlimits", "docker", "e2b-on-local", "e2b-on-docker")
"""`e2b-on-*` is the e2b provider with a `serve pool` of our own, over that provider.
`local-rlimits` is what an unprivileged user gets; tests run as root, where cgroups must work."""


EXTENDED = (
    "tests/attacks/test_swe_attacks.py",
    "tests/attacks/test_in_process_attacks.py",
    "tests/attacks/channels/",
    "tests/coding/test_early_ends.py",
    "tests/coding/test_one_process.py",
    "tests/coding/test_packages.py",
    "tests/coding/test_row_programs.py",
    "tests/e2b/",
    "tests/golden/test_corpus.py",
    "tests/golden/test_humaneval.py",
    "tests/honest/",
)
"""Long suites whose second provider, docker, is for `make test-all`; in the daily run the first one carries them."""
DAILY = (
    "tests/e2b/test_life.py",
    "tests/attacks/channels/test_channels.py::test_what_is_left_and_nothing_else_carries[docker-task-t",
)
BOTH_WAYS = ("tests/conformance/", "tests/engine/")
"""Through a pool on docker these are what they are on docker and through a pool on local."""

ONE_IS_ENOUGH = (
    "tests/load/test_http.py::test_a_row_of_ten_thousand_tests[docker",
    "tests/remote/test_swe.py::test_the_fix_resolves_test_by_test_and_nothing_does_not[e2b-on-local-mako",
)
"""Each takes a minute, and its neighbour shows the same."""

SAMPLED = {
    "tests/attacks/test_attacks.py::test_the_attack_earns_nothing_and_the_honest_answer_everything[docker": 6,
    "tests/attacks/test_attacks.py::test_the_attack_earns_nothing_and_the_honest_answer_everything[local": 3,
    "tests/attacks/test_swe_attacks.py": 3,
    "tests/attacks/test_in_process_attacks.py": 3,
    "tests/attacks/channels/": 3,
    "tests/swe/test_spellings.py": 3,
    "tests/coding/test_row_programs.py": 2,
    "tests/languages/test_java.py": 3,
    "tests/e2b/test_tenants.py": 3,
    "tests/remote/test_faults.py": 2,
}
"""Long suites of many alike, of which the daily run has one in so many; `make test-all` has them whole. Which ones:
by the name's checksum, moved on by SANDBOX_GYM_TEST_SAMPLE."""

ALONE = (
    "tests/load/",
    "tests/engine/test_reaper",
    "tests/engine/test_attribution.py",
    "tests/engine/test_starvation.py",
)
"""These load the machine, measure how busy it is, or sweep up what a killed owner left, as any other server would."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--extended", action="store_true", help="long suites on every provider, as make test-all has it")


TEMPROOT = "PYTEST_DEBUG_TEMPROOT"
"""pytest's name for the folder above all tmp_path."""
OWN_TEMPROOT = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """A temporary folder of this run's own: pytest would also clear away earlier runs', and fail on a mount or a tree
    that a killed one left."""
    config.addinivalue_line("markers", "extended: long, and a cheaper test of the daily run proves the same")
    if TEMPROOT not in os.environ:
        config.stash[OWN_TEMPROOT] = os.environ[TEMPROOT] = tempfile.mkdtemp(prefix="sg-")  # short: sockets lie in it


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What a failed run left is kept, to be looked at."""
    root = session.config.stash.get(OWN_TEMPROOT, None)
    if root and exitstatus == 0:
        subprocess.run(["rm", "-rf", "--one-file-system", root], check=False, stderr=subprocess.DEVNULL)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The fault matrix of tests/chaos as one table; its lines come with the reports, also from other processes."""
    reports = [report for category in terminalreporter.stats.values() for report in category]
    calls = [report.user_properties for report in reports if getattr(report, "when", "") == "call"]
    lines = [line for properties in calls for name, line in properties if name == "matrix"]
    if lines:
        terminalreporter.section("fault matrix")
        terminalreporter.write("\n".join([HEAD, *lines, ""]))


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(ALONE):
            item.add_marker("alone")
    if config.getoption("--extended"):
        return
    left_out = [item for item in items if _is_extended(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not _is_extended(item)]


def _sampled(node: str, share: int) -> bool:
    return (zlib.crc32(node.encode()) + int(os.environ.get("SANDBOX_GYM_TEST_SAMPLE", "0"))) % share == 0


def _is_extended(item: pytest.Item) -> bool:
    node = item.nodeid
    if (
        item.get_closest_marker("extended")
        or node.startswith(ONE_IS_ENOUGH)
        or ("e2b-on-docker" in node and node.startswith(BOTH_WAYS))
    ):
        return True
    if "e2b-on-" in node and node.startswith("tests/attacks/test_attacks.py"):
        return True
    if any(node.startswith(prefix) and not _sampled(node, share) for prefix, share in SAMPLED.items()):
        return True
    return node.startswith(EXTENDED) and not node.startswith(DAILY) and "[docker" in node


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


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


def make_real(name: str, pools: Callable[[str], PoolServer] | None = None) -> Provider:
    if name.startswith("e2b-on-") and pools is not None:
        return E2bProvider(e2b_options(pools(name.removeprefix("e2b-on-"))))
    if name == "docker":
        return DockerProvider()
    return LocalProvider(cgroup="never" if name == "local-rlimits" else "require")


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
