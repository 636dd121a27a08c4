"""Agents' tools through a pool: snapshots that only one side knows of, accounts that bound them, and the math server's
stateful Python. What every provider of sessions promises is in tests/conformance and tests/engine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import httpx2 as httpx
import pytest
from e2b import AsyncSandbox

from sandbox_gym.config import Settings
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import SessionFolder
from sandbox_gym.sandbox.e2b import snapshots
from sandbox_gym.sandbox.e2b.limits import E2bOptions
from sandbox_gym.sandbox.e2b.provider import E2bProvider
from sandbox_gym.sandbox.e2b.snapshots import E2bSnapshots
from sandbox_gym.sandbox.registry import session_policy
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot
from tests.conftest import remote_environment
from tests.e2b.servers import PoolServer
from tests.keeper import Keeper
from tests.load.servers import ServerProcess
from tests.server.fakes import JSON

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
BASH = {"op": "bash", "timeout_s": 20, "output_bytes": 4000}


def keeper_of(provider: E2bProvider, folder: Path) -> Keeper:
    """Sessions on the provider's account, with a folder of their own."""
    return Keeper(E2bProvider(provider.options, sessions=SessionFolder(folder)))


def stored(keeper: Keeper) -> E2bSnapshots:
    assert isinstance(keeper.store, E2bSnapshots)
    return keeper.store


async def names(provider: E2bProvider) -> set[str]:
    """Those of all snapshots that the account has."""
    found: set[str] = set()
    pages = AsyncSandbox.list_snapshots(**provider.account.api)
    while pages.has_next:
        found.update(name for one in await pages.next_items() for name in one.names)
    return found


