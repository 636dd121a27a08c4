"""The e2b provider against a pool: accounts, templates, orphans, lifetimes, costs, and what `doctor` and serve say."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest
from e2b import AsyncSandbox

from sandbox_gym.config import Settings
from sandbox_gym.contract import Dialogue, Program, Run, Status
from sandbox_gym.engine import open_engine
from sandbox_gym.errors import BoxLost, ConfigurationError, ProviderDown
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.cleanup.owner import this_owner
from sandbox_gym.sandbox.e2b.limits import E2bOptions, Gate, Meter
from sandbox_gym.sandbox.e2b.orphans import marks
from sandbox_gym.sandbox.e2b.provider import E2bProvider
from tests.e2b.servers import KEYS, PoolServer

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


async def ids(pool: PoolServer) -> set[str]:
    return {one.sandbox_id for one in await AsyncSandbox.list(api_key="any", api_url=pool.url).next_items()}


async def test_a_closed_box_is_killed_and_paid_for(provider: E2bProvider, pool: PoolServer) -> None:
    box = await provider.create(SandboxSpec())
    assert box.box_id in await ids(pool)
    assert (provider.doctor.costs()["created"], provider.doctor.costs()["running"]) == (1, 1)
    await anyio.sleep(1.1)
    await box.aclose()
    await box.aclose()
    assert box.box_id not in await ids(pool)
    assert provider.doctor.costs()["running"] == 0
    paid_for = provider.doctor.costs()["sandbox_seconds"]
    assert paid_for >= 1
    await anyio.sleep(1.1)
    assert provider.doctor.costs()["sandbox_seconds"] == paid_for


async def test_costs_are_metrics(pool: PoolServer, tmp_path: Path) -> None:
    settings = Settings.from_flat(
        {"provider": "e2b", "e2b_api_url": pool.url, "e2b_api_key": "any", "state_dir": tmp_path}
    )
    async with open_engine(settings) as engine:
        text = engine.metrics.text().decode()
    assert "sandbox_gym_e2b_created 1.0" in text, "the one that was made to see whether any can be"
    assert "sandbox_gym_e2b_sandbox_seconds" in text


async def test_orphans_of_a_dead_process_are_killed_and_no_others(provider: E2bProvider, pool: PoolServer) -> None:
    mine = await provider.create(SandboxSpec())
    script = """
import sys, anyio
from sandbox_gym.sandbox.e2b.provider import E2bProvider
from sandbox_gym.sandbox.e2b.limits import E2bOptions
from sandbox_gym.sandbox.api import SandboxSpec
async def main():
    box = await E2bProvider(E2bOptions(api_key="any", api_url=sys.argv[1], creates_per_s=100)).create(SandboxSpec())
    print(box.box_id, flush=True)
    import os; os._exit(9)
anyio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", script, pool.url], capture_output=True, text=True, timeout=60)
    orphan = done.stdout.strip()
    assert orphan in await ids(pool), done.stderr
    found = await provider.orphan_sources["e2b"].orphans()
    assert orphan in {one.name for one in found}
    assert mine.box_id not in {one.name for one in found}
    for one in found:
        await provider.orphan_sources["e2b"].remove(one)
        await provider.orphan_sources["e2b"].remove(one)
    assert orphan not in await ids(pool)
    assert mine.box_id in await ids(pool)
    await mine.aclose()


async def test_a_sandbox_that_is_somebody_elses_is_never_removed(provider: E2bProvider, pool: PoolServer) -> None:
    box = await AsyncSandbox.create(timeout=60, api_key="any", api_url=pool.url, sandbox_url=pool.url)
    assert box.sandbox_id not in {one.name for one in await provider.orphan_sources["e2b"].orphans()}
    assert str(this_owner()) in marks(1).values()
    await box.kill()


async def test_a_box_in_use_outlives_its_timeout_and_an_idle_one_expires(pool: PoolServer) -> None:
    options = E2bOptions(api_key="any", api_url=pool.url, creates_per_s=100, timeout_s=4)
    provider = E2bProvider(options)
    used, idle = await provider.create(SandboxSpec()), await provider.create(SandboxSpec())
    assert not idle.expired
    program = Program("fork", {"main.py": b"import time; time.sleep(7); print('done')"})
    async with used.run_all([Run("long", program, b"", Limits(wall_time_s=20))]) as outcomes:
        assert (await anext(outcomes)).stdout == b"done\n"
    assert idle.expired
    assert not await idle.reset()
    with pytest.raises(BoxLost):
        async with idle.run_all([Run("late", program, b"", Limits())]) as outcomes:
            await anext(outcomes)
    await used.aclose()
    await idle.aclose()
    await provider.aclose()


