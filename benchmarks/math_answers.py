"""Math verdicts a second: the ladder with math-verify in sandboxed workers, beside math-verify in this process, and
beside a fork per call (NeMo Gym's shape: a child for each answer, its parent looks every 50 ms), in one run.

python benchmarks/math_answers.py --rounds 3      (math.py would hide the standard library's from its neighbours)
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import anyio
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.verifiers.math import MathTask, MathVerifier, ask

DATA = Path(__file__).resolve().parents[1] / "tests" / "math" / "data"
POLL_S = 0.05
Case = tuple[str, str]
"""Gold, and an answer's text."""


def cases() -> list[Case]:
    """Pairs with one answer on both sides, from math-verify's own suite and ours."""
    found: list[Case] = []
    for name in ("math_verify_suite.jsonl", "pairs.jsonl"):
        for line in (DATA / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            gold, answer = row["gold"].strip(), row.get("pred", row.get("answer", "")).strip()
            if max(len(gold), len(answer)) < 200 and "boxed" not in gold + answer:
                found.append((gold.strip("$"), f"\\boxed{{{answer.strip('$')}}}"))
    return found


def inline(case: Case) -> bool:
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    gold = parse(f"\\boxed{{{case[0]}}}", (LatexExtractionConfig(),), parsing_timeout=None)
    answer = parse(case[1], (ExprExtractionConfig(), LatexExtractionConfig()), parsing_timeout=None)
    return bool(verify(gold, answer, timeout_seconds=None))


def forked(case: Case) -> bool:
    """A child for this call, and a parent that looks whether it is done."""
    context = multiprocessing.get_context("fork")
    mine, its = context.Pipe()
    child = context.Process(target=_child, args=(its, case))
    child.start()
    while child.is_alive():
        if mine.poll(0):
            break
        time.sleep(POLL_S)
    result = bool(mine.recv()) if mine.poll(0) else False
    child.join()
    return result


def _child(pipe: Connection, case: Case) -> None:
    pipe.send(inline(case))


def sequential(judge: Callable[[Case], bool], chosen: Sequence[Case]) -> list[float]:
    """Seconds of each call, one after the other."""
    times = []
    for case in chosen:
        started = time.perf_counter()
        judge(case)
        times.append(time.perf_counter() - started)
    return times


async def ours(engine: Engine, chosen: Sequence[Case], concurrency: int) -> tuple[list[float], float]:
    """(seconds of each verify, seconds of all)."""
    times: list[float] = []
    waiting = list(chosen)

    async def work() -> None:
        while waiting:
            gold, text = waiting.pop(0)
            started = time.perf_counter()
            await engine.verify(MathVerifier(), MathTask(gold), Answer(text))
            times.append(time.perf_counter() - started)

    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(concurrency):
            tasks.start_soon(work)
    return times, time.perf_counter() - began


async def main(rounds: int) -> None:
    logging.disable(logging.CRITICAL)
    everything = cases()
    decided = [case for case in everything if ask(MathTask(case[0]), case[1]).decision is not None]
    library = [case for case in everything if case not in decided]
    mixes = {"easy (decided by rungs)": decided, "hard (math-verify)": library, "all": everything}
    async with open_engine(Settings(provider="local")) as engine:
        for name, mix in mixes.items():
            table = Table(
                "way", "verdicts/s", "p50", "p95", "beside inline", title=f"{name}: {len(mix)} pairs", width=92
            )
            rates: dict[str, list[float]] = {}
            calls: dict[str, list[float]] = {}
            for number in range(rounds):
                chosen = mix[number % 2 :: 2]  # each half warms the caches of the other
                ways: dict[str, Callable[[Case], bool]] = {"inline": inline, "fork per call": forked}
                for way, judge in ways.items():
                    times = sequential(judge, chosen)
                    rates.setdefault(way, []).append(len(times) / sum(times))
                    calls.setdefault(way, []).extend(times)
                for concurrency in (1, 8):
                    way = f"ours, {concurrency} at once"
                    times, wall_s = await ours(engine, chosen, concurrency)
                    rates.setdefault(way, []).append(len(times) / wall_s)
                    calls.setdefault(way, []).extend(times)
            base = statistics.median(rates["inline"])
            for way, found in rates.items():
                times, rate = sorted(calls[way]), statistics.median(found)
                p50, p95 = times[len(times) // 2], times[int(0.95 * len(times))]
                table.add_row(way, f"{rate:.0f}", f"{1000 * p50:.2f} ms", f"{1000 * p95:.1f} ms", f"{rate / base:.2f}")
            Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    anyio.run(main, parser.parse_args().rounds)
