"""The cluster's code over nodes in this process, with real local sandboxes: lost, hung and drained nodes, sessions."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from fastapi.testclient import TestClient

from sandbox_gym.cluster.engine import open_cluster
from sandbox_gym.cluster.fleet import NodeLink
from sandbox_gym.cluster.inprocess import InProcessFleet, OpenNode
from sandbox_gym.cluster.membership import Pace
from sandbox_gym.cluster.messages import NodeLost, Pong, read_reply
from sandbox_gym.cluster.node import Node, open_node
from sandbox_gym.cluster.plan_runner import ClusterPlanRunner
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Query, Verdict
from sandbox_gym.engine import Engine, local_engine, open_engine
from sandbox_gym.errors import ConfigurationError, DeadlineExceeded, SessionClosed, Unavailable
from sandbox_gym.plans.runner import Caller
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.server.app import build_app
from sandbox_gym.server.protocol.resources import JudgingEngine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from sandbox_gym.verifiers.math import MathTask, MathVerifier
from tests.server.fakes import EchoResources, EchoVerifier, verify_body

pytestmark = pytest.mark.anyio
FAST = Pace(look_s=0.1, ping_s=0.1, lost_s=3.0)
DOUBLE, WRONG = "print(2 * int(input()))", "print(3 * int(input()))"


def node_of(settings: Settings, sessions: str = "") -> OpenNode:
    return lambda: open_node(settings, sessions=sessions)


def nodes_of(engine: Engine) -> dict[str, dict[str, str | int]]:
    assert isinstance(engine.runner, ClusterPlanRunner)
    return engine.runner.nodes()


@dataclass
class Running:
    engine: Engine
    fleet: InProcessFleet
    folders: dict[str, Path]

    def status(self, node: str) -> str:
        return str(nodes_of(self.engine).get(node, {}).get("status"))

    async def until(self, true: Callable[[], bool]) -> None:
        with anyio.fail_after(20):
            while not true():
                await anyio.sleep(0.02)


@asynccontextmanager
async def cluster(
    tmp_path: Path, *, count: int = 3, provider: str = "local", sessions: str = "", pace: Pace = FAST, boxes: int = 2
) -> AsyncIterator[Running]:
    folders = {f"n{number}": tmp_path / f"n{number}" for number in range(count)}
    made: dict[str, OpenNode] = {}
    base = Settings.model_validate({"provider": provider, "boxes": boxes, "session_checkpoint_s": 0.2})
    for name, folder in folders.items():
        folder.mkdir()
        made[name] = node_of(base.model_copy(update={"state_dir": folder}), sessions)
    async with anyio.create_task_group() as tasks:
        fleet = InProcessFleet(tasks, made)
        async with open_cluster(fleet, base, pace=pace) as engine:
            running = Running(engine, fleet, folders)
            await running.until(lambda: engine.stats()["nodes_up"] == count)
            yield running
        tasks.cancel_scope.cancel()


def row(tests: int = 2, **more: object) -> dict[str, object]:
    numbers = [str(number) for number in range(1, tests + 1)]
    return {"unit_tests": {"inputs": numbers, "outputs": [str(2 * int(n)) for n in numbers]}, **more}


async def verdict(engine: JudgingEngine, code: str, metadata: object = None, **caller: float) -> Verdict:
    task = parse_task(metadata or row(), limits=Settings().limits(), early_stop=True)
    asks = Caller(deadline_s=caller.get("deadline_s"))
    return (await engine.verify(CodingVerifier(), task, Answer(code), caller=asks)).verdict


def shape(one: Verdict) -> tuple[object, ...]:
    return (
        one.reward,
        one.failure_reason,
        one.isolation,
        one.provider,
        [(test.index, test.status) for test in one.tests],
    )


async def test_verdicts_are_those_of_one_machine(tmp_path: Path) -> None:
    slow = "import time\nn = int(input())\ntime.sleep(0.15)\nprint(2 * n if n != 3 else 0)"
    cases = [
        (DOUBLE, row(5)),
        (WRONG, row(5)),
        (slow, row(8)),  # the third fails, long before the last has run
        (slow, row(8, early_stop=False)),
        ("no code at all", row()),
        ("raise SystemExit(3)", row()),
        ("while True: pass", row(1, time_limit_s=0.3)),
        ("print('x' * 10**8)", row(1)),
        ("def double(n): return 2 * n", {"unit_tests": {"fn_name": "double", "inputs": ["1"], "outputs": ["2"]}}),
        (
            "def double(n):\n    return 2 * n",
            {"test": "def check(candidate):\n    assert candidate(2) == 4\n", "entry_point": "double"},
        ),
    ]
    async with cluster(tmp_path) as running, open_engine(Settings(state_dir=tmp_path)) as here:
        for code, metadata in cases:
            there = await verdict(running.engine, code, metadata)
            assert shape(there) == shape(await verdict(here, code, metadata)), (code, metadata)
            assert set(there.timings_s) >= {"queue", "judge"}
        for engine in (running.engine, here):
            assert f"sandbox_gym_verify_seconds_count {len(cases)}.0\n".encode() in engine.metrics.text()


async def test_a_failed_test_ends_the_run_at_the_node(tmp_path: Path) -> None:
    """The expected outputs are here, the program there: the word that it failed gets there before the tests end."""
    async with cluster(tmp_path, count=1) as running:
        slow = "import time; n = int(input()); time.sleep(0.3); print(2 * n if n > 1 else 0)"
        failed = await verdict(running.engine, slow, row(40))
        assert failed.reward == 0.0
        assert [test.status.value for test in failed.tests][:2] == ["wrong_answer", "skipped"]
        assert failed.timings_s["run"] < 20 * 0.3


async def many(running: Running, count: int, after: Callable[[int], None]) -> list[Verdict]:
    """`count` verdicts, every third of a wrong answer; `after` is told how many there are."""
    code = "import time; time.sleep(0.1); "
    found: list[Verdict | None] = [None] * count
    done = 0

    async def one(number: int) -> None:
        nonlocal done
        found[number] = await verdict(running.engine, code + (WRONG if number % 3 == 0 else DOUBLE))
        done += 1
        after(done)

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(one, number)
    return [one for one in found if one is not None]


def rewards(verdicts: list[Verdict]) -> list[float]:
    return [one.reward for one in verdicts]


def expected(count: int) -> list[float]:
    return [float(number % 3 != 0) for number in range(count)]


async def test_a_lost_node_costs_no_verdict(tmp_path: Path) -> None:
    async with cluster(tmp_path) as running:
        verdicts = await many(running, 60, lambda done: running.fleet.lose("n1") if done == 15 else None)
        assert rewards(verdicts) == expected(60)
        stats = running.engine.stats()
        assert stats["losses"] == 1
        assert stats["rescheduled"] >= 1
        assert max(one.attempts for one in verdicts) == 2
        assert running.status("n1") in ("lost", "None")


async def test_a_node_that_hangs_costs_no_verdict(tmp_path: Path) -> None:
    async with cluster(tmp_path) as running:
        verdicts = await many(running, 45, lambda done: running.fleet.hang("n2") if done == 10 else None)
        assert rewards(verdicts) == expected(45)
        assert running.engine.stats()["losses"] >= 1


async def pool_stats(link: NodeLink) -> Mapping[str, int]:
    """What a node says of its pool."""
    return read_reply(Pong, await link.ask("ping", b"")).stats


async def test_a_drained_node_finishes_what_it_has_and_gets_nothing_new(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=2) as running:
        link = running.fleet.link("n0")
        begun = anyio.Event()
        long = "import time; time.sleep(1.5); " + DOUBLE
        results: list[Verdict] = []

        async def one() -> None:
            begun.set()
            results.append(await verdict(running.engine, long, row(1)))

        async with anyio.create_task_group() as tasks:
            for _ in range(4):  # every slot of both nodes
                tasks.start_soon(one)
            await begun.wait()
            with anyio.fail_after(10):
                while (await pool_stats(link))["leases"] < 2:
                    await anyio.sleep(0.02)
            await link.ask("drain", b"")
            await running.until(lambda: running.status("n0") == "draining")
            leases = (await pool_stats(link))["leases"]
        assert rewards(results) == [1.0] * 4
        assert running.engine.stats()["rescheduled"] == 0
        assert rewards(await many(running, 12, lambda done: None)) == expected(12)
        assert (await pool_stats(link))["leases"] == leases
        await link.ask("undrain", b"")
        await running.until(lambda: running.status("n0") == "up")


async def test_a_drained_node_refuses_what_was_on_its_way(tmp_path: Path) -> None:
    """Between a node's being told and the server's hearing of it a plan may be sent there; it goes elsewhere."""
    async with cluster(tmp_path, count=2, pace=Pace(look_s=0.1, ping_s=60, lost_s=3)) as running:
        await running.fleet.link("n0").ask("drain", b"")
        assert running.status("n0") == "up"
        assert rewards(await many(running, 12, lambda done: None)) == expected(12)
        assert running.status("n0") == "draining"
        assert running.engine.stats()["losses"] == 0


async def test_a_node_that_makes_no_sandboxes_is_left_alone_for_a_while(tmp_path: Path) -> None:
    """It has the most room of all, so it would get every plan first."""

    @asynccontextmanager
    async def node(provider: FakeProvider, boxes: int) -> AsyncIterator[Node]:
        pool = Pool(provider, boxes=boxes, box_max_tasks=8, queue_size=100)
        async with anyio.create_task_group() as tasks:
            yield Node(local_engine(pool, attempts=1).runner, boxes, tasks, None)
            tasks.cancel_scope.cancel()
        await pool.aclose()

    broken = FakeProvider(down=True)
    async with anyio.create_task_group() as tasks:
        fleet = InProcessFleet(tasks, {"big": lambda: node(broken, 50), "small": lambda: node(FakeProvider(), 2)})
        async with open_cluster(fleet, Settings(provider="fake"), pace=FAST) as engine:
            with anyio.fail_after(5):
                while engine.stats()["nodes_up"] < 2:
                    await anyio.sleep(0.01)
            for _ in range(20):
                assert (await engine.verify(EchoVerifier(), "", Answer("pass"))).verdict.reward == 1.0
            assert engine.stats()["rescheduled"] == 1
            assert nodes_of(engine)["big"]["status"] == "sick"
            assert "down" in str(nodes_of(engine)["big"]["why"])
        tasks.cancel_scope.cancel()


async def test_without_an_answer_in_time_there_is_no_verdict(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=1, provider="fake", pace=Pace(lost_s=60)) as running:
        running.fleet.hang("n0")
        with pytest.raises(DeadlineExceeded):
            await verdict(running.engine, DOUBLE, deadline_s=0.5)
        assert running.engine.stats()["leased"] == 0


async def test_every_node_lost_is_no_verdict_and_a_new_one_gives_them_again(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=1) as running:
        running.fleet.lose("n0")
        with pytest.raises(Unavailable):
            await verdict(running.engine, DOUBLE, deadline_s=1.0)
        assert b'node_up{node="n0"}' not in running.engine.metrics.text()
        folder = tmp_path / "later"
        folder.mkdir()
        running.fleet.add("n7", node_of(Settings(boxes=2, state_dir=folder)))
        assert (await verdict(running.engine, DOUBLE, deadline_s=20.0)).reward == 1.0


async def test_a_client_that_leaves_frees_the_nodes_slot(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=1) as running:
        with anyio.move_on_after(0.7):
            await verdict(running.engine, "import time; time.sleep(9)", row(1))
        link = running.fleet.link("n0")
        with anyio.fail_after(5):
            while (await pool_stats(link))["leased"]:
                await anyio.sleep(0.05)


async def test_no_node_that_works_is_an_error_at_the_start(tmp_path: Path) -> None:
    broken = Settings(state_dir=tmp_path, local_python=Path("/nowhere/python3"))

    async def start() -> None:
        async with anyio.create_task_group() as tasks:
            fleet = InProcessFleet(tasks, {"n0": node_of(broken)})
            async with open_cluster(fleet, broken, pace=FAST):
                raise AssertionError("it started")

    with pytest.raises(BaseExceptionGroup) as caught:
        await start()
    assert caught.group_contains(ConfigurationError, match="no node of the cluster can hold sandboxes: n0: ")


async def test_math_is_judged_by_services_on_the_nodes(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=2) as running:
        for answer, reward in (("\\boxed{2\\sin(x)\\cos(x)}", 1.0), ("\\boxed{3\\sin(x)\\cos(x)}", 0.0)):
            task = MathTask("$\\sin(2x)$")
            found = await running.engine.verify(MathVerifier(), task, Answer(answer))
            (judgement,) = found.judgements
            assert (found.verdict.reward, found.verdict.isolation) == (reward, "namespace")
            assert isinstance(judgement.plan.steps[0], Query)
            assert judgement.state is not None


def test_the_server_shows_its_nodes(tmp_path: Path) -> None:
    @asynccontextmanager
    async def engine() -> AsyncIterator[JudgingEngine]:
        async with cluster(tmp_path, count=2, provider="fake") as running:
            yield running.engine

    with TestClient(
        build_app(EchoResources(), engine, Settings(provider="fake")), base_url="http://localhost"
    ) as client:
        assert client.post("/verify", json=verify_body()).json()["reward"] == 1.0
        health = client.get("/health").json()
        assert {name: node["status"] for name, node in health["nodes"].items()} == {"n0": "up", "n1": "up"}
        assert health["stats"]["slots"] == 4
        metrics = client.get("/metrics").text
        assert 'sandbox_gym_node_up{node="n0"} 1.0' in metrics
        assert 'sandbox_gym_node_slots{node="n1"} 2.0' in metrics
        assert "sandbox_gym_cluster_nodes_up 2.0" in metrics


# -- sessions


async def bash(engine: Engine, session: str, command: str) -> tuple[str, bool, bool]:
    """What it printed; whether the session was restored before it, or lost in it."""
    assert engine.sessions is not None
    request = {"op": "bash", "timeout_s": 20, "output_bytes": 4096}
    done = await engine.sessions.call(session, request, command.encode(), timeout_s=20)
    return done.body.decode(), done.restored, done.lost


def home_of(running: Running, session: str) -> str:
    """The node whose folder has the session's record."""
    found = [
        name for name, folder in running.folders.items() for path in folder.rglob("held/*.json")
        if json.loads(path.read_text())["session_id"].startswith(f"{session}#")
    ]  # fmt: skip
    return found[0] if found else ""


