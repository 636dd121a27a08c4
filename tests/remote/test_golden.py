"""The golden sets through a pool on docker, and on docker itself: the same verdict, sign by sign and test by test.

A sample of each set in the daily run; `--extended` takes all of them. SWE's rows are in test_swe.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from sandbox_gym.verifiers.math import MathTask, MathVerifier
from tests import humaneval
from tests.daily import part
from tests.e2b.servers import PoolServer
from tests.golden.test_corpus import CORPUS, LANGUAGES, PROGRAMS, label
from tests.remote.test_verdicts import settings_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(1800)]
AT_ONCE: Final = 2
MATH_LIMITS: Final = Limits(cpu_time_s=5, wall_time_s=30)


@dataclass(frozen=True)
class Case:
    """One answer to one task; `wanted` is what its set says it is worth, where it says so."""

    name: str
    answer: str
    row: Mapping[str, object] | None = None
    gold: str = ""
    wanted: float | None = None


Told = tuple[float, str, str, tuple[str, ...], tuple[str, ...]]


def told(verdict: Verdict) -> Told:
    """All of a verdict that does not come from a clock."""
    tests = tuple(test.status.value for test in verdict.tests)
    return verdict.reward, verdict.contest, verdict.integrity, verdict.tamper, tests


def corpus() -> list[Case]:
    found = []
    for program in PROGRAMS:
        row = json.loads((program.parent / "problem.json").read_text())
        language = row["language"] = LANGUAGES[program.suffix]
        answer = f"~~~~{language}\n{program.read_text()}\n~~~~"
        name = str(program.relative_to(CORPUS))
        found.append(Case(name, answer, row, wanted=float(label(program) == "AC")))
    return found


def human_eval(data_folder: Path) -> list[Case]:
    found = []
    for index, one in enumerate(humaneval.load(data_folder)):
        kind, row = humaneval.KINDS[index % len(humaneval.KINDS)], dict(humaneval.metadata(one))
        found.append(Case(f"{one['task_id']} right", humaneval.right_answer(one), row, wanted=1.0))
        found.append(Case(f"{one['task_id']} {kind}", humaneval.broken_answer(one, kind), row, wanted=0.0))
    return found


def math(data_folder: Path) -> list[Case]:
    lines = (data_folder / "math_cases.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [Case(f"math {index} {row['gold']}", row["answer"], gold=row["gold"]) for index, row in enumerate(rows)]


async def judge_all(settings: Settings, cases: list[Case]) -> dict[str, Told]:
    found: dict[str, Told] = {}

    async def one(engine: Engine, case: Case, slots: anyio.Semaphore) -> None:
        async with slots:
            if case.row is None:
                verdict = (
                    await engine.verify(MathVerifier(), MathTask(case.gold, limits=MATH_LIMITS), Answer(case.answer))
                ).verdict
            else:
                task = parse_task(dict(case.row), limits=settings.limits(), early_stop=True)
                verdict = (await engine.verify(CodingVerifier(), task, Answer(case.answer))).verdict
        found[case.name] = told(verdict)

    async with open_engine(settings) as engine, anyio.create_task_group() as tasks:
        slots = anyio.Semaphore(AT_ONCE)
        for case in cases:
            tasks.start_soon(one, engine, case, slots)
    return found


async def compare(cases: list[Case], pools: Callable[[str], PoolServer], folder: Path) -> None:
    straight = await judge_all(settings_of("docker", pools, folder), cases)
    remote = await judge_all(settings_of("e2b-on-docker", pools, folder), cases)
    assert {name: (one, remote[name]) for name, one in straight.items() if remote[name] != one} == {}
    wrong = [one.name for one in cases if one.wanted is not None and remote[one.name][0] != one.wanted]
    assert wrong == []
    assert len(remote) == len(cases)


async def test_a_sample_of_every_set_is_judged_as_on_docker(
    pools: Callable[[str], PoolServer], data_folder: Path, tmp_path: Path
) -> None:
    shares = ((corpus(), 20), (human_eval(data_folder), 33), (math(data_folder), 14))  # without a divisor in common
    cases = [case for cases, share in shares for case in part(cases, share, whole=False)]
    assert len(cases) >= 24
    await compare(cases, pools, tmp_path)


@pytest.mark.extended
@pytest.mark.parametrize("which", ["corpus", "human_eval", "math"])
async def test_every_one_of_a_set_is_judged_as_on_docker(
    which: str, pools: Callable[[str], PoolServer], data_folder: Path, tmp_path: Path
) -> None:
    everything = {"corpus": corpus(), "human_eval": human_eval(data_folder), "math": math(data_folder)}
    cases = everything[which]
    assert len(cases) >= 97
    await compare(cases, pools, tmp_path)
