"""Faults between the e2b provider and its pool: every verify ends right, or with no verdict, within its deadline."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import pytest
from e2b import AsyncSandbox

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.errors import ConfigurationError, Unavailable
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from tests.e2b.servers import PoolServer
from tests.remote.proxy import CREATE, EXTEND, HANG, INPUT, KILL, NOT_FOUND, PORT, START, Harm, Proxy

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
DEADLINE_S = 20.0
GRACE_S = 8.0
"""The end of a lost sandbox is asked for after the deadline, if need be, for a few seconds."""
ALWAYS = 10_000
TESTS = {"unit_tests": {"inputs": ["1\n", "2\n", "3\n"], "outputs": ["2\n", "4\n", "6\n"]}}
RIGHT = "import time\nn = int(input())\ntime.sleep(0.5)\nprint(2 * n)"
WRONG = "print(int(input()) + 1)"


def settings_of(url: str, folder: Path, **more: object) -> Settings:
    given = {
        "provider": "e2b", "e2b_api_url": url, "e2b_api_key": "any", "e2b_creates_per_s": 100, "state_dir": folder,
        "boxes": 2, "deadline_s": DEADLINE_S, **more,
    }  # fmt: skip
    return Settings.from_flat(given)


@pytest.fixture
async def engine(proxy: Proxy, tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(settings_of(proxy.url, tmp_path)) as opened:
        yield opened


async def reward(engine: Engine, source: str) -> float | None:
    """The reward; None for no verdict. It must come within the deadline."""
    task = parse_task(TESTS, limits=Limits(cpu_time_s=2, wall_time_s=8), early_stop=False)
    started = time.monotonic()
    try:
        return (await engine.verify(CodingVerifier(), task, Answer(f"```python\n{source}\n```"))).verdict.reward
    except Unavailable:
        return None
    finally:
        assert time.monotonic() - started < DEADLINE_S + GRACE_S


async def under_way(engine: Engine) -> None:
    """Until a verify has its sandbox, and a bit: RIGHT takes a second and a half there."""
    with anyio.fail_after(DEADLINE_S):
        while engine.stats()["leases"] == 0:
            await anyio.sleep(0.02)
    await anyio.sleep(0.4)


PASSING = {
    "429 at create": Harm(CREATE, "429"),
    "503 at create": Harm(CREATE, "503"),
    "500 without JSON at create": Harm(CREATE, "text"),
    "connection dropped at create": Harm(CREATE, "drop"),
    "502 not found at start": Harm(START, "502", message=NOT_FOUND),
    "502 port at start": Harm(START, "502", message=PORT),
    "stream dropped at start": Harm(START, "drop"),
    "502 not found at input": Harm(INPUT, "502", message=NOT_FOUND),
    "502 port at input": Harm(INPUT, "502", message=PORT),
    "502 of other words at input": Harm(INPUT, "502", message="bad gateway"),
    "503 at input": Harm(INPUT, "503"),
    "429 at input": Harm(INPUT, "429"),
    "input dropped": Harm(INPUT, "drop"),
    "500 without JSON at input": Harm(INPUT, "text"),
    "503 at kill": Harm(KILL, "503"),
    "503 at extension": Harm(EXTEND, "503"),
}


@pytest.mark.parametrize("name", PASSING)
async def test_a_fault_that_passes_costs_a_retry_and_no_verdict(engine: Engine, proxy: Proxy, name: str) -> None:
    harm = PASSING[name]
    proxy.harm(Harm(harm.where, harm.how, 1, harm.message))
    assert await reward(engine, RIGHT) == 1.0
    assert await reward(engine, WRONG) == 0.0
    assert proxy.done or harm.where in (KILL, EXTEND), "the fault took place"


@pytest.mark.parametrize("where", [CREATE, START, INPUT])
@pytest.mark.parametrize("how", ["429", "503", "502", "text", "drop", HANG])
async def test_a_fault_that_stays_gives_no_verdict_and_never_a_zero(
    engine: Engine, proxy: Proxy, where: str, how: str
) -> None:
    proxy.harm(Harm(where, how, ALWAYS, NOT_FOUND))
    assert await reward(engine, RIGHT) is None
    assert proxy.done
    proxy.harm()
    assert await reward(engine, RIGHT) == 1.0


async def test_input_that_hangs_costs_a_silence_and_another_sandbox(proxy: Proxy, tmp_path: Path) -> None:
    """While a guest starts, as here, a silence is borne for 30 seconds."""
    async with open_engine(settings_of(proxy.url, tmp_path, deadline_s=90)) as opened:
        proxy.harm(Harm(INPUT, "hang"))
        task = parse_task(TESTS, limits=Limits(cpu_time_s=2, wall_time_s=8), early_stop=False)
        verdict = (await opened.verify(CodingVerifier(), task, Answer(f"```python\n{RIGHT}\n```"))).verdict
        assert verdict.reward == 1.0
    assert len(proxy.done) == 1


async def test_a_stream_that_is_dropped_in_mid_run(engine: Engine, proxy: Proxy) -> None:
    rewards: list[float | None] = []

    async def verify() -> None:
        rewards.append(await reward(engine, RIGHT))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(verify)
        await under_way(engine)
        await proxy.drop_streams()
    assert rewards == [1.0]
    assert engine.stats()["crashes"] == 1


async def test_a_sandbox_that_is_killed_in_mid_run(engine: Engine, pools: Callable[[str], PoolServer]) -> None:
    rewards: list[float | None] = []
    url = pools("local").url

    async def verify() -> None:
        rewards.append(await reward(engine, RIGHT))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(verify)
        await under_way(engine)
        for one in await AsyncSandbox.list(api_key="any", api_url=url).next_items():
            await AsyncSandbox.kill(one.sandbox_id, api_key="any", api_url=url)
    assert rewards == [1.0]
    assert engine.stats()["crashes"] == 1


async def test_the_pool_is_gone_when_the_server_starts(tmp_path: Path) -> None:
    """It may come later: no reason to refuse."""
    async with open_engine(settings_of("http://127.0.0.1:9", tmp_path, deadline_s=5)) as engine:
        assert await reward(engine, RIGHT) is None


@pytest.mark.parametrize(
    ("how", "words"), [("401", "SANDBOX_GYM_E2B_API_KEY"), ("404", "E2B_TEMPLATES"), ("400", "no")]
)
async def test_what_no_retry_mends_is_named_at_the_start(proxy: Proxy, tmp_path: Path, how: str, words: str) -> None:
    proxy.harm(Harm(CREATE, how, ALWAYS))
    with pytest.raises(ConfigurationError, match=words):
        async with open_engine(settings_of(proxy.url, tmp_path)):
            pass
    assert len(proxy.done) == 1, "it was not asked again"
