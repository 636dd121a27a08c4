"""A steady load while things die at random: every verify gets one right verdict, or none with a cause; nothing is left.

`SANDBOX_GYM_CHAOS_VERIFIES` says how many (200 unless set), `SANDBOX_GYM_CHAOS_SEED` which story, and
`SANDBOX_GYM_CHAOS_REPORT` where the counts go, a line a run.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2 as httpx
import pytest

from tests.load.servers import ServerProcess, free_port
from tests.load.test_http import body

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]
VERIFIES = int(os.environ.get("SANDBOX_GYM_CHAOS_VERIFIES", "200"))
SEED = int(os.environ.get("SANDBOX_GYM_CHAOS_SEED", "1"))
REPORT = os.environ.get("SANDBOX_GYM_CHAOS_REPORT", "")
DOCKER = os.environ.get("DOCKER", "docker")


@dataclass
class Story:
    """One run: the server that is to live through it, what became of each verify, and what was done to it."""

    provider: str
    start: Callable[[], ServerProcess]
    server: ServerProcess
    random: random.Random
    filler: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=60))
    rewards: dict[int, list[float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    deeds: Counter[str] = field(default_factory=Counter)
    over: bool = False


def wanted(number: int) -> tuple[dict[str, object], float]:
    """A verify and its right reward: right, wrong, crashing, hungry and slow answers in turn."""
    tests = [str(number + test) for test in range(3)]
    doubled = [str(2 * int(text)) for text in tests]
    sources = {
        0: ("print(2 * int(input()))", 1.0),
        1: ("print(int(input()))", 0.0),
        2: ("import os\nos.abort()", 0.0),
        3: ("import time\ntime.sleep(0.2)\nprint(2 * int(input()))", 1.0),
        4: ("kept = []\nwhile True: kept.append(bytes(1_000_000) + b'x')", 0.0),
    }
    source, reward = sources[number % 5]
    return body(source, tests, doubled), reward


async def verify(story: Story, client: httpx.AsyncClient, number: int) -> None:
    """Ask until there is a verdict, as a trainer does: again after a refusal, again when the server was gone."""
    request, _reward = wanted(number)
    with anyio.fail_after(300):
        while number not in story.rewards:
            try:
                reply = await client.post(f"{story.server.url}/verify", json=request, timeout=60)
            except httpx.TransportError:
                story.refused["connection lost"] += 1
                await anyio.sleep(0.3)
                continue
            if reply.status_code == 200:
                document = reply.json()
                story.rewards.setdefault(number, []).append(document["reward"])
                if document["reward"] != wanted(number)[1]:
                    story.wrong.append(f"{number}: {document['verdict']}")
                return
            document = reply.json()
            assert reply.status_code in (429, 503), reply.text
            assert document["mask_sample"] is True
            assert document["failure_kind"]
            story.refused[document["failure_kind"]] += 1
            await anyio.sleep(min(1.0, float(reply.headers["Retry-After"])))


def jails(story: Story) -> list[int]:
    """The outermost processes of the server's local boxes."""
    children = Path(f"/proc/{story.server.process.pid}/task/{story.server.process.pid}/children")
    with contextlib.suppress(OSError):
        return [int(pid) for pid in children.read_text().split()]
    return []


