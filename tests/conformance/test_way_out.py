"""A network allow-list, on every provider that holds sessions: what is listed is reached by proxy, and nothing else."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from sandbox_gym.errors import ProviderDown
from sandbox_gym.network import Network
from sandbox_gym.sandbox.api import SessionFolder
from sandbox_gym.sandbox.e2b.limits import E2bOptions
from sandbox_gym.sandbox.e2b.provider import E2bProvider
from tests.conformance.test_caps import NOBODY
from tests.conformance.way_out import (
    LIMITS,
    LISTED,
    NETWORK,
    UNLISTED,
    check,
    check_closed,
    check_life,
    local_sessions,
    page,
)
from tests.conftest import make_real
from tests.e2b.servers import KEYS, PoolServer
from tests.in_compose import REPOSITORY, in_compose
from tests.keeper import Keeper

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
TENANTS = f"""
[tenants.alice]
keys = ["{KEYS["alice"]}"]
creates_per_s = 100
allow_out = ["{LISTED}", "*.example.com"]
"""


@pytest.fixture
def port() -> Iterator[int]:
    with page() as number:
        yield number


@pytest.fixture(params=["local", "docker", "podman", "e2b-on-local", "e2b-on-docker"])
async def keeper(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Keeper]:
    async with AsyncExitStack() as stack:
        kind = request.param
        if kind == "local":
            yield await stack.enter_async_context(local_sessions(tmp_path))
        elif not kind.startswith("e2b-on-"):
            provider = make_real(kind, sessions=SessionFolder(tmp_path))
            stack.push_async_callback(provider.aclose)
            yield Keeper(provider, NETWORK)
        else:
            pool = PoolServer(kind.removeprefix("e2b-on-"), tmp_path, keys=TENANTS)
            stack.callback(pool.stop)
            options = E2bOptions(api_key=KEYS["alice"], api_url=pool.url, creates_per_s=100)
            remote = E2bProvider(options, sessions=SessionFolder(tmp_path))
            stack.push_async_callback(remote.aclose)
            yield Keeper(remote, NETWORK)


async def test_what_is_listed_is_reached_and_nothing_else(keeper: Keeper, port: int) -> None:
    await check_life(keeper, port)


async def test_an_ordinary_user_has_it_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("nobody")
    for parent in (folder, *folder.parents):
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(0o755)
    folder.chmod(0o777)
    command = [*NOBODY, sys.executable, "-m", "tests.conformance.way_out", str(folder / "state")]
    environment = {**os.environ, "HOME": "/nonexistent"}
    done = await anyio.run_process(command, cwd=REPOSITORY, env=environment, check=False)
    assert done.stdout.endswith(b"as user 65534: reached what is listed\n"), done.stderr.decode()[-3000:]


async def test_without_a_list_there_is_no_way_out(tmp_path: Path, port: int) -> None:
    async with local_sessions(tmp_path, Network()) as keeper:
        box = await keeper.open_session(LIMITS)
        await check_closed(box, port)
        await box.aclose()


async def test_a_warm_room_gets_it_and_nothing_is_left_of_it(tmp_path: Path, port: int) -> None:
    async with local_sessions(tmp_path) as keeper:
        for _ in range(2):
            await keeper.provider.prepare()
            box = await keeper.open_session(LIMITS)
            await check(box, port)
            await box.aclose()
            handles = len(os.listdir("/proc/self/fd"))
        assert len(os.listdir("/proc/self/fd")) == handles


async def test_where_no_door_can_be_made_there_is_no_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never one without the list that was asked for, nor with more of the network."""
    async with local_sessions(tmp_path) as keeper:
        monkeypatch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(ProviderDown, match="can't be entered"):
            await keeper.open_session(LIMITS)


def test_compose_says_that_it_has_none() -> None:
    """Containers beside a server in a container are not its to enter."""
    source = (
        "import anyio, sys; from pathlib import Path; from sandbox_gym.errors import ProviderDown; "
        "from sandbox_gym.sandbox.docker.provider import DockerProvider; from sandbox_gym.network import Network; "
        "from sandbox_gym.sandbox.api import SandboxSpec, SessionFolder\n"
        "async def main():\n"
        " provider = DockerProvider(sessions=SessionFolder(Path('/tmp/kept')))\n"
        " network = Network(allow=('127.0.0.2',))\n"
        " try: await provider.create(SandboxSpec(role='session', network=network))\n"
        " except ProviderDown as error: print(error)\n"
        "anyio.run(main)"
    )
    done = subprocess.run(in_compose("-c", source), capture_output=True, text=True, timeout=120)
    assert "let the server run on the Docker Engine's machine" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("beneath", ["local", "docker"])
