"""The languages of the image polyglot-more: each of the eight ways that a run can end gets its verdict, hostile
programs get nothing, and what was compiled once is not compiled again.

On `local` those that this machine has; on docker all, in the whole run alone: the image takes minutes to build.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.errors import Starved
from sandbox_gym.verifiers.coding import CodingTask, CodingVerifier, parse_task
from tests.languages.further_programs import PROGRAMS, WAYS, expected, named

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[2]
HERE = [name for name in PROGRAMS if Path(named(name).toolchain).exists()]
DAILY = HERE[:2]
ON_LOCAL = [pytest.param("local", name, marks=[] if name in DAILY else pytest.mark.extended) for name in HERE]
EVERYWHERE = [*ON_LOCAL, *[pytest.param("docker", name, marks=pytest.mark.extended) for name in PROGRAMS]]
ENDLESS = ("spin", "sleep")
SECRET = "a-secret-of-this-machine"


@pytest.fixture
async def engine(provider: str, tmp_path: Path) -> AsyncIterator[Engine]:
    if provider == "docker":
        found = subprocess.run(["docker", "image", "inspect", "sandbox-gym/polyglot-more:latest"], capture_output=True)
        if found.returncode:
            subprocess.run([ROOT / "images" / "build.sh", "polyglot-more"], check=True, timeout=1700)
    async with open_engine(Settings(provider=provider, boxes=2, state_dir=tmp_path)) as engine:
        yield engine


async def judged(engine: Engine, language: str, source: str, *, time_limit_s: float = 3) -> Verdict:
    row: dict[str, object] = {"language": language, "time_limit_s": time_limit_s, "memory_limit_mb": 128}
    row["unit_tests"] = {"inputs": ["21\n"], "outputs": ["42\n"]}
    task = parse_task(row, limits=Settings().limits(), early_stop=True)
    return await verdict_of(engine, task, Answer(f"~~~~{language}\n{source}\n~~~~"))


async def verdict_of(engine: Engine, task: CodingTask, answer: Answer) -> Verdict:
    """Where the machine had too little CPU for one, the answer is sent again, as a client does."""
    while True:
        try:
            return (await engine.verify(CodingVerifier(), task, answer)).verdict
        except Starved:
            continue


@pytest.mark.parametrize(("provider", "name"), EVERYWHERE)
async def test_each_way_to_end_has_its_verdict(engine: Engine, provider: str, name: str) -> None:
    found: dict[str, tuple[str, str]] = {}
    wanted, reasons = dict(found), dict[str, str]()

    async def one(way: str, slots: anyio.Semaphore) -> None:
        async with slots:
            verdict = await judged(engine, name, PROGRAMS[name].program(way), time_limit_s=0.5 if way in ENDLESS else 3)
        wanted[way] = expected(named(name), way)
        found[way] = (verdict.contest, verdict.tests[0].status.value)
        reasons[way] = verdict.tests[0].reason
        assert verdict.reward == float(way == "right")

    async with anyio.create_task_group() as tasks:
        slots = anyio.Semaphore(2)
        for way in WAYS:
            if getattr(PROGRAMS[name], way):
                tasks.start_soon(one, way, slots)
    assert found == wanted, reasons
    assert ("wall" in reasons["spin"], "wall" in reasons.get("sleep", "wall")) == (False, True), reasons


@pytest.mark.parametrize(("provider", "name"), [one for one in EVERYWHERE if one.values[1] != "verilog"])
async def test_hostile_programs_get_nothing(engine: Engine, provider: str, name: str, tmp_path: Path) -> None:
    """It reads a file of this machine, connects to its loopback, and forks without end; then the next is judged."""
    (tmp_path / "secret").write_text(SECRET)
    reached = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)

        def listen() -> None:
            while server.fileno() >= 0:
                try:
                    server.accept()[0].close()
                    reached.set()
                except TimeoutError:
                    continue
                except OSError:
                    return

        thread = threading.Thread(target=listen)
        thread.start()
        port = server.getsockname()[1]
        commands = (
            f"cat {tmp_path}/secret /etc/shadow /proc/1/environ",
            f"bash -c 'echo x > /dev/tcp/127.0.0.1/{port}'",
            "bomb() { bomb | bomb & }; bomb; sleep 2",
        )
        shown = [str(await judged(engine, name, PROGRAMS[name].program("shell", command))) for command in commands]
        right = await judged(engine, name, PROGRAMS[name].program("right"))
    thread.join(5)
    assert right.reward == 1.0
    assert not reached.is_set()
    assert all(SECRET not in each and "root:" not in each for each in shown)


@pytest.mark.parametrize(
    ("provider", "name"), [one for one in EVERYWHERE if one.values[0] == "docker" and named(str(one.values[1])).compile]
)
async def test_what_was_compiled_is_not_compiled_again(engine: Engine, provider: str, name: str) -> None:
    source = PROGRAMS[name].program("right")
    first = await judged(engine, name, source)
    again = await judged(engine, name, source)
    assert (first.reward, again.reward) == (1.0, 1.0)
    assert again.timings_s.get("run", 0) < first.timings_s.get("run", 0), (first.timings_s, again.timings_s)


def test_this_machine_has_some() -> None:
    assert "perl" in HERE, os.environ.get("PATH")
