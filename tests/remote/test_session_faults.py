"""Faults between held sessions and their pool: a call is answered, or says that its sandbox was lost, or is refused for
now; what was kept is there afterwards. docs/guides/operator/e2b.md has the table."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import pytest
from e2b import AsyncSandbox

from sandbox_gym.errors import DeadlineExceeded, ProviderDown
from sandbox_gym.limits import Limits, Policy
from sandbox_gym.sandbox.api import SessionFolder
from sandbox_gym.sandbox.e2b import snapshots
from sandbox_gym.sandbox.e2b.limits import E2bOptions
from sandbox_gym.sandbox.e2b.provider import E2bProvider
from sandbox_gym.sandbox.session.holding import holding
from sandbox_gym.sandbox.session.manager import Sessions, ToolReply
from tests.e2b.servers import PoolServer
from tests.remote.proxy import CREATE, EXTEND, HANG, INPUT, KILL, NOT_FOUND, PORT, START, Harm, Proxy

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
KEEP, FORGET, LIST = "/snapshots HTTP", "DELETE /templates/", "GET /snapshots"
ALWAYS = 10_000
CALL_S = 10.0


@pytest.fixture
async def sessions(proxy: Proxy, tmp_path: Path) -> AsyncIterator[Sessions]:
    options = E2bOptions(api_key="any", api_url=proxy.url, creates_per_s=100)
    provider = E2bProvider(options, sessions=SessionFolder(tmp_path))
    policy = Policy(idle_s=1000, checkpoint_s=1000)
    async with holding(provider, tmp_path / "held", Limits(), policy) as held:
        yield held
        proxy.harm()
        await held.close("s")
    assert provider.doctor.costs()["running"] == 0
    await provider.aclose()


async def bash(sessions: Sessions, command: str, deadline_s: float = 90) -> ToolReply:
    """A call; the answer comes in time, whatever it is."""
    started = time.monotonic()
    request = {"op": "bash", "timeout_s": CALL_S, "output_bytes": 4000}
    try:
        return await sessions.call("s", request, command.encode(), timeout_s=CALL_S, deadline_s=deadline_s)
    finally:
        assert time.monotonic() - started < deadline_s + 10


async def begin(sessions: Sessions) -> None:
    """A session with a file that is kept, and one that is not yet."""
    await bash(sessions, "echo kept > f")
    await sessions.checkpoint("s")
    await bash(sessions, "echo later > g")


OPENING = {
    "429 at create": Harm(CREATE, "429"),
    "503 at create": Harm(CREATE, "503"),
    "500 without JSON at create": Harm(CREATE, "text"),
    "connection dropped at create": Harm(CREATE, "drop"),
    "502 not found at start": Harm(START, "502", message=NOT_FOUND),
    "502 port at start": Harm(START, "502", message=PORT),
    "stream dropped at start": Harm(START, "drop"),
    "502 not found at the driver's source": Harm(INPUT, "502", message=NOT_FOUND),
    "driver's source dropped": Harm(INPUT, "drop"),
}


@pytest.mark.parametrize("name", OPENING)
async def test_a_fault_while_a_session_is_opened_costs_another_sandbox(
    sessions: Sessions, proxy: Proxy, name: str
) -> None:
    harm = OPENING[name]
    proxy.harm(Harm(harm.where, harm.how, 1, harm.message))
    reply = await bash(sessions, "echo fine")
    assert (reply.body, reply.lost, reply.restored) == (b"fine\n", False, False)
    assert proxy.done, "the fault took place"


@pytest.mark.parametrize("where", [CREATE, START, INPUT])
@pytest.mark.parametrize("how", ["429", "503", "502", "drop", HANG])
async def test_a_fault_that_stays_refuses_the_call_and_loses_nothing(
    sessions: Sessions, proxy: Proxy, where: str, how: str
) -> None:
    await begin(sessions)
    await sessions.hibernate("s")
    proxy.harm(Harm(where, how, ALWAYS, NOT_FOUND))
    with pytest.raises((ProviderDown, DeadlineExceeded)):
        await bash(sessions, "echo", deadline_s=12)
    proxy.harm()
    reply = await bash(sessions, "cat f g")
    assert (reply.body, reply.lost) == (b"kept\nlater\n", False)


@pytest.mark.parametrize(("how", "words"), [("401", "E2B_API_KEY"), ("404", "E2B_TEMPLATES"), ("400", "no")])
async def test_what_no_retry_mends_is_named_and_the_server_lives_on(
    sessions: Sessions, proxy: Proxy, how: str, words: str
) -> None:
    proxy.harm(Harm(CREATE, how, ALWAYS))
    with pytest.raises(ProviderDown, match=words):
        await bash(sessions, "echo")
    proxy.harm()
    assert (await bash(sessions, "echo fine")).body == b"fine\n"


CALLING = {
    "502 not found at input": Harm(INPUT, "502", message=NOT_FOUND),
    "502 port at input": Harm(INPUT, "502", message=PORT),
    "502 of other words at input": Harm(INPUT, "502", message="bad gateway"),
    "503 at input": Harm(INPUT, "503"),
    "429 at input": Harm(INPUT, "429"),
    "500 without JSON at input": Harm(INPUT, "text"),
    "input dropped": Harm(INPUT, "drop"),
    "input hangs": Harm(INPUT, "hang"),
}


@pytest.mark.parametrize("name", CALLING)
async def test_a_fault_in_a_call_is_told_and_the_session_goes_on_from_its_snapshot(
    sessions: Sessions, proxy: Proxy, name: str
) -> None:
    await begin(sessions)
    harm = CALLING[name]
    proxy.harm(Harm(harm.where, harm.how, 1, harm.message))
    reply = await bash(sessions, "echo said; echo done >> g")
    again = await bash(sessions, "cat f; cat g 2>/dev/null")
    assert proxy.done, "the fault took place"
    if harm.how == "429":  # refused for now, and said again
        assert (reply.body, reply.lost, again.body) == (b"said\n", False, b"kept\nlater\ndone\n")
    else:  # nobody knows whether it arrived, so it is not said twice
        assert reply.lost
        assert (again.body, again.restored) == (b"kept\n", True)


async def harmed_mid_call(sessions: Sessions, harm: Callable[[], object]) -> ToolReply:
    replies: list[ToolReply] = []

    async def slow() -> None:
        replies.append(await bash(sessions, "echo begun >> g; sleep 5; echo done >> g"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(slow)
        await anyio.sleep(1.5)
        await harm()  # type: ignore[misc]
    return replies[0]


async def test_a_stream_that_is_dropped_in_mid_call(sessions: Sessions, proxy: Proxy) -> None:
    await begin(sessions)
    assert (await harmed_mid_call(sessions, proxy.drop_streams)).lost
    again = await bash(sessions, "ls")
    assert (again.body, again.restored) == (b"f\n", True)


async def test_a_sandbox_that_is_killed_in_mid_call(sessions: Sessions, pools: Callable[[str], PoolServer]) -> None:
    await begin(sessions)
    box = sessions._sessions["s"].box
    assert box is not None

    async def kill() -> None:
        assert await AsyncSandbox.kill(box.box_id, api_key="any", api_url=pools("local").url)

    assert (await harmed_mid_call(sessions, kill)).lost
    again = await bash(sessions, "ls")
    assert (again.body, again.restored) == (b"f\n", True)


@pytest.mark.parametrize("how", ["429", "503", "502", "507", "text", "drop", "hang"])
async def test_a_session_that_can_not_be_kept_stays_awake_with_all_it_has(
    sessions: Sessions, proxy: Proxy, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "KEEP_S", 6.0)
    await begin(sessions)
    proxy.harm(Harm(KEEP, how, ALWAYS))
    await sessions.hibernate("s")
    assert (sessions.live, sessions.stats.snapshot_failures) == (1, 1)
    proxy.harm()
    reply = await bash(sessions, "cat f g")
    assert (reply.body, reply.restored) == (b"kept\nlater\n", False)
    await sessions.hibernate("s")
    assert sessions.live == 0
    assert (await bash(sessions, "cat f g")).body == b"kept\nlater\n"


@pytest.mark.parametrize("where", [FORGET, LIST, KILL, EXTEND])
@pytest.mark.parametrize("how", ["503", "drop"])
async def test_what_can_not_be_cleared_away_now_is_later(
    sessions: Sessions, proxy: Proxy, where: str, how: str
) -> None:
    await begin(sessions)
    proxy.harm(Harm(where, how, ALWAYS))
    await sessions.checkpoint("s")
    await sessions.hibernate("s")
    assert (await bash(sessions, "cat f g")).body == b"kept\nlater\n"
    proxy.harm()
    await sessions.checkpoint("s")
    await sessions.budget.collect()
    store = sessions.store
    assert isinstance(store, snapshots.E2bSnapshots)
    assert len(await store.all()) == 1
    assert len(await store.listed()) == 1