async def test_sessions_stay_on_their_node_and_nodes_share_them(tmp_path: Path) -> None:
    async with cluster(tmp_path, sessions="coding-1") as running:
        for number in range(6):
            assert (await bash(running.engine, f"s{number}", f"echo {number} >kept; cat kept"))[0] == f"{number}\n"
        for number in range(6):
            assert await bash(running.engine, f"s{number}", "cat kept") == (f"{number}\n", False, False)
        await running.until(lambda: all(home_of(running, f"s{number}") for number in range(6)))
        assert Counter(home_of(running, f"s{n}") for n in range(6)) == {"n0": 2, "n1": 2, "n2": 2}


async def test_a_lost_nodes_session_goes_on_where_its_folder_can_be_read(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=2, sessions="coding-1") as running:
        await bash(running.engine, "s", "mkdir -p deep/er && echo work >deep/er/file && export WORD=kept")
        await running.until(lambda: home_of(running, "s") != "")
        running.fleet.lose(home_of(running, "s"))
        await running.until(lambda: running.engine.stats()["losses"] == 1)
        output, restored, lost = await bash(running.engine, "s", "cat deep/er/file; echo $WORD")
        assert (output, restored, lost) == ("work\nkept\n", True, False)
        assert not list(running.folders["n0"].rglob("held/*.json")) or not list(
            running.folders["n1"].rglob("held/*.json")
        )
        assert running.engine.sessions is not None
        assert running.engine.sessions.stats_dict()["moved_to_another_node"] == 1


