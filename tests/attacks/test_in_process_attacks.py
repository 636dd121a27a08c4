"""Every folder of in_process/ is an answer that shares its test's process and must earn nothing, whose row an honest
answer passes without a sign. README.md says what it does, against which row, and which signs it must leave."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

pytestmark = pytest.mark.anyio
HERE = Path(__file__).parent / "in_process"
FOLDERS = sorted(path for path in HERE.iterdir() if path.is_dir())
ROWS = json.loads((HERE / "rows.json").read_text())
SOLUTION = "def f(x):\n    return x * x + 1\n"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", params=["local", "docker"])
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    async with open_engine(Settings(provider=request.param, boxes=2)) as opened:
        yield opened


async def verdict(engine: Engine, row: str, code: str, secret: str, solution: str = "") -> Verdict:
    given = {**ROWS[row], "canonical_solution": solution, "time_limit_s": 3}
    task = parse_task(given, limits=Settings().limits(), early_stop=True, secret=secret)
    return (await engine.verify(CodingVerifier(), task, Answer(f"```python\n{code}\n```"))).verdict


def told(folder: Path, what: str) -> list[str]:
    found = re.search(rf"^{what}: (.+)$", (folder / "README.md").read_text(), re.MULTILINE)
    return found[1].split(", ") if found else []


def test_the_corpus_is_there() -> None:
    assert len(FOLDERS) >= 35
    assert {row for folder in FOLDERS for row in told(folder, "Row")} == set(ROWS)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
async def test_the_attack_earns_nothing(engine: Engine, folder: Path) -> None:
    (row,) = told(folder, "Row")
    code = (folder / "payload.py").read_text()
    seen: set[str] = set()
    for secret, solution in (("a", ""), ("b", SOLUTION)):
        hostile = await verdict(engine, row, code, secret, solution)
        assert hostile.reward == 0.0, hostile
        assert hostile.failure_reason
        assert hostile.attempts == 1, "an attack is the program's fault, never ours"
        seen |= set(hostile.tamper)
    assert seen >= set(told(folder, "Signs"))


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("solution", ["", SOLUTION])
async def test_the_honest_answer_earns_everything(engine: Engine, row: str, solution: str) -> None:
    honest = await verdict(engine, row, SOLUTION, "a", solution)
    assert (honest.reward, honest.tamper, honest.integrity) == (1.0, (), "in_process"), honest
    assert honest.inverted is not None
    assert honest.inverted.variants == honest.inverted.failed >= 1
    assert honest.inverted.unchanged == 1
