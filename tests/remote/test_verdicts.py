"""Verdicts through a pool are those of the same rows on this machine: stdin programs, hidden check functions, math."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from sandbox_gym.verifiers.math import MathTask, MathVerifier
from tests import humaneval
from tests.e2b.servers import PoolServer

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(400)]
SOLUTIONS = Path(__file__).parents[1] / "golden" / "code_gen_example"
ROWS = 8

Told = tuple[float, str, str, tuple[str, ...], list[tuple[int, str]]]
Case = tuple[str, dict[str, object], str]


def settings_of(provider: str, pools: Callable[[str], PoolServer], folder: Path) -> Settings:
    given: dict[str, object] = {"state_dir": folder / provider, "boxes": 4, "provider": provider}
    if provider.startswith("e2b"):
        url = pools(provider.removeprefix("e2b-on-")).url
        given |= {"provider": "e2b", "e2b_api_url": url, "e2b_api_key": "any", "e2b_creates_per_s": 100}
    return Settings.from_flat(given)


def told(verdict: Verdict) -> Told:
    """All of a verdict that a machine's speed does not change."""
    tests = [(test.index, test.status.value) for test in verdict.tests]
    return verdict.reward, verdict.failure_reason, verdict.integrity, verdict.tamper, tests


def cases(data_folder: Path) -> list[Case]:
    """(name, metadata, answer): the example rows' solutions, right and spoilt; HumanEval's, right and broken."""
    found: list[Case] = []
    lines = (data_folder / "nemo_gym_code_gen_example.jsonl").read_text().splitlines()
    for index, line in enumerate(lines):
        source = (SOLUTIONS / f"{index}.py").read_text()
        for ending in ("", "\nprint(0)\n"):
            row = json.loads(line)["verifier_metadata"]
            found.append((f"example {index} {bool(ending)}", row, f"```python\n{source}{ending}```"))
    for number, one in enumerate(humaneval.load(data_folder)[:ROWS]):
        kind = humaneval.KINDS[number % len(humaneval.KINDS)]
        metadata: dict[str, object] = {**humaneval.metadata(one)}
        found.append((f"{one['task_id']} right", metadata, humaneval.right_answer(one)))
        found.append((f"{one['task_id']} {kind}", metadata, humaneval.broken_answer(one, kind)))
    return found


async def judge_all(settings: Settings, wanted: list[Case]) -> tuple[dict[str, Told], set[str]]:
    """What each case's verdict tells, and the isolations that the verdicts name."""
    found: dict[str, Told] = {}
    isolations: set[str] = set()

    async def one(engine: Engine, case: Case, slots: anyio.Semaphore) -> None:
        name, metadata, answer = case
        task = parse_task(metadata, limits=settings.limits(), early_stop=False)
        async with slots:
            verdict = (await engine.verify(CodingVerifier(), task, Answer(answer))).verdict
        found[name] = told(verdict)
        isolations.add(verdict.isolation)

    async with open_engine(settings) as engine, anyio.create_task_group() as tasks:
        slots = anyio.Semaphore(3)
        for case in wanted:
            tasks.start_soon(one, engine, case, slots)
    return found, isolations


@pytest.mark.parametrize(("provider", "isolation"), [("e2b-on-local", "namespace"), ("e2b-on-docker", "container")])
async def test_coding_verdicts_are_the_same_as_on_local(
    provider: str, isolation: str, pools: Callable[[str], PoolServer], data_folder: Path, tmp_path: Path
) -> None:
    wanted = cases(data_folder)
    here, _ = await judge_all(settings_of("local", pools, tmp_path), wanted)
    there, isolations = await judge_all(settings_of(provider, pools, tmp_path), wanted)
    assert there == here
    assert sum(one[0] == 1.0 for one in here.values()) == 4 + ROWS
    assert isolations == {isolation}


async def test_math_verify_answers_from_a_pool(pools: Callable[[str], PoolServer], tmp_path: Path) -> None:
    pairs = [("x^2+2x+1", "(x+1)^2", 1.0), ("x^2+2x", "x(x+2)", 1.0), ("x^2+2x+1", "(x+2)^2", 0.0)]
    rewards, rungs = {}, []
    for provider in ("local", "e2b-on-local"):
        async with open_engine(settings_of(provider, pools, tmp_path)) as engine:
            for expected, said, _reward in pairs:
                task = MathTask(expected, limits=Limits(cpu_time_s=5, wall_time_s=15))
                verdict = (await engine.verify(MathVerifier(), task, Answer(f"It is $\\boxed{{{said}}}$."))).verdict
                rewards[provider, expected, said] = verdict.reward
                rungs.append((verdict.decided_by, verdict.isolation))
    wanted = {(provider, a, b): reward for a, b, reward in pairs for provider in ("local", "e2b-on-local")}
    assert rewards == wanted
    assert rungs[:3] == rungs[3:]
    assert ("math_verify", "namespace") in rungs
