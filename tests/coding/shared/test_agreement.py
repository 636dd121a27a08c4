"""An answer's verdict is the same, test by test, whether its tests share a process or each has one of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from tests.daily import part

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(1800)]
TESTS = Path(__file__).parents[2]
AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer to one row, whose fields are its verifier_metadata."""

    name: str
    row: dict[str, object]
    answer: str
    hostile: bool = False
    """An attack may fail in another way each time, by chance or by a race; what it earns is compared."""


def seen(answered: Answered, verdict: Verdict) -> tuple[float, list[str]]:
    """What is compared of a verdict: its reward and each test's status."""
    if answered.hostile:
        return verdict.reward, [str(test.status.value == "passed") for test in verdict.tests]
    return verdict.reward, [test.status.value for test in verdict.tests]


def earns_less(one: tuple[float, list[str]], other: tuple[float, list[str]]) -> bool:
    """Whether no test passed in the first that did not in the second: what answers otherwise in a shared process may
    lose by it, and never gain."""
    passed = [[status == "True" for status in statuses] for _, statuses in (one, other)]
    return one[0] <= other[0] and all(mine <= theirs for mine, theirs in zip(*passed, strict=True))


def answers() -> Iterator[Answered]:
    """Every Python program of the corpus, every attack in Python with its honest answer."""
    for program in sorted((TESTS / "golden" / "corpus").glob("*/*.py")):
        row = json.loads((program.parent / "problem.json").read_text())
        yield Answered(f"{program.parent.name}/{program.name}", {**row, "language": "python"}, program.read_text())
    for file in sorted((TESTS / "attacks").glob("*/row.json")):
        row = json.loads(file.read_text())["verifier_metadata"]
        for name in ("payload", "honest"):
            source = file.with_name(f"{name}.py")
            if source.exists() and {"inputs", "unit_tests"} & set(row):
                yield Answered(f"{file.parent.name}/{name}", row, source.read_text(), hostile=name == "payload")


ANSWERS = list(answers())


async def judged(engine: Engine, one: Answered, processes: str) -> Verdict:
    task = parse_task({**one.row, "processes": processes}, limits=Settings().limits(), early_stop=False)
    answer = Answer(f"````python\n{one.answer}\n````")
    return (await engine.verify(CodingVerifier(), task, answer)).verdict


def test_there_are_enough_answers() -> None:
    assert len(ANSWERS) >= 150


@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_every_status_is_the_same(provider: str, whole: bool) -> None:
    """An eighth of them in the daily run."""
    differing: list[str] = []
    shared: list[str] = []

    async def one(answered: Answered, slots: anyio.Semaphore) -> None:
        async with slots:
            try:
                auto, own = [await judged(engine, answered, processes) for processes in ("auto", "own")]
            except RequestError as error:
                differing.append(f"{answered.name}: {error}")
                return
        if auto.processes == "shared":
            shared.append(answered.name)
        assert own.processes == "own"
        found = [seen(answered, verdict) for verdict in (auto, own)]
        if found[0] != found[1] and not (answered.hostile and earns_less(*found)):
            differing.append(f"{answered.name}: {found[0]} where processes of their own give {found[1]}")

    engine_settings = Settings(provider=provider, boxes=2 * AT_ONCE)
    async with open_engine(engine_settings) as engine, anyio.create_task_group() as tasks:
        slots = anyio.Semaphore(AT_ONCE)
        for answered in part(ANSWERS, 8, whole=whole):
            tasks.start_soon(one, answered, slots)
    assert differing == [], "\n".join(differing)
    assert shared, "no answer's tests shared a process"