def containers(story: Story) -> list[str]:
    """Ids of the server's containers: their label names its pid."""
    listed = subprocess.run(
        [DOCKER, "ps", "--filter", "label=sandbox-gym.owner", "--format", "{{.ID}} {{.Names}}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    mark = f"-{story.server.process.pid}-"
    return [line.split()[0] for line in listed.stdout.splitlines() if mark in line]


def kill_a_box(story: Story) -> bool:
    if found := jails(story):
        with contextlib.suppress(ProcessLookupError):
            os.kill(story.random.choice(found), signal.SIGKILL)
        return True
    if boxes := containers(story):
        subprocess.run([DOCKER, "kill", story.random.choice(boxes)], capture_output=True, check=False)
        return True
    return False


def freeze_a_box(story: Story) -> bool:
    if found := jails(story):
        top = story.random.choice(found)
        for pid in [top, *_descendants(top)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        return True
    if boxes := containers(story):
        subprocess.run([DOCKER, "pause", story.random.choice(boxes)], capture_output=True, check=False)
        return True
    return False


def _descendants(top: int) -> list[int]:
    found, level = [], [top]
    while level:
        below: list[int] = []
        for pid in level:
            with contextlib.suppress(OSError):
                below += [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        found += below
        level = below
    return found


def cut_a_connection(story: Story) -> bool:
    """The guest of a box is killed, in the middle of whatever frame it was writing: its channel ends there."""
    boxes = [pid for top in jails(story) for pid in _descendants(top)[:1]]
    if not boxes:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(story.random.choice(boxes), signal.SIGKILL)
    return True


def kill_the_server(story: Story) -> bool:
    story.server.stop(signal.SIGKILL)
    story.server = story.start()
    return True


def restart_the_engine(story: Story) -> bool:
    """dockerd ends, and its containers with it; only where something brings it back."""
    if story.provider != "docker" or "SANDBOX_GYM_TEST_DOCKERD_COMES_BACK" not in os.environ:
        return False
    if story.deeds["restart_the_engine"] >= 2:
        return False
    os.kill(int(Path("/var/run/docker.pid").read_text()), signal.SIGTERM)
    return True


def fill_the_disk(story: Story) -> bool:
    """A session writes more than all snapshots together may take, again and again."""
    with contextlib.suppress(httpx.TransportError):
        body = {"command": "head -c 3000000 /dev/urandom > f$RANDOM; ls | wc -l", "timeout_s": 20}
        story.filler.post(f"{story.server.url}/bash", json=body)
        return True
    return False


DEEDS = [kill_a_box, freeze_a_box, cut_a_connection, kill_the_server, restart_the_engine, fill_the_disk]


def let_go_of_the_disk(story: Story) -> None:
    """The session still answers, and goes when its rollout ends."""
    for _ in range(30):
        reply = story.filler.post(f"{story.server.url}/bash", json={"command": "echo alive"})
        if reply.status_code == 200 and "alive" in reply.json()["output"]:
            break
        time.sleep(1)  # the Engine may be on its way back
    assert "alive" in reply.text, reply.text
    story.filler.post(f"{story.server.url}/seed_session", json={})
    story.server.wait_for(lambda health: health["sessions"]["closed"] >= 1)
    story.filler.close()


async def misfortune(story: Story) -> None:
    """Something at random every half second, a killed server now and then."""
    while not story.over:
        await anyio.sleep(story.random.uniform(0.3, 0.9))
        deed = story.random.choices(DEEDS, [6, 3, 4, 1, 1, 3])[0]
        if not story.over and await anyio.to_thread.run_sync(deed, story):
            story.deeds[deed.__name__] += 1


def left_behind(folder: Path) -> set[str]:
    """What of ours is on this machine: control groups of the dead, mounts of the state folder, containers."""
    # what the killed left is removed by the next server, or by this
    environment = {**os.environ, "SANDBOX_GYM_STATE_DIR": str(folder / "state")}
    for provider in ("local", "docker"):
        subprocess.run(
            [sys.executable, "-m", "sandbox_gym", "pool", "gc"],
            env={**environment, "SANDBOX_GYM_PROVIDER": provider},
            capture_output=True, check=True, timeout=120,
        )  # fmt: skip
    groups = {str(path) for path in Path("/sys/fs/cgroup").glob("*/sandbox_gym/*-*-*-*-*") if not _owner_lives(path)}
    mounts = {line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(folder) in line}
    command = [DOCKER, "ps", "-aq", "--filter", "label=sandbox-gym.owner"]
    listed = subprocess.run(command, capture_output=True, check=True, timeout=60)
    images = subprocess.run(
        [DOCKER, "images", "-q", "--filter", "label=sandbox-gym.keeper"], capture_output=True, check=True
    )
    return groups | mounts | set((listed.stdout + images.stdout).decode().split())


def _owner_lives(group: Path) -> bool:
    return Path(f"/proc/{group.name.split('-')[2]}").exists()


@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_every_verify_gets_one_right_verdict_and_nothing_is_left(provider: str, tmp_path: Path) -> None:
    port = free_port()
    settings = {
        "SANDBOX_GYM_MEMORY_LIMIT_MB": "128",
        "SANDBOX_GYM_TIME_LIMIT_S": "5",
        "SANDBOX_GYM_SNAPSHOT_DISK_MB": "4",
        "SANDBOX_GYM_SESSION_CHECKPOINT_S": "0.2",
    }

    def start() -> ServerProcess:
        return ServerProcess(provider, tmp_path, port, settings)

    before = await anyio.to_thread.run_sync(left_behind, tmp_path)
    story = Story(provider, start, start(), random.Random(SEED))
    started = time.monotonic()
    numbers = iter(range(VERIFIES))
    async with httpx.AsyncClient() as client, anyio.create_task_group() as chaos:
        chaos.start_soon(misfortune, story)

        async def worker() -> None:
            for number in numbers:
                await verify(story, client, number)

        async with anyio.create_task_group() as workers:
            for _ in range(8):
                workers.start_soon(worker)
        story.over = True
    await anyio.to_thread.run_sync(let_go_of_the_disk, story)
    story.server.stop()
    facts = {
        "verifies": len(story.rewards),
        "refused": dict(story.refused),
        "deeds": dict(story.deeds),
        "seconds": round(time.monotonic() - started),
    }
    if REPORT:
        with Path(REPORT).open("a") as file:
            file.write(json.dumps({"provider": provider, **facts}) + "\n")
    assert story.wrong == [], facts
    assert sorted(story.rewards) == list(range(VERIFIES))
    assert all(len(rewards) == 1 for rewards in story.rewards.values())
    assert sum(story.deeds.values()) >= 3, "nothing happened: the load was too short"
    assert await anyio.to_thread.run_sync(left_behind, tmp_path) - before == set()