async def test_two_sandboxes_talk(provider: E2bProvider) -> None:
    asker, candidate = await provider.create(SandboxSpec()), await provider.create(SandboxSpec())
    asks = b"print(20)\nimport sys\nprint('got', input(), file=sys.stderr)"
    answers = b"print(int(input()) + 1)"
    dialogue = Dialogue(
        "talk",
        Run("asker", Program("fork", {"main.py": asks})),
        Run("candidate", Program("fork", {"main.py": answers})),
        channel="stdio",
    )
    outcome = await asker.converse(dialogue, candidate)
    assert (outcome.asker.status, outcome.asker.stderr) == (Status.OK, b"got 21\n")
    assert outcome.candidate.status is Status.OK
    await asker.aclose()
    await candidate.aclose()


async def test_account_limits_are_kept() -> None:
    gate = Gate(creates_per_s=10, most=2)
    started = time.monotonic()
    await gate.enter(1)
    await gate.enter(1)
    assert time.monotonic() - started >= 0.1
    with pytest.raises(ProviderDown, match="E2B_MAX_SANDBOXES"):
        await gate.enter(0.2)
    gate.leave()
    await gate.enter(1)
    with pytest.raises(RuntimeError, match="body"):
        async with Gate(10, 1).entered(1):
            raise RuntimeError("body")
    meter = Meter()
    meter.started("a")
    assert (meter.ended("a"), meter.ended("a"), meter.counts()["created"]) == (True, False, 1)


def test_templates_by_image() -> None:
    assert E2bOptions().template("python") == "base"
    assert E2bOptions(api_url="http://pool").template("math") == "math:root"
    assert E2bOptions(templates={"math": "mine"}).template("math") == "mine"


async def test_a_missing_template_and_a_sandbox_without_root_are_named(pool: PoolServer) -> None:
    for template, words in (("nonesuch:root", "E2B_TEMPLATES"), ("python", "root")):
        options = E2bOptions(api_key="any", api_url=pool.url, templates={"python": template}, creates_per_s=100)
        provider = E2bProvider(options)
        with pytest.raises(ConfigurationError, match=words):
            await provider.doctor.check()
        with pytest.raises(ProviderDown, match=words):  # a verify must not fail a server that is up
            await provider.create(SandboxSpec())
        assert provider.doctor.costs()["running"] == 0
        await provider.aclose()


async def test_root_is_for_tenants_that_may(tmp_path: Path) -> None:
    keys = f'[tenants.alice]\nkeys = ["{KEYS["alice"]}"]\nroot = true\n[tenants.bob]\nkeys = ["{KEYS["bob"]}"]\n'
    server = PoolServer("local", tmp_path, keys=keys)
    try:
        alice = E2bProvider(E2bOptions(api_key=KEYS["alice"], api_url=server.url))
        await alice.doctor.check()
        for key, words in ((KEYS["bob"], "root = true"), ("wrong-key-0123456789", "E2B_API_KEY")):
            with pytest.raises(ConfigurationError, match=words):
                await E2bProvider(E2bOptions(api_key=key, api_url=server.url)).doctor.check()
    finally:
        server.stop()


async def test_what_root_made_is_not_kept(pool: PoolServer) -> None:
    box = await AsyncSandbox.create("base:root", timeout=60, api_key="any", api_url=pool.url, sandbox_url=pool.url)
    assert (await box.commands.run("id -u", user="root")).stdout.strip() in ("0", "1000")
    for keep in (box.create_snapshot, box.pause, box.fork):
        with pytest.raises(Exception, match="can't be snapshotted"):
            await keep()
    await box.kill()


def test_doctor_has_rows(pool: PoolServer, tmp_path: Path) -> None:
    environment = {
        "PATH": "/usr/bin:/bin", "NO_COLOR": "1", "COLUMNS": "200", "SANDBOX_GYM_STATE_DIR": str(tmp_path),
        "SANDBOX_GYM_E2B_API_URL": pool.url, "SANDBOX_GYM_E2B_API_KEY": "any", "SANDBOX_GYM_E2B_CREATES_PER_S": "100",
    }  # fmt: skip
    command = [sys.executable, "-m", "sandbox_gym", "doctor", "--all", "--provider", "e2b"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("isolation: namespace", "e2b limits", pool.url, "template python:root", "works"):
        assert words in done.stdout