async def test_snapshots_that_one_side_forgot_go_and_those_of_others_stay(
    provider: E2bProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SETTLED_S", 0.0)
    ours, theirs = keeper_of(provider, tmp_path / "ours"), keeper_of(provider, tmp_path / "theirs")
    kept = []
    for keeper in (ours, theirs):
        session = await keeper.open_session(Limits())
        kept.append([await session.snapshot() for _ in range(2)])
        await session.aclose()
    assert len({name for name in await names(provider) if stored(ours).keeper in name}) == 2
    # a crash between the service's word and the record
    (tmp_path / "ours" / "snapshots" / f"{kept[0][0].snapshot_id}.json").unlink()
    # and one that somebody deleted at the service
    await AsyncSandbox.delete_snapshot(stored(ours).record(kept[0][1].snapshot_id).service_id, **provider.account.api)
    again = keeper_of(provider, tmp_path / "ours")
    assert await again.collect(budget_bytes=1 << 40, pinned=set()) == 0
    assert list(await again.snapshots()) == []
    with pytest.raises(NoSuchSnapshot):
        await again.open_session(Limits(), kept[0][1].snapshot_id)
    left = await names(provider)
    assert not {name for name in left if stored(ours).keeper in name}
    assert len({name for name in left if stored(theirs).keeper in name}) == 2
    for one in kept[1]:
        await theirs.delete(one.snapshot_id)
        await theirs.delete(one.snapshot_id)
    assert not {name for name in await names(provider) if stored(theirs).keeper in name}


async def test_a_snapshot_that_is_gone_at_the_service_is_none(provider: E2bProvider, tmp_path: Path) -> None:
    keeper = keeper_of(provider, tmp_path)
    session = await keeper.open_session(Limits())
    kept = await session.snapshot()
    await session.aclose()
    await AsyncSandbox.delete_snapshot(stored(keeper).record(kept.snapshot_id).service_id, **provider.account.api)
    with pytest.raises(NoSuchSnapshot):
        await keeper.open_session(Limits(), kept.snapshot_id)
    assert list(await keeper.snapshots()) == []
    assert keeper.provider.doctor.costs()["running"] == 0


async def test_a_session_is_nobodys_root_and_outlives_its_timeout(pool: PoolServer, tmp_path: Path) -> None:
    options = E2bOptions(api_key="any", api_url=pool.url, creates_per_s=100, timeout_s=4)
    provider = E2bProvider(options)
    keeper = keeper_of(provider, tmp_path)
    session = await keeper.open_session(Limits())
    _, body = await session.call(BASH, b"id -u; grep CapEff /proc/self/status | cut -f2; echo kept > f", within_s=30)
    assert body.split() == [b"1000", b"0" * 16]
    assert session.isolation == "namespace"
    await anyio.sleep(6)  # longer than an orphan lives, without a call
    _, body = await session.call(BASH, b"cat f", within_s=30)
    assert body == b"kept\n"
    await session.aclose()
    await provider.aclose()


async def test_what_an_agent_leaves_in_its_home_does_not_run_before_the_driver(
    provider: E2bProvider, tmp_path: Path
) -> None:
    keeper = keeper_of(provider, tmp_path)
    session = await keeper.open_session(Limits())
    trap = b"for n in .bash_profile .profile .bash_login .bashrc; do echo 'touch /tmp/pwned' > /home/user/$n; done; "
    await session.call(BASH, trap + b'mkdir json; echo \'open("/tmp/pwned", "w")\' > json/__init__.py', within_s=30)
    kept = await session.snapshot()
    await session.aclose()
    again = await keeper.open_session(Limits(), kept.snapshot_id)
    _, body = await again.call(BASH, b"ls -A /tmp; ls -A /home/user | wc -l", within_s=30)
    assert body == b"5\n"
    await again.aclose()
    await keeper.delete(kept.snapshot_id)


async def test_a_dead_process_leaves_a_sandbox_that_is_found_and_a_snapshot_that_is_kept(
    pool: PoolServer, provider: E2bProvider, tmp_path: Path
) -> None:
    script = """
import os, sys, anyio
from pathlib import Path
from sandbox_gym.sandbox.api import SandboxSpec, SessionFolder
from sandbox_gym.sandbox.e2b.provider import E2bProvider
from sandbox_gym.sandbox.e2b.limits import E2bOptions
from sandbox_gym.sandbox.session.session import open_session
async def main():
    options = E2bOptions(api_key="any", api_url=sys.argv[1], creates_per_s=100)
    provider = E2bProvider(options, sessions=SessionFolder(Path(sys.argv[2])))
    session = await open_session(provider, SandboxSpec(role="session"))
    await session.call({"op": "bash", "timeout_s": 20, "output_bytes": 100}, b"echo kept > f", within_s=30)
    print(session.box_id, (await session.snapshot()).snapshot_id, flush=True)
    os._exit(9)
anyio.run(main)
"""
    command = [sys.executable, "-c", script, pool.url, str(tmp_path)]
    done = await anyio.run_process(command, check=False)
    orphan, snapshot_id = done.stdout.decode().split()
    found = [one for one in await provider.orphan_sources["e2b"].orphans() if one.name == orphan]
    assert len(found) == 1, done.stderr
    await provider.orphan_sources["e2b"].remove(found[0])
    assert orphan not in {one.name for one in await provider.orphan_sources["e2b"].orphans()}
    again = keeper_of(provider, tmp_path)
    session = await again.open_session(Limits(), snapshot_id)
    assert (await session.call(BASH, b"cat f", within_s=30))[1] == b"kept\n"
    await session.aclose()
    await again.delete(snapshot_id)


def test_sessions_leave_verifies_their_sandboxes() -> None:
    given = {"provider": "e2b", "boxes": 4, "e2b_max_sandboxes": 20}
    assert session_policy(Settings.from_flat(given)).live == 16
    assert session_policy(Settings.from_flat({**given, "e2b_max_sandboxes": 3})).live == 1
    assert session_policy(Settings.from_flat({**given, "provider": "local"})).live == 64


def test_math_keeps_a_python(pool: PoolServer, tmp_path: Path) -> None:
    with (
        ServerProcess("e2b", tmp_path, settings=remote_environment(pool), server="math") as server,
        httpx.Client(base_url=server.url, timeout=60) as agent,
    ):
        for code, said in (("x = 20", ""), ("x + 1", "21"), ("1 / 0", "ZeroDivisionError: division by zero")):
            reply = agent.post("/stateful_python_code_exec", content=json.dumps({"code": code}), headers=JSON)
            assert reply.status_code == 200, reply.text
            assert said in reply.text
