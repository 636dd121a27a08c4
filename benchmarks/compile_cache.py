"""A second verify of the same code, beside its first: what a kept compilation saves, language by language, in one run.

python benchmarks/compile_cache.py --rounds 10 --provider local
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import anyio
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

PROGRAMS = {
    "c": "ac_plain.c",
    "cpp": "ac_plain.cpp",
    "rust": "ac_plain.rs",
    "go": "ac_plain.go",
    "java": "ac_plain.java",
    "csharp": "ac_plain.cs",
    "typescript": "ac_plain.ts",
}
CORPUS = Path(__file__).resolve().parents[1] / "tests" / "golden" / "corpus" / "sum"


async def seconds(engine: Engine, language: str, source: str, tests: int) -> float:
    row = json.loads((CORPUS / "problem.json").read_text()) | {"language": language}
    row["unit_tests"] = {side: values[:tests] for side, values in row["unit_tests"].items()}
    task = parse_task(row, limits=Settings().limits(), early_stop=True)
    started = time.perf_counter()
    verdict = (await engine.verify(CodingVerifier(), task, Answer(f"```{language}\n{source}\n```"))).verdict
    assert verdict.reward == 1.0, verdict
    return time.perf_counter() - started


async def main(rounds: int, provider: str, tests: int) -> None:
    title = f"{rounds} rounds, {tests} test(s), on {provider}"
    table = Table("language", "first verify, p50", "second, p50", "times as fast", title=title)
    async with open_engine(Settings(provider=provider, boxes=2)) as engine:
        for language, name in PROGRAMS.items():
            source = (CORPUS / name).read_text()
            first, second = [], []
            for number in range(rounds):
                code = f"{source}\n// round {number}\n"
                first.append(await seconds(engine, language, code, tests))
                second.append(await seconds(engine, language, code, tests))
            before, after = statistics.median(first), statistics.median(second)
            table.add_row(language, f"{1000 * before:.0f} ms", f"{1000 * after:.0f} ms", f"{before / after:.1f}")
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--provider", default="local")
    parser.add_argument("--tests", type=int, default=1, help="tests of the row, each a run of the program")
    given = parser.parse_args()
    anyio.run(main, given.rounds, given.provider, given.tests)
