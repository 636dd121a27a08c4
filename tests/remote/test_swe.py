"""Repositories built and judged in sandboxes of a pool: a fix resolves its row, test by test as on docker, a patch that
mends nothing does not, and what cheats on docker cheats nobody here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox_gym.contract import Outcome, Program, Run, Status
from sandbox_gym.errors import ProviderDown
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import BUILDER_IMAGE, SessionFolder
from sandbox_gym.sandbox.e2b.provider import E2bProvider
from sandbox_gym.sandbox.sandbox import Sandbox
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot
from tests.attacks.test_swe_attacks import FOLDERS, Judged, attacked, expected_signs, judged
from tests.conftest import e2b_options, remote_environment
from tests.e2b.servers import PoolServer
from tests.keeper import Keeper
from tests.swe.instance import INSTANCE, Client, Document, row, serving_swe

pytestmark = pytest.mark.timeout(1500)
FAST = (INSTANCE, "mako__mako-1.2.2", "sqlparse__sqlparse-0.5.0")
BUILD_S = 700.0
ATTACKS = (
    "14_replace_pytest_functions", "16_hostile_session", "18_pth_in_repository", "22_forge_channel_lines",
    "24_read_the_watcher", "25_kill_the_watcher", "41_git_history_peek", "45_conftest_for_the_next_runner",
    "47_leave_the_repository",
)  # fmt: skip
MENDS_NOTHING = (
    "diff --git a/notes.txt b/notes.txt\nnew file mode 100644\n--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1 @@\n+x\n"
)
BASH = {"op": "bash", "timeout_s": 60, "output_bytes": 4000}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("local", id="e2b-on-local"),
        pytest.param("docker", id="e2b-on-docker", marks=pytest.mark.extended),
    ],
)
def networked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PoolServer]:
    """A pool whose one tenant may have the network, which a build needs."""
    server = PoolServer(request.param, tmp_path_factory.mktemp("pool"), "--network", keys="")
    try:
        yield server
    finally:
        server.stop()
    assert "unexpected_error" not in server.log()


# -- rows and attacks


def built(url: str, one: Document) -> None:
    """Have the instance: on a busy machine that takes longer than any verdict may."""
    client = Client(url, one)
    client.http.timeout = BUILD_S
    try:
        client.seed()
    finally:
        client.close()


@pytest.fixture(scope="module")
def verdicts(
    networked: PoolServer, data_folder: Path, tmp_path_factory: pytest.TempPathFactory, whole: bool
) -> Iterator[dict[str, Future[Judged]]]:
    """All of them at work, some at once; each instance is built once, and in the daily run one."""
    folders = [folder for folder in FOLDERS if folder.name in ATTACKS]
    with (
        serving_swe("e2b", tmp_path_factory.mktemp("swe"), **remote_environment(networked)) as server,
        ThreadPoolExecutor(3) as pool,
    ):
        made: dict[str, Future[Judged]] = {}
        for name in FAST if whole else FAST[:1]:
            one: Document = row(data_folder, name)
            built(server.url, one)
            made[f"{name} fix"] = pool.submit(judged, server.url, one, one["patch"])
            made[f"{name} nothing"] = pool.submit(judged, server.url, one, MENDS_NOTHING)
        attacked_row = row(data_folder)
        made |= {folder.name: pool.submit(attacked, server.url, attacked_row, folder) for folder in folders}
        made["empty"] = pool.submit(judged, server.url, attacked_row, "")
        yield made
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", FAST)
def test_the_fix_resolves_test_by_test_and_nothing_does_not(
    verdicts: dict[str, Future[Judged]], data_folder: Path, name: str
) -> None:
    one = row(data_folder, name)
    fix, nothing = verdicts[f"{name} fix"].result().verdict, verdicts[f"{name} nothing"].result().verdict
    assert (fix["reward"], fix["resolved"], fix["verdict"]["tamper"]) == (1.0, True, []), fix["failure_reason"]
    assert fix["tests_status"] == {
        "FAIL_TO_PASS": {"success": one["FAIL_TO_PASS"], "failure": []},
        "PASS_TO_PASS": {"success": one["PASS_TO_PASS"], "failure": []},
    }
    assert (nothing["reward"], nothing["resolved"], nothing["evaluation_completed"]) == (0.0, False, True)
    assert nothing["tests_status"]["FAIL_TO_PASS"] == {"success": [], "failure": one["FAIL_TO_PASS"]}
    assert fix["verdict"]["isolation"] in ("namespace", "container")
    assert fix["verdict"]["integrity"] == "in_process"


def test_an_empty_patch_is_worth_nothing(verdicts: dict[str, Future[Judged]]) -> None:
    found = verdicts["empty"].result().verdict
    assert (found["reward"], found["failure_reason"]) == (0.0, "empty_patch")


@pytest.mark.parametrize("name", ATTACKS)
def test_what_cheats_nobody_on_docker_cheats_nobody_here(verdicts: dict[str, Future[Judged]], name: str) -> None:
    folder = next(one for one in FOLDERS if one.name == name)
    found = verdicts[name].result()
    assert (found.verdict["reward"], found.verdict["resolved"]) == (0.0, False), found.verdict["verdict"]
    assert expected_signs(folder) <= set(found.verdict["verdict"]["tamper"]), found.verdict["verdict"]
    assert "FOUND" not in found.seen


# -- the boxes


@pytest.fixture
async def keeper(networked: PoolServer, tmp_path: Path) -> AsyncIterator[Keeper]:
    provider = E2bProvider(e2b_options(networked), sessions=SessionFolder(tmp_path))
    made = Keeper(provider)
    yield made
    for one in await made.snapshots():
        await made.delete(one.snapshot_id)
    assert provider.doctor.costs()["running"] == 0
    await provider.aclose()


async def run(box: Sandbox, source: str) -> Outcome:
    program = Program("exec", {}, argv=("python3", "-I", "-c", source), workdir="/workspace")
    async with box.run_all([Run("one", program, b"", Limits(wall_time_s=60))]) as outcomes:
        return await anext(outcomes)


LOOK = """
import os, socket
def listed(path):
    try: return sorted(os.listdir(path))
    except PermissionError: return []
