"""Work that can't be made a patch: no reward where the agent brought that about, no verdict where the machine did."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sandbox_gym.engine import Engine
from sandbox_gym.errors import BoxLost, ProviderDown, SandboxShort, SessionClosed
from sandbox_gym.sandbox.session.manager import ToolReply
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.swe import yardstick
from sandbox_gym.server.swe.left_work import LeftWork, left_work
from sandbox_gym.server.swe.patch import PatchFailed
from sandbox_gym.server.swe.tools import SweTools
from tests.load.servers import ServerProcess, free_port
from tests.swe.test_lost_work import FIX, Agent, serving

REFUSED = PatchFailed("patch", "can't be made", "mend it")
SHORT = SandboxShort("EAGAIN")
LATE = PatchFailed("patch", "took over 120 s", "remove what is large")
LATE.late = True


class Played:
    """Sessions and tools at once: what the agent's session answers, in turn, and what an untouched one does."""

    def __init__(self, own: list[object], untouched: object, times: Sequence[bytes]) -> None:
        self.own, self.untouched, self.open, self.times = own, untouched, set[str](), list(times)

    def base_of(self, session_id: str) -> str | None:
        return "snapshot" if session_id == "agent" else None

    def begin(self, session_id: str, snapshot_id: str) -> None:
        assert snapshot_id == "snapshot"
        self.open.add(session_id)

    async def close(self, session_id: str) -> None:
        self.open.remove(session_id)

    async def call(self, session_id: str, request: Mapping[str, object], *_: object, **_times: float) -> ToolReply:
        assert session_id in self.open, "the agent's own session is not asked how busy the machine is"
        took = self.times.pop(0)
        sizes = {"sizes": [0, 0, 0], "stderr_sizes": [len(took), 0, 0]}
        return ToolReply({"ok": True, "exit_code": 0, "timed_out": False, **sizes}, took)

    async def patch(self, engine: Engine, call: ToolCall, client: object = None) -> bytes:
        found = self.own.pop(0) if call.session_id == "agent" else self.untouched
        assert call.session_id == "agent" or call.session_id in self.open
        if isinstance(found, Exception):
            raise found
        return cast(bytes, found)


async def left(own: list[object], untouched: object = b"", times: Sequence[bytes] = (), cpus: float = 1.0) -> LeftWork:
    played = Played(own, untouched, times)
    try:
        return await left_work(cast(Engine, SimpleNamespace(sessions=played)), cast(SweTools, played), "agent", cpus)
    finally:
        assert not played.open
        assert not played.own
        assert not played.times


@pytest.mark.anyio
@pytest.mark.parametrize("second", [REFUSED, SHORT])
@pytest.mark.parametrize("first", [REFUSED, SHORT])
async def test_an_agents_own_doing_is_told_by_an_untouched_session(first: Exception, second: Exception) -> None:
    found = await left([first, second])
    assert (found.patch, str(second) in found.why_none) == (b"", True)
    assert await left([first, b"diff"]) == LeftWork(b"diff")
    with pytest.raises(BoxLost):
        await left([first], untouched=second)
    with pytest.raises(ProviderDown):
        await left([first], untouched=ProviderDown("none"))
    with pytest.raises(BoxLost):
        await left([first, SessionClosed("gone")])


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("own", "times", "cpus", "agents"),
    [
        ([LATE, LATE], [b"0.500 0.490 0.010\n", b"0.600 0.490 0.010\n"], 1.0, True),
        ([LATE, LATE], [b"0.500 0.490 0.010\n", b"5.000 0.490 0.010\n"], 1.0, False),
        ([LATE], [b"2.000 0.490 0.010\n"], 1.0, False),
        ([LATE, LATE], [b"2,000 0,490 0,010\n", b"2.000 0.490 0.010\n"], 0.25, True),
        ([LATE], [b"bash: no\n"], 1.0, False),
        ([LATE], [b"0.000 0.000 0.000\n"], 1.0, False),
        ([LATE, REFUSED], [b"0.500 0.490 0.010\n"], 1.0, True),
        ([REFUSED, LATE], [b"9.000 0.490 0.010\n"], 1.0, False),
    ],
    ids=["idle", "busy then", "busy", "own quota", "unknown", "nothing", "then refused", "refused first"],
)
async def test_work_that_takes_too_long_is_an_agents_where_the_machine_has_time(
    own: list[object], times: list[bytes], cpus: float, agents: bool
) -> None:
    if agents:
        assert (await left(list(own), times=times, cpus=cpus)).why_none
    else:
        with pytest.raises(BoxLost):
            await left(list(own), times=times, cpus=cpus)


