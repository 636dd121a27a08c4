"""Replies as long as a box may send: they cost their own answer its reward, and nobody else anything."""

from __future__ import annotations

import importlib
import time

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Run, Verdict
from sandbox_gym.engine import Engine, local_engine, open_engine
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task, result_metadata
from sandbox_gym.verifiers.coding.functions.wire import parse_reply

ROW = {"unit_tests": {"fn_name": "f", "inputs": ["1"], "outputs": ["1"]}}
HONEST = "def f(x):\n    return x"
BODIES = {
    "deep": '"[" * (16 << 20)',
    "rows": '\'{"value":["l",[\' + \'["l",[]],\' * 1_700_000 + "1]]}"',
    "strings": '\'{"value":["l",[\' + \'"",\' * 5_000_000 + "1]]}"',
    "digits": '\'{"value":\' + "9" * (15 << 20) + "}"',
    "escapes": '\'{"value":"\' + r"\\n" * (7 << 20) + \'"}\'',
    "as many as may be": '\'{"value":["l",[\' + \'["l",[]],\' * 120_000 + "1]]}"',
}
FLOOD = """
import os
def f(x):
    body = ({body}).encode()
    data = len(body).to_bytes(4, "big") + body
    while data:
        data = data[os.write(3, data):]
    os._exit(0)
"""


async def _judged(engine: Engine, source: str) -> Verdict:
    task = parse_task(ROW, limits=Settings().limits(), early_stop=True)
    return (await engine.verify(CodingVerifier(), task, Answer(f"```python\n{source}\n```"))).verdict


LEFT = {
    "objects": "class P: pass\n\n\ndef f(x):\n    x[0] = P()\n    return 1",
    "a cycle": "def f(x):\n    x.append(x)\n    return 1",
    "a function": "def f(x):\n    x[0] = f\n    return 1",
    "a generator": "def f(x):\n    x[0] = (each for each in x)\n    return 1",
    "many parts": "def f(x):\n    x += [0] * 3_000_000\n    return 1",
    "depth": "def f(x):\n    for _ in range(300):\n        x[0] = [x[0]]\n    return 1",
}


@pytest.mark.anyio
@pytest.mark.parametrize("processes", ["auto", "own"])
async def test_what_a_function_leaves_in_its_arguments_is_its_own(processes: str) -> None:
    row = {"unit_tests": {"fn_name": "f", "inputs": ["[1]", "[2]"], "outputs": ["1", "1"]}, "processes": processes}
    task = parse_task(row, limits=Settings().limits(), early_stop=True)
    async with open_engine(Settings(provider="local", boxes=2)) as engine:
        for name, source in LEFT.items():
            verdict = (await engine.verify(CodingVerifier(), task, Answer(f"```python\n{source}\n```"))).verdict
            assert verdict.reward == 1.0, (name, verdict.tests)


@pytest.mark.anyio
async def test_verifies_beside_hostile_replies_lose_no_sandbox() -> None:
    verdicts: dict[str, list[Verdict]] = {}

    async def judged(name: str, source: str) -> None:
        verdicts.setdefault(name, []).append(await _judged(engine, source))

    async with open_engine(Settings(provider="local", boxes=3)) as engine, anyio.create_task_group() as tasks:
        for name, body in BODIES.items():
            tasks.start_soon(judged, name, FLOOD.format(body=body))
            for _ in range(3):
                tasks.start_soon(judged, "honest", HONEST)
    assert {verdict.reward for verdict in verdicts.pop("honest")} == {1.0}
    assert {name for name, [verdict] in verdicts.items() if verdict.reward} == set()
    assert {verdict.attempts for some in verdicts.values() for verdict in some} == {1}
    assert engine.stats()["crashes"] == 0


def _longest_reply(run: Run) -> Behaviour:
    """As many parts as are read at all: the most work that one reply can make."""
    body = b'{"value":["l",[' + b'["f","0x1.8p-900"],' * 160_000 + b"1]]}"
    return Behaviour(channel=len(body).to_bytes(4, "big") + body)


@pytest.mark.anyio
async def test_the_loop_turns_while_replies_are_read() -> None:
    """A reading takes many turns of the loop; blocking it, it would take none."""
    gaps: list[float] = []

    async def tick() -> None:
        while True:
            began = time.perf_counter()
            await anyio.sleep(0)
            gaps.append(time.perf_counter() - began)

    engine = local_engine(Pool(FakeProvider(_longest_reply), boxes=1, box_max_tasks=8, queue_size=8))
    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        verdict = await _judged(engine, HONEST)
        tasks.cancel_scope.cancel()
    assert verdict.tests[0].reason.startswith("got [1.774")
    assert max(gaps) < (time.perf_counter() - began) / 2


@pytest.mark.anyio
async def test_a_reply_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Early stop, the verdict and code_gen's metadata all want to know what came."""
    seen: list[int] = []

    def counted(channel: bytes) -> dict[str, object]:
        seen.append(len(channel))
        return parse_reply(channel)

    monkeypatch.setattr(importlib.import_module("sandbox_gym.verifiers.coding.judging.judge"), "parse_reply", counted)
    body = b'{"value":2}'
    behave = Behaviour(channel=len(body).to_bytes(4, "big") + body)
    engine = local_engine(Pool(FakeProvider(lambda run: behave), boxes=1, box_max_tasks=8, queue_size=8))
    task = parse_task(ROW, limits=Settings().limits(), early_stop=True)
    verification = await engine.verify(CodingVerifier(), task, Answer(f"```python\n{HONEST}\n```"))
    verdict, state = verification.verdict, verification.state
    assert result_metadata(task, verdict, state)["output"] == "2"
    assert len(seen) == 1