def test_rules_by_the_sdk(tmp_path: Path, beneath: str, port: int) -> None:
    """`network` of create and update_network, pause, fork, and who may have what."""
    from e2b import Sandbox, SandboxException

    pool = PoolServer(beneath, tmp_path, keys=TENANTS)
    where = pool.where("alice")
    rules = {"allow_out": [LISTED], "deny_out": ["0.0.0.0/0"]}

    def gets(sandbox: Sandbox, address: str = LISTED) -> bool:
        source = f"import urllib.request as u; print(u.urlopen('http://{address}:{port}/', timeout=20).read())"
        return "a page" in sandbox.commands.run(f'python3 -c "{source}" 2>&1 || true').stdout

    def knocked(sandbox: Sandbox) -> int:
        """What others are told who take the way out for one of the sandbox's ports."""
        connection = http.client.HTTPConnection("127.0.0.1", pool.port, timeout=30)
        connection.request("GET", f"http://{LISTED}:{port}/", headers={"Host": f"3128-{sandbox.sandbox_id}.example"})
        status = connection.getresponse().status
        connection.close()
        return status

    try:
        with pytest.raises(SandboxException, match=rf"'{UNLISTED}' is not among what this tenant may reach"):
            Sandbox.create(network={"allow_out": [LISTED, UNLISTED]}, **where)
        with pytest.raises(SandboxException, match="no host name"):
            Sandbox.create(network={"allow_out": ["example.com:443"]}, **where)
        sandbox = Sandbox.create(timeout=120, network=rules, **where)  # type: ignore[arg-type]
        info = sandbox.get_info()
        assert info.allow_internet_access is True
        assert info.network is not None
        assert info.network["allow_out"] == [LISTED]
        assert info.network["deny_out"] == ["0.0.0.0/0"]
        assert gets(sandbox)
        assert not gets(sandbox, UNLISTED)
        assert knocked(sandbox) == 502
        [fork] = sandbox.fork()
        assert isinstance(fork, Sandbox)
        assert gets(fork)
        fork.kill()
        sandbox.pause()
        sandbox = Sandbox.connect(sandbox.sandbox_id, timeout=120, **where)
        assert gets(sandbox)
        sandbox.update_network({"allow_out": ["www.example.com"], "deny_out": ["0.0.0.0/0"]})
        assert not gets(sandbox)
        sandbox.update_network({"allow_out": [LISTED], "deny_out": ["0.0.0.0/0"]})
        assert gets(sandbox)
        with pytest.raises(SandboxException, match="not among"):
            sandbox.update_network({"allow_out": ["8.8.8.8"], "deny_out": ["0.0.0.0/0"]})
        sandbox.update_network({"deny_out": ["0.0.0.0/0"]})
        assert not gets(sandbox)
        assert sandbox.get_info().allow_internet_access is False
        sandbox.pause()
        with pytest.raises(SandboxException, match="is paused"):
            sandbox.update_network({"allow_out": [LISTED], "deny_out": ["0.0.0.0/0"]})
        sandbox = Sandbox.connect(sandbox.sandbox_id, timeout=120, **where)
        assert not gets(sandbox)
        [fork] = sandbox.fork()
        assert isinstance(fork, Sandbox)
        assert not gets(fork)
        fork.update_network({})
        assert gets(fork)
        fork.kill()
        with pytest.raises(SandboxException, match="egressProxy"):
            sandbox.update_network({"egress_proxy": {"address": "proxy.example.com:1080"}})
        sandbox.update_network({})  # all that the tenant may reach
        assert gets(sandbox)
        sandbox.update_network({"deny_out": ["0.0.0.0/0"]})
        assert knocked(sandbox) == 502
        sandbox.kill()
        for wishes, granted in (({}, True), ({"allow_internet_access": False}, False)):
            sandbox = Sandbox.create(timeout=120, **wishes, **where)  # type: ignore[arg-type]
            assert gets(sandbox) is granted
            sandbox.kill()
    finally:
        pool.stop()
    assert "unexpected_error" not in pool.log()