@pytest.mark.anyio
async def test_late_work_that_comes_at_last_is_judged() -> None:
    assert await left([LATE, b"diff"], times=[b"0.500 0.490 0.010\n"]) == LeftWork(b"diff")


@pytest.mark.skipif(shutil.which("bash") is None, reason="sessions have a bash")
def test_the_yardstick_tells_its_times() -> None:
    ran = subprocess.run(["bash", "-p", "-c", yardstick._WORK], capture_output=True, check=True)
    assert yardstick._TIMES.search(ran.stderr), ran.stderr


@pytest.mark.anyio
async def test_work_that_is_there_or_gone_asks_no_other_session() -> None:
    assert await left([b"diff"], untouched=REFUSED) == LeftWork(b"diff")
    assert await left([BoxLost("once"), b"diff"], untouched=REFUSED) == LeftWork(b"diff")
    with pytest.raises(BoxLost):
        await left([SessionClosed("gone")])
    with pytest.raises(BoxLost):
        await left([BoxLost("once"), BoxLost("twice")])


BROKEN = {
    "no repository": "rm -rf .git",
    "another one": "rm -rf .git; git init -q .",
    "a folder that nobody may enter": "chmod 000 .",
    "no work tree": "git config core.bare true; git config core.worktree /tmp",
    "a pipe in a file's place": "name=$(git ls-files '*.py' | head -n 1); rm $name; mkfifo $name",
    "no objects": "rm -rf .git/objects; mkdir .git/objects",
    "a patch above the limit": "head -c 20000000 /dev/urandom > large",
    "a filter that fails": "echo '* filter=x' > .gitattributes; git config filter.x.clean false; "
    "git config filter.x.required true",
    "no scratch folder": "chmod 000 /tmp/.",
    "a disk without inodes": "mkdir m; (cd m; seq 200000 | xargs touch) 2>&1 | tail -1",
}
MESSY = {
    "a commit": "git add -A; git -c user.name=a -c user.email=a@b commit -qm x",
    "a HEAD of nothing": "echo ref: refs/heads/none > .git/HEAD",
    "locks": "touch .git/index.lock .git/HEAD.lock",
    "no index": "rm .git/index",
    "a PATH of nothing": "export PATH=/nowhere",
    "variables of git's": "export GIT_DIR=/tmp GIT_INDEX_FILE=/nowhere GIT_EXTERNAL_DIFF=false",
    "settings": "git config diff.external false; git config core.fsmonitor /bin/false; git config core.hooksPath /tmp",
    "links, sockets, pipes": "ln -s /nowhere a; mkfifo b; "
    "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('c')\"",
    "a branch": "git checkout -q -b other; git branch -D master main 2>&1 | tail -1",
    "a process that goes on": "(sleep 300 >/dev/null 2>&1 &)",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(tmp_path_factory.mktemp("left"), free_port()) as running:
        yield running


def judged(server: ServerProcess, *commands: str) -> dict[str, Any]:
    with Agent() as agent:
        agent.seed(server)
        agent.bash(server, FIX)
        for command in commands:
            agent.post(server, "/bash", {"command": command})
        reply = agent.verify(server)
        found: dict[str, Any] = reply.json()
        assert (reply.status_code, found.get("mask_sample", False)) == (200, False), reply.text[:500]
        return found


@pytest.mark.extended
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", BROKEN)
def test_a_repository_that_an_agent_broke_is_worth_nothing(server: ServerProcess, name: str) -> None:
    found = judged(server, BROKEN[name])
    assert (found["reward"], found["failure_reason"].partition(":")[0]) == (0.0, "no_patch"), found["failure_reason"]


@pytest.mark.extended
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(4))
def test_what_agents_leave_does_not_cost_the_reward(server: ServerProcess, seed: int) -> None:
    names = random.Random(seed).sample(sorted(MESSY), 3)
    names.sort(key=lambda name: name == "a PATH of nothing")
    assert judged(server, *(MESSY[name] for name in names))["reward"] == 1.0, names


def test_every_mess_is_made() -> None:
    made = {name for seed in range(4) for name in random.Random(seed).sample(sorted(MESSY), 3)}
    assert len(made) >= len(MESSY) - 2