async def test_a_session_whose_folder_is_gone_says_so_until_it_begins_anew(tmp_path: Path) -> None:
    async with cluster(tmp_path, count=2, sessions="coding-1") as running:
        await bash(running.engine, "s", "echo work >file")
        await running.until(lambda: home_of(running, "s") != "")
        home = home_of(running, "s")
        running.fleet.lose(home)
        await running.until(lambda: running.engine.stats()["losses"] == 1)
        await running.until(lambda: not list(running.folders[home].rglob("owners/*.lock")))
        shutil.rmtree(running.folders[home])  # a machine's own disk, of which nobody else has anything
        for _ in range(2):
            with pytest.raises(NodeLost, match="seed it again"):
                await bash(running.engine, "s", "cat file")
        assert running.engine.sessions is not None
        running.engine.sessions.discard("s")
        assert (await bash(running.engine, "s", "ls"))[0] == ""
        await running.engine.sessions.close("s")
        with pytest.raises(SessionClosed):
            await bash(running.engine, "s", "ls")


async def test_a_new_server_finds_the_sessions_of_the_old_one(tmp_path: Path) -> None:
    for name in ("n0", "n1"):
        (tmp_path / name).mkdir()
    base = Settings(boxes=2, session_checkpoint_s=0.2)
    made = {n: node_of(base.model_copy(update={"state_dir": tmp_path / n}), "coding-1") for n in ("n0", "n1")}
    for word, seen in (("first", ""), ("second", "first\n")):
        async with anyio.create_task_group() as tasks:
            async with open_cluster(InProcessFleet(tasks, made), base, pace=FAST) as engine:
                with anyio.fail_after(20):
                    while engine.stats()["nodes_up"] < 2:
                        await anyio.sleep(0.02)
                assert (await bash(engine, "s", f"cat kept; echo {word} >kept"))[0].endswith(seen)
            tasks.cancel_scope.cancel()


async def test_a_session_that_nobody_calls_is_forgotten(tmp_path: Path) -> None:
    made = {"n0": node_of(Settings(boxes=2, state_dir=tmp_path), "coding-1")}
    async with anyio.create_task_group() as tasks:
        async with open_cluster(InProcessFleet(tasks, made), Settings(session_ttl_s=1.0), pace=FAST) as engine:
            await bash(engine, "a", "true")
            await bash(engine, "b", "true")
            assert engine.sessions is not None
            await anyio.sleep(1.2)
            assert (await bash(engine, "c", "true"))[0] == ""
            assert "a" not in engine.sessions
            assert engine.sessions.stats_dict()["bound"] == 1
        tasks.cancel_scope.cancel()
