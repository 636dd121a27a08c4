"""Labelled programs in every language, of every verdict class: each gets the verdict that its name says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from tests.daily import part

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]
CORPUS = Path(__file__).parent / "corpus"
LANGUAGES = {
    ".py": "python",
    ".pypy": "pypy",
    ".c": "c",
    ".cpp": "cpp",
    ".java": "java",
    ".go": "go",
    ".rs": "rust",
    ".js": "javascript",
    ".ts": "typescript",
    ".cs": "csharp",
    ".sh": "bash",
    ".sql": "sql",
}
PROGRAMS = sorted(path for path in CORPUS.glob("*/*") if path.suffix in LANGUAGES)


def label(program: Path) -> str:
    return program.name.partition("_")[0].upper()


def test_the_corpus_is_there() -> None:
    counts = Counter(label(program) for program in PROGRAMS)
    assert len(PROGRAMS) >= 200
    assert {program.suffix for program in PROGRAMS} == set(LANGUAGES)
    assert set(counts) == {"AC", "WA", "PE", "CE", "RTE", "TLE", "MLE", "OLE"}
    assert min(counts.values()) >= 10


@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_every_label_is_the_verdict(provider: str, whole: bool) -> None:
    """A third of them in the daily run."""
    settings = Settings(provider=provider, boxes=4)
    wrong: list[str] = []

    async def one(program: Path, slots: anyio.Semaphore) -> None:
        row = json.loads((program.parent / "problem.json").read_text())
        row["language"] = LANGUAGES[program.suffix]
        task = parse_task(row, limits=settings.limits(), early_stop=True)
        async with slots:
            answer = Answer(f"~~~~{row['language']}\n{program.read_text()}\n~~~~")
            verdict = (await engine.verify(CodingVerifier(), task, answer)).verdict
        if (verdict.contest, verdict.reward) != (label(program), float(label(program) == "AC")):
            bad = next((test for test in verdict.tests if test.status != "passed"), None)
            wrong.append(f"{program.relative_to(CORPUS)}: {verdict.contest} {bad}")

    async with open_engine(settings) as engine, anyio.create_task_group() as tasks:
        slots = anyio.Semaphore(2)
        for program in part(PROGRAMS, 3, whole=whole):
            tasks.start_soon(one, program, slots)
    assert wrong == [], "\n".join(wrong)