open('/workspace/d/new', 'w').write('mine'); open('/workspace/top', 'w').write('mine')
status = dict(line.split(':', 1) for line in open('/proc/self/status').read().strip().split('\\n'))
try: socket.create_connection(('127.0.0.1', %d), 2); reached = True
except OSError: reached = False
print(open('/workspace/d/f').read().strip(), os.stat('/workspace/d/f').st_uid == os.getuid(), listed('/home/user'),
      int(status['CapEff'], 16), reached, os.getuid() != 0, sorted(os.environ.get('E2B_SANDBOX', '')))
"""


@pytest.mark.anyio
async def test_a_box_begins_as_its_snapshot_and_nothing_of_it_comes_back(keeper: Keeper, networked: PoolServer) -> None:
    session = await keeper.open_builder(Limits(), BUILDER_IMAGE)
    _, body = await session.call(BASH, b"mkdir d; echo kept > d/f; id -u; git --version", within_s=60)
    assert b"git version" in body
    kept = await session.snapshot()
    await session.aclose()
    for _ in range(2):
        box = await keeper.open_box(Limits(), kept.snapshot_id)
        outcome = await run(box, LOOK % networked.port)
        assert outcome.status is Status.OK, outcome
        assert outcome.stdout == b"kept True [] 0 False True []\n", outcome
        assert not await box.reset()
        await box.aclose()
    again = await keeper.open_session(Limits(), kept.snapshot_id)
    _, body = await again.call(BASH, b"find /workspace -type f; cat d/f", within_s=60)
    assert body == b"/workspace/d/f\nkept\n"
    await again.aclose()


@pytest.mark.anyio
async def test_only_a_builder_has_the_network(keeper: Keeper, networked: PoolServer) -> None:
    reach = (
        f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {networked.port}), 2)\" && echo reached"
    )
    builder, session = await keeper.open_builder(Limits(), BUILDER_IMAGE), await keeper.open_session(Limits())
    for box, said in ((builder, b"reached\n"), (session, b"")):
        _, body = await box.call(BASH, f"{{ {reach}; }} 2>/dev/null".encode(), within_s=60)
        assert body == said
        await box.aclose()


@pytest.mark.anyio
async def test_what_there_is_no_template_for_is_named(keeper: Keeper) -> None:
    with pytest.raises(ProviderDown, match="SANDBOX_GYM_E2B_TEMPLATES"):
        await keeper.open_builder(Limits(), "swebench/sweb.eval.x86_64.none:latest")
    with pytest.raises(NoSuchSnapshot):
        await keeper.open_box(Limits(), "0123456789abcdef")
